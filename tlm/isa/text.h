// SPDX-License-Identifier: Apache-2.0
// Words for error messages: the nearest known word and lists of allowed ones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace azulejo {

// The candidate with the fewest edits from `word` (insert, delete, replace a letter, swap two neighbours; case
// ignored); the first of equals. Empty if none is near: more than a third of the longer word, or more than three
// letters, differ.
std::string nearest_word(std::string_view word, const std::vector<std::string_view>& candidates);

// "; did you mean 'bf16'?", or "" if no candidate is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates);

// "a, b, c".
std::string join_words(const std::vector<std::string_view>& words);

// 'word', shortened and with unprintable bytes replaced, so that it is safe in a message.
std::string quote_word(std::string_view word);

}  // namespace azulejo
