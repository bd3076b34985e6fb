// SPDX-License-Identifier: Apache-2.0
// A wave that records which signals there are and none of their values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tlm/common/wave_sink.h"

namespace azulejo {

struct WaveDeclaration {
  std::string scope;  // hierarchical name with dots
  std::string name;
  unsigned bits = 0;  // text: 8 a character
  bool text = false;
};

class ListingSink : public WaveSink {
 public:
  SignalId declare(std::string_view scope, std::string_view name, unsigned bits) override {
    declared_.push_back({std::string(scope), std::string(name), bits, false});
    return kNoSignal;
  }

  SignalId declare_text(std::string_view scope, std::string_view name, unsigned characters) override {
    declared_.push_back({std::string(scope), std::string(name), 8 * characters, true});
    return kNoSignal;
  }

  // In the order of declaration.
  const std::vector<WaveDeclaration>& declared() const { return declared_; }

 private:
  std::vector<WaveDeclaration> declared_;
};

}  // namespace azulejo
