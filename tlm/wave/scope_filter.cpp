// SPDX-License-Identifier: Apache-2.0
#include "tlm/wave/scope_filter.h"

namespace azulejo {
namespace {

bool matches_path_or_scope(std::string_view glob, std::string_view path) {
  for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.', dot + 1)) {
    if (glob_matches(glob, path.substr(0, dot))) return true;
  }
  return glob_matches(glob, path);
}

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;  // the last `*` seen, and where the text it swallows ends
  std::size_t swallowed = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      swallowed = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++swallowed;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

ScopeFilter::ScopeFilter(const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    const bool exclude = !pattern.empty() && pattern.front() == '!';
    patterns_.push_back({exclude ? pattern.substr(1) : pattern, exclude, false});
  }
}

bool ScopeFilter::selects(std::string_view scope, std::string_view name) {
  std::string path(scope);
  if (!path.empty()) path += '.';
  path += name;
  bool selected = patterns_.empty() || patterns_.front().exclude;
  for (Pattern& pattern : patterns_) {
    if (!matches_path_or_scope(pattern.glob, path)) continue;
    pattern.matched = true;
    selected = !pattern.exclude;
  }
  return selected;
}

std::vector<std::string> ScopeFilter::unmatched() const {
  std::vector<std::string> result;
  for (const Pattern& pattern : patterns_) {
    if (!pattern.matched) result.push_back(pattern.exclude ? '!' + pattern.glob : pattern.glob);
  }
  return result;
}

}  // namespace azulejo
