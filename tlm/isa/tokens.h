// SPDX-License-Identifier: Apache-2.0
// Tokens of the assembler's text form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace azulejo {

enum class TokenKind { Word, Number, Symbol, End };

struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text;   // of the line
  std::size_t column = 1;  // 1-based
};

struct TokenizedLine {
  std::vector<Token> tokens;   // the last is End
  std::size_t bad_column = 0;  // of the first character that begins no token and was left out; 0 if none
};

// Splits a line; a comment from '#' on, spaces, tabs and carriage returns are left out.
TokenizedLine tokenize(std::string_view line);

// "'word'" or "the end of the line", for messages.
std::string describe(const Token& token);

// An integer as written: sign and magnitude.
struct Integer {
  bool negative = false;
  std::uint64_t magnitude = 0;
};

// Decimal or 0x..., with an optional '-'; nothing if `text` is anything else or has more than 64 bits.
std::optional<Integer> parse_integer(std::string_view text);

// The number of a word such as "r12" with prefix 'r'; at most five digits.
std::optional<std::uint32_t> parse_numbered(std::string_view word, char prefix);

}  // namespace azulejo
