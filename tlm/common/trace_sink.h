// SPDX-License-Identifier: Apache-2.0
// Where a module reports what it did and when, for a timeline viewer. Null object by default: costs one virtual call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tlm/common/time.h"

namespace azulejo {

using TrackId = std::uint32_t;

class TraceSink {
 public:
  virtual ~TraceSink() = default;

  // False: modules skip building names and arguments.
  virtual bool enabled() const { return false; }

  // One track; `path` is the module's hierarchical name, `kind` groups tracks ("engine", "queue", "channel", "link").
  virtual TrackId track(std::string_view /*path*/, std::string_view /*kind*/) { return 0; }

  // A closed interval of a track. Spans of one track do not overlap and come in order of their start.
  // `detail` is free text (the instruction), `cause` why it waited or what bounded it ("" if nothing did).
  virtual void span(TrackId /*track*/, std::string_view /*name*/, Femtoseconds /*start*/, Femtoseconds /*end*/,
                    std::string_view /*detail*/, std::string_view /*cause*/) {}

  // A counter's new value.
  virtual void counter(TrackId /*track*/, std::string_view /*name*/, Femtoseconds /*time*/, double /*value*/) {}

  static TraceSink& none();
};

}  // namespace azulejo
