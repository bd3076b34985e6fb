// SPDX-License-Identifier: Apache-2.0
#include "tlm/isa/tokens.h"

#include <algorithm>
#include <charconv>

#include "tlm/isa/text.h"

namespace azulejo {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool is_hex_prefix(std::string_view text) {
  return text.size() > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
}

// Length of the token that `text` begins with; 0 if it begins none.
std::size_t word_length(std::string_view text) {
  const bool directive = text.size() > 1 && text[0] == '.' && is_letter(text[1]);
  if (!directive && !is_letter(text[0])) return 0;
  const auto end = std::find_if_not(text.begin() + 1, text.end(), [](char c) { return is_letter(c) || is_digit(c); });
  return static_cast<std::size_t>(end - text.begin());
}

// A number runs over letters, digits and dots, and over the sign of a decimal exponent, so that a misspelled one is
// reported as a whole.
std::size_t number_length(std::string_view text) {
  const bool sign_or_dot = text[0] == '-' || text[0] == '.';
  const char next = text.size() > 1 ? text[1] : ' ';
  if (!is_digit(text[0]) && !(sign_or_dot && (is_digit(next) || is_letter(next) || next == '.'))) return 0;
  const bool hex = is_hex_prefix(text.substr(text[0] == '-' ? 1 : 0));
  std::size_t length = 1;
  for (; length < text.size(); ++length) {
    const char c = text[length];
    const char last = text[length - 1];
    const bool exponent_sign = !hex && (c == '+' || c == '-') && (last == 'e' || last == 'E');
    if (!is_letter(c) && !is_digit(c) && c != '.' && !exponent_sign) break;
  }
  return length;
}

std::size_t symbol_length(std::string_view text) {
  const char next = text.size() > 1 ? text[1] : ' ';
  if (next == '=' && std::string_view("<>=!").find(text[0]) != std::string_view::npos) return 2;
  return std::string_view("[]()<>:,=+@").find(text[0]) != std::string_view::npos ? 1 : 0;
}

}  // namespace

TokenizedLine tokenize(std::string_view line) {
  TokenizedLine result;
  std::size_t at = 0;
  while (at < line.size() && line[at] != '#') {
    const std::string_view rest = line.substr(at);
    std::size_t length = 1;
    TokenKind kind = TokenKind::End;
    if (const std::size_t word = word_length(rest); word > 0) {
      kind = TokenKind::Word;
      length = word;
    } else if (const std::size_t number = number_length(rest); number > 0) {
      kind = TokenKind::Number;
      length = number;
    } else if (const std::size_t symbol = symbol_length(rest); symbol > 0) {
      kind = TokenKind::Symbol;
      length = symbol;
    } else if (rest[0] != ' ' && rest[0] != '\t' && rest[0] != '\r' && result.bad_column == 0) {
      result.bad_column = at + 1;
    }
    if (kind != TokenKind::End) result.tokens.push_back({kind, rest.substr(0, length), at + 1});
    at += length;
  }
  result.tokens.push_back({TokenKind::End, {}, at + 1});
  return result;
}

std::string describe(const Token& token) {
  return token.kind == TokenKind::End ? std::string("the end of the line") : quote_word(token.text);
}

std::optional<Integer> parse_integer(std::string_view text) {
  Integer value;
  if (!text.empty() && text.front() == '-') {
    value.negative = true;
    text.remove_prefix(1);
  }
  const bool hex = is_hex_prefix(text);
  if (hex) text.remove_prefix(2);
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value.magnitude, hex ? 16 : 10);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  if (value.magnitude == 0) value.negative = false;
  return value;
}

std::optional<std::uint32_t> parse_numbered(std::string_view word, char prefix) {
  if (word.size() < 2 || word.size() > 6 || word.front() != prefix) return std::nullopt;
  if (!std::all_of(word.begin() + 1, word.end(), is_digit)) return std::nullopt;
  std::uint32_t number = 0;
  std::from_chars(word.data() + 1, word.data() + word.size(), number);
  return number;
}

}  // namespace azulejo
