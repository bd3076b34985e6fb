// SPDX-License-Identifier: Apache-2.0
// Which signals a wave records: an ordered list of globs over dotted signal paths.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace azulejo {

// `*` matches any characters, dots too, and `?` one character; everything else, brackets too, matches itself.
bool glob_matches(std::string_view pattern, std::string_view text);

// A pattern that matches a signal's path or the path of a scope above it selects the signal; a leading `!` deselects
// it, and of several matching patterns the last one counts. If the first pattern deselects, or there is none,
// everything else is selected.
class ScopeFilter {
 public:
  // `depth`: signals of at most so many scopes below each other; 0: all.
  explicit ScopeFilter(const std::vector<std::string>& patterns, unsigned depth = 0);

  bool selects(std::string_view scope, std::string_view name);
  // Whether a Verilated unit, such as "chip0.nc0.tensor_engine.tile_3_4", may have a selected signal. There are
  // thousands of them, so one that is not recorded `by_default` must be named, by a pattern that holds the beginning of
  // its name up to the first `_`: "*.tile_3_*".
  bool selects_unit(std::string_view path, bool by_default);

  // The patterns, as given, that have matched no signal asked about so far.
  std::vector<std::string> unmatched() const;

 private:
  struct Pattern {
    std::string glob;  // without the `!`
    bool exclude = false;
    bool matched = false;
  };

  std::vector<Pattern> patterns_;
  unsigned depth_;
};

}  // namespace azulejo
