// SPDX-License-Identifier: Apache-2.0
#include "tlm/wave/scope_filter.h"

#include <algorithm>

namespace azulejo {
namespace {

bool matches_path_or_scope(std::string_view glob, std::string_view path) {
  for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.', dot + 1)) {
    if (glob_matches(glob, path.substr(0, dot))) return true;
  }
  return glob_matches(glob, path);
}

// Whether some path below `scope` matches, or a scope on the way to it.
bool may_match_below(std::string_view glob, std::string_view scope) {
  if (matches_path_or_scope(glob, scope)) return true;
  for (std::size_t length = 0; length <= glob.size(); ++length) {  // the part of the pattern that the scope uses up
    const std::string_view beginning = glob.substr(0, length);
    if (!beginning.empty() && beginning.back() == '*' && glob_matches(beginning, scope)) return true;
    if (length < glob.size() && glob[length] == '.' && glob_matches(beginning, scope)) return true;
  }
  return false;
}

// Whether the part of the pattern that names a unit of this kind names this one.
bool names_unit(std::string_view glob, std::string_view kind, std::string_view path) {
  const std::size_t at = glob.find(kind);
  return at != std::string_view::npos && glob_matches(glob.substr(0, glob.find('.', at)), path);
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

ScopeFilter::ScopeFilter(const std::vector<std::string>& patterns, unsigned depth) : depth_(depth) {
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
  const auto scopes = static_cast<unsigned>(std::count(scope.begin(), scope.end(), '.')) + 1;
  return selected && (depth_ == 0 || scopes <= depth_);
}

bool ScopeFilter::selects_unit(std::string_view path, bool by_default) {
  const std::size_t last = path.rfind('.') + 1;  // 0 without a dot
  const std::string_view kind = path.substr(last, path.find('_', last) + 1 - last);
  bool selected = by_default && (patterns_.empty() || patterns_.front().exclude);
  for (Pattern& pattern : patterns_) {
    if (pattern.exclude) {
      if (!matches_path_or_scope(pattern.glob, path)) continue;
      pattern.matched = true;
      selected = false;
    } else if (by_default ? may_match_below(pattern.glob, path) : names_unit(pattern.glob, kind, path)) {
      selected = true;
    }
  }
  const auto scopes = static_cast<unsigned>(std::count(path.begin(), path.end(), '.')) + 1;
  return selected && (depth_ == 0 || scopes <= depth_);
}

std::vector<std::string> ScopeFilter::unmatched() const {
  std::vector<std::string> result;
  for (const Pattern& pattern : patterns_) {
    if (!pattern.matched) result.push_back(pattern.exclude ? '!' + pattern.glob : pattern.glob);
  }
  return result;
}

}  // namespace azulejo
