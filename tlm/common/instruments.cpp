// SPDX-License-Identifier: Apache-2.0
#include "tlm/common/instruments.h"

namespace azulejo {

TraceSink& TraceSink::none() {
  static TraceSink sink;
  return sink;
}

WaveSink& WaveSink::none() {
  static WaveSink sink;
  return sink;
}

FaultSink& FaultSink::none() {
  static FaultSink sink;
  return sink;
}

}  // namespace azulejo
