// SPDX-License-Identifier: Apache-2.0
#include "tlm/isa/text.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace azulejo {

namespace {

constexpr std::size_t kMaxWord = 64;  // longer words are no misspelling of ours; bounds the work
constexpr std::size_t kMaxEdits = 3;
constexpr std::size_t kMaxQuoted = 40;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Optimal string alignment distance of two words of at most kMaxWord letters.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::array<std::array<std::size_t, kMaxWord + 1>, 3> rows{};
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto& current = rows[i % 3];
    const auto& previous = rows[(i + 2) % 3];
    const auto& before_previous = rows[(i + 1) % 3];
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (same ? 0U : 1U)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) current[j] = std::min(current[j], before_previous[j - 2] + 1);
    }
  }
  return rows[a.size() % 3][b.size()];
}

}  // namespace

std::string nearest_word(std::string_view word, const std::vector<std::string_view>& candidates) {
  if (word.empty() || word.size() > kMaxWord) return {};
  std::string_view best;
  std::size_t best_distance = kMaxEdits + 1;
  for (const std::string_view candidate : candidates) {
    if (candidate.empty() || candidate.size() > kMaxWord) continue;
    const std::size_t longer = std::max(word.size(), candidate.size());
    const std::size_t shorter = std::min(word.size(), candidate.size());
    const std::size_t allowed = std::min(kMaxEdits, std::max<std::size_t>(1, longer / 3));
    if (longer - shorter > allowed) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance <= allowed && distance < shorter && distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return std::string(best);
}

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates) {
  const std::string nearest = nearest_word(word, candidates);
  return nearest.empty() ? std::string() : "; did you mean '" + nearest + "'?";
}

std::string join_words(const std::vector<std::string_view>& words) {
  std::string text;
  for (const std::string_view word : words) {
    if (!text.empty()) text += ", ";
    text += word;
  }
  return text;
}

std::string quote_word(std::string_view word) {
  std::string text = "'";
  for (const char c : word.substr(0, kMaxQuoted)) text += c >= ' ' && c <= '~' ? c : '?';
  if (word.size() > kMaxQuoted) text += "...";
  return text + "'";
}

}  // namespace azulejo
