// SPDX-License-Identifier: Apache-2.0
#include "sw/runtime/npy.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "tlm/common/error.h"
#include "tlm/common/output_file.h"
#include "tlm/common/time.h"
#include "tlm/isa/text.h"

namespace azulejo {

namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr std::size_t kMaxHeader = 64 * 1024;  // NumPy itself refuses more than 10,000 characters by default

[[noreturn]] void fail(const std::string& name, const std::string& sentence) {
  throw ConfigError(name + ": " + sentence);
}

// The header's dictionary, a Python literal.
struct Header {
  std::optional<std::string> descr;
  bool structured = false;  // descr is no string but a list of fields
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::uint64_t>> shape;
};

// Reads the few Python literals that a header may hold. Every method throws std::runtime_error with what is wrong.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  Header parse() {
    Header header;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr") {
        read_descr(header);
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
      } else if (key == "shape") {
        header.shape = tuple();
      } else {
        throw std::runtime_error("the unknown key " + quote_word(key));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_spaces();
    if (at_ != text_.size()) throw std::runtime_error("text after the dictionary");
    return header;
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }

  bool accept(char c) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) throw std::runtime_error("no '" + std::string(1, c) + "' at character " + std::to_string(at_));
  }

  std::string string() {
    skip_spaces();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') throw std::runtime_error("no string at character " + std::to_string(at_));
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) throw std::runtime_error("a string without an end");
    const std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }

  bool accept_word(std::string_view word) {
    skip_spaces();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  bool boolean() {
    if (accept_word("True")) return true;
    if (accept_word("False")) return false;
    throw std::runtime_error("neither True nor False for 'fortran_order'");
  }

  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> values;
    expect('(');
    while (!accept(')')) {
      values.push_back(number());
      accept_word("L");  // a long of Python 2
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return values;
  }

  std::uint64_t number() {
    skip_spaces();
    constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
    const std::size_t first = at_;
    std::uint64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      const auto digit = static_cast<std::uint64_t>(text_[at_] - '0');
      if (value > (kMax - digit) / 10) throw std::runtime_error("a dimension beyond 2^64");
      value = value * 10 + digit;
    }
    if (at_ == first) throw std::runtime_error("no whole number in 'shape'");
    return value;
  }

  void read_descr(Header& header) {
    skip_spaces();
    if (at_ < text_.size() && text_[at_] == '[') {
      header.structured = true;
      skip_list();
    } else {
      header.descr = string();
    }
  }

  void skip_list() {
    std::size_t depth = 0;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '[') ++depth;
      if (text_[at_] == ']' && --depth == 0) {
        ++at_;
        return;
      }
    }
    throw std::runtime_error("a list without an end");
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

Format format_of(const Header& header, const std::string& name) {
  const std::string allowed = "allowed: '<f4' (float32) and '<f2' (float16)";
  if (header.structured) fail(name, "has structured elements; " + allowed + "; select one field and save it alone");
  if (!header.descr) fail(name, "the header has no 'descr'");
  const std::string& descr = *header.descr;
  if (descr == "<f4") return Format::Fp32;
  if (descr == "<f2") return Format::Fp16;
  if (descr == ">f4" || descr == ">f2") {
    fail(name, "has big-endian elements " + quote_word(descr) + "; " + allowed + "; convert with a.astype('<" +
                   descr.substr(1) + "')");
  }
  fail(name, "has elements of type " + quote_word(descr) + "; " + allowed + "; convert with a.astype('<f4')");
}

std::size_t element_size(Format format) { return format == Format::Fp32 ? 4 : 2; }

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string text;
  for (const std::uint64_t size : shape) {
    if (text.size() > 60) {
      text += ", ...";
      break;
    }
    text += (text.empty() ? "" : ", ") + std::to_string(size);
  }
  return "(" + text + ")";
}

// Copies bytes [begin, end) of the file to `to`.
// REQUIRES: begin <= end <= the file's size.
using Source = std::function<void(std::uint64_t begin, std::uint64_t end, void* to)>;

std::uint32_t little_endian(const std::uint8_t* bytes, std::size_t count) {
  std::uint32_t value = 0;
  for (std::size_t i = count; i-- > 0;) value = value << 8 | bytes[i];
  return value;
}

NpyMatrix read(std::uint64_t file_size, const Source& source, const std::string& name) {
  std::uint8_t start[12] = {};
  source(0, std::min<std::uint64_t>(file_size, sizeof start), start);
  if (file_size < 10 || std::memcmp(start, kMagic.data(), kMagic.size()) != 0) {
    fail(name, "is no .npy file; write one with numpy.save");
  }
  const unsigned major = start[6];
  const unsigned minor = start[7];
  if (major < 1 || major > 3 || minor != 0) {
    fail(name,
         "has .npy version " + std::to_string(major) + "." + std::to_string(minor) + "; 1.0, 2.0 and 3.0 are known");
  }
  const std::uint64_t header_begin = major == 1 ? 10 : 12;
  const std::uint64_t header_size = little_endian(start + 8, major == 1 ? 2 : 4);
  if (file_size < header_begin || header_size > file_size - header_begin) {
    fail(name, "is truncated: the header needs " + std::to_string(header_begin + header_size) +
                   " bytes, the file has " + std::to_string(file_size));
  }
  if (header_size > kMaxHeader) {
    fail(name, "has a header of " + std::to_string(header_size) + " bytes; at most " + std::to_string(kMaxHeader));
  }
  std::string text(header_size, '\0');
  source(header_begin, header_begin + header_size, text.data());
  Header header;
  try {
    header = HeaderParser(text).parse();
  } catch (const std::runtime_error& error) {
    fail(name, std::string("the header is damaged: ") + error.what() + "; save the array again with numpy.save");
  }

  NpyMatrix matrix;
  matrix.format = format_of(header, name);
  if (!header.fortran_order || !header.shape) fail(name, "the header lacks 'fortran_order' or 'shape'");
  const std::vector<std::uint64_t>& shape = *header.shape;
  if (shape.size() != 2) {
    fail(name, "has shape " + shape_text(shape) + "; two dimensions are expected; use a.reshape(rows, cols)");
  }
  if (shape[0] == 0 || shape[1] == 0) fail(name, "has shape " + shape_text(shape) + "; no dimension may be 0");
  if (*header.fortran_order) fail(name, "is in Fortran order; convert with np.ascontiguousarray(a)");

  const std::uint64_t found = file_size - header_begin - header_size;
  const std::uint64_t size = element_size(matrix.format);
  // rows * cols * size may exceed even 128 bits, rows * cols may not.
  const Wide elements = Wide{shape[0]} * shape[1];
  if (elements > found / size || elements * size != found) {
    const bool countable = elements <= std::numeric_limits<std::uint64_t>::max() / size;
    fail(name, std::string(elements > found / size ? "is truncated" : "is too long") + ": shape " + shape_text(shape) +
                   " needs " +
                   (countable ? std::to_string(static_cast<std::uint64_t>(elements) * size) : "more than 2^64") +
                   " bytes of data, the file has " + std::to_string(found) + "; save the array again");
  }
  matrix.rows = shape[0];
  matrix.cols = shape[1];
  matrix.data.resize(found);
  source(file_size - found, file_size, matrix.data.data());
  return matrix;
}

}  // namespace

NpyMatrix parse_npy(std::string_view bytes, const std::string& name) {
  const Source source = [bytes](std::uint64_t begin, std::uint64_t end, void* to) {
    if (begin < end) std::memcpy(to, bytes.data() + begin, end - begin);
  };
  return read(bytes.size(), source, name);
}

NpyMatrix read_npy(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    fail(path, std::filesystem::exists(path, error) ? "is not a regular file; a .npy file is expected"
                                                    : "there is no such file; write one with numpy.save");
  }
  std::ifstream file(path, std::ios::binary);
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (!file || error) fail(path, "cannot be read; permission is missing");
  const Source source = [&](std::uint64_t begin, std::uint64_t end, void* to) {
    file.seekg(static_cast<std::streamoff>(begin));
    file.read(static_cast<char*>(to), static_cast<std::streamsize>(end - begin));
    if (!file) fail(path, "reading failed at byte " + std::to_string(begin));
  };
  return read(size, source, path);
}

std::string npy_bytes(const NpyMatrix& matrix) {
  if (matrix.format != Format::Fp32 && matrix.format != Format::Fp16) {
    throw std::invalid_argument("npy: only FP32 and FP16 can be written");
  }
  if (Wide{matrix.rows} * matrix.cols != matrix.data.size() / element_size(matrix.format) ||
      matrix.data.size() % element_size(matrix.format) != 0) {
    throw std::invalid_argument("npy: the data's size is not the shape's");
  }
  std::string header = std::string("{'descr': '") + (matrix.format == Format::Fp32 ? "<f4" : "<f2") +
                       "', 'fortran_order': False, 'shape': " + shape_text({matrix.rows, matrix.cols}) + ", }";
  constexpr std::size_t kStart = 10;
  constexpr std::size_t kAlignment = 64;  // of the data, NumPy's choice
  while ((kStart + header.size() + 1) % kAlignment != 0) header += ' ';
  header += '\n';

  std::string bytes(kMagic);
  bytes += '\1';
  bytes += '\0';
  bytes += static_cast<char>(header.size() & 0xFF);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(matrix.data.data()), matrix.data.size());
  return bytes;
}

void write_npy(const std::string& path, const NpyMatrix& matrix) { write_file_atomically(path, npy_bytes(matrix)); }

}  // namespace azulejo
