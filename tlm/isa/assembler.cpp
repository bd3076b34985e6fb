// SPDX-License-Identifier: Apache-2.0
// Assembler: one pass over the lines, branch targets resolved at the end. The grammar is in assembler.h.
//
// An error never stops the pass: within an instruction it goes on at the next argument.
#include "tlm/isa/assembler.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <map>
#include <optional>

#include "tlm/isa/address_map.h"
#include "tlm/isa/encoding.h"
#include "tlm/isa/opcode_table.h"
#include "tlm/isa/syntax.h"
#include "tlm/isa/text.h"
#include "tlm/isa/tokens.h"

namespace azulejo {

namespace {

constexpr std::size_t kMaxErrors = 1000;  // a file that is no program at all need not list every byte

class Assembler {
 public:
  explicit Assembler(std::string_view text) : text_(text) {}

  AssemblyResult run() {
    while (!text_.empty() && result_.errors.size() < kMaxErrors) {
      const std::size_t end = std::min(text_.find('\n'), text_.size());
      ++line_;
      read_line(text_.substr(0, end));
      text_.remove_prefix(std::min(end + 1, text_.size()));
    }
    resolve_targets();
    std::stable_sort(result_.errors.begin(), result_.errors.end(), [](const AssemblyError& a, const AssemblyError& b) {
      return a.line != b.line ? a.line < b.line : a.column < b.column;
    });
    if (result_.errors.size() >= kMaxErrors) {
      result_.errors.resize(kMaxErrors);
      result_.errors.push_back({line_, 1, fmt::format("more than {} errors; the rest is not listed", kMaxErrors)});
    }
    return std::move(result_);
  }

 private:
  struct Label {
    std::uint32_t index = 0;
    std::size_t line = 0;
  };
  struct Fixup {
    EngineId engine;
    std::size_t instruction;
    std::string_view label;
    std::size_t line;
    std::size_t column;
  };

  // Errors.

  void error_at(std::size_t line, std::size_t column, std::string message) {
    if (result_.errors.size() < kMaxErrors) result_.errors.push_back({line, column, std::move(message)});
  }
  // Reports and returns false, for `return error(...)`.
  bool error(const Token& token, std::string message) {
    error_at(line_, token.column, std::move(message));
    return false;
  }
  bool expected(const std::string& what) {
    return error(peek(), fmt::format("expected {}, found {}", what, describe(peek())));
  }
  // `what` with its article: "a format".
  bool unknown(const Token& token, std::string_view what, const std::vector<std::string_view>& allowed) {
    if (token.kind != TokenKind::Word) {
      return error(token,
                   fmt::format("expected {}, found {}; allowed: {}", what, describe(token), join_words(allowed)));
    }
    return error(token, fmt::format("unknown {} {}; allowed: {}{}", what.substr(what.find(' ') + 1), describe(token),
                                    join_words(allowed), did_you_mean(token.text, allowed)));
  }

  // The tokens of the line.

  const Token& peek() const { return tokens_[position_]; }
  const Token& peek_next() const { return tokens_[std::min(position_ + 1, tokens_.size() - 1)]; }
  Token take() {
    const Token token = tokens_[position_];
    if (position_ + 1 < tokens_.size()) ++position_;
    return token;
  }
  static bool is(const Token& token, std::string_view symbol) {
    return token.kind == TokenKind::Symbol && token.text == symbol;
  }
  static bool is_word(const Token& token, std::string_view word) {
    return token.kind == TokenKind::Word && token.text == word;
  }
  bool at_end() const { return peek().kind == TokenKind::End; }
  bool accept(std::string_view symbol) {
    if (!is(peek(), symbol)) return false;
    take();
    return true;
  }
  bool expect(std::string_view symbol) { return accept(symbol) || expected(fmt::format("'{}'", symbol)); }

  // Values.

  bool read_unsigned(std::string_view what, std::uint64_t minimum, std::uint64_t maximum, std::uint64_t& value) {
    const Token token = peek();
    const auto integer = token.kind == TokenKind::Number ? parse_integer(token.text) : std::nullopt;
    if (!integer || integer->negative || integer->magnitude < minimum || integer->magnitude > maximum) {
      return expected(fmt::format("{}, an integer from {} to {}", what, minimum, maximum));
    }
    take();
    value = integer->magnitude;
    return true;
  }

  template <typename Unsigned>
  bool read_number(std::string_view what, std::uint64_t minimum, std::uint64_t maximum, Unsigned& value) {
    std::uint64_t wide = 0;
    if (!read_unsigned(what, minimum, maximum, wide)) return false;
    value = static_cast<Unsigned>(wide);
    return true;
  }

  bool read_signed(std::string_view what, std::int64_t minimum, std::int64_t maximum, std::int64_t& value) {
    const Token token = peek();
    const auto integer = token.kind == TokenKind::Number ? parse_integer(token.text) : std::nullopt;
    const std::uint64_t limit =
        integer && integer->negative ? 0 - static_cast<std::uint64_t>(minimum) : static_cast<std::uint64_t>(maximum);
    if (!integer || integer->magnitude > limit) {
      return expected(fmt::format("{}, an integer from {} to {}", what, minimum, maximum));
    }
    take();
    value = static_cast<std::int64_t>(integer->negative ? 0 - integer->magnitude : integer->magnitude);
    return true;
  }

  // 32 bits, written signed or unsigned.
  bool read_word32(std::string_view what, std::uint32_t& bits) {
    std::int64_t value = 0;
    if (!read_signed(what, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::uint32_t>::max(), value))
      return false;
    bits = static_cast<std::uint32_t>(value);
    return true;
  }

  bool read_fp32(std::string_view what, std::uint32_t& bits) {
    const Token token = peek();
    const bool number = token.kind == TokenKind::Number || is_word(token, "inf") || is_word(token, "nan");
    const std::string wanted = fmt::format("{}, an FP32 number such as 1.5, -inf or the bits 0x3fc00000", what);
    if (!number) return expected(wanted);
    if (token.text.size() > 2 && token.text[0] == '0' && (token.text[1] == 'x' || token.text[1] == 'X')) {
      const auto integer = parse_integer(token.text);
      if (!integer || integer->magnitude > 0xFFFFFFFFU) return expected(wanted);
      bits = static_cast<std::uint32_t>(integer->magnitude);
    } else {
      float value = 0;
      const char* end = token.text.data() + token.text.size();
      const auto result = std::from_chars(token.text.data(), end, value);
      if (result.ec == std::errc::result_out_of_range) {
        return error(token, fmt::format("{}: {} is outside the range of FP32", what, describe(token)));
      }
      if (result.ec != std::errc() || result.ptr != end) return expected(wanted);
      std::memcpy(&bits, &value, sizeof bits);
    }
    take();
    return true;
  }

  bool read_register(std::uint8_t& reg) {
    const auto number = peek().kind == TokenKind::Word ? parse_numbered(peek().text, 'r') : std::nullopt;
    if (!number || *number >= kRegisters) return expected(fmt::format("a register r0 to r{}", kRegisters - 1));
    take();
    reg = static_cast<std::uint8_t>(*number);
    return true;
  }

  bool read_semaphore(std::uint8_t& semaphore) {
    const auto number = peek().kind == TokenKind::Word ? parse_numbered(peek().text, 's') : std::nullopt;
    if (!number || *number >= kSemaphores) return expected(fmt::format("a semaphore s0 to s{}", kSemaphores - 1));
    take();
    semaphore = static_cast<std::uint8_t>(*number);
    return true;
  }

  bool read_source(ScalarSource& source) {
    if (peek().kind == TokenKind::Word) {
      source.is_register = true;
      return read_register(source.reg);
    }
    return read_word32("a register or a value", source.immediate);
  }

  bool read_format(Format& format) {
    const Token token = peek();
    const auto parsed = token.kind == TokenKind::Word ? parse_format(token.text) : std::nullopt;
    if (!parsed) {
      std::vector<std::string_view> allowed;
      for (const Format known : all_formats()) allowed.push_back(spec(known).name);
      return unknown(token, "a format", allowed);
    }
    take();
    format = *parsed;
    return true;
  }

  bool read_alu_op(AluOp& op) {
    const Token token = peek();
    const auto parsed = token.kind == TokenKind::Word ? parse_alu_op(token.text) : std::nullopt;
    if (!parsed) {
      std::vector<std::string_view> allowed;
      for (std::size_t i = 0; i < static_cast<std::size_t>(AluOp::Count_); ++i)
        allowed.push_back(alu_op_name(static_cast<AluOp>(i)));
      return unknown(token, "an operator", allowed);
    }
    take();
    op = *parsed;
    return true;
  }

  // sbuf[0:128, 4096+r5] bf16 <4:1024, 512>
  bool read_tile(TensorAccess& access) {
    const Token space = take();
    access.space = space.text == "psum" ? MemorySpace::Psum : MemorySpace::Sbuf;
    std::uint64_t first = 0, end = 0;
    if (!expect("[") || !read_unsigned("the first partition", 0, 255, first) || !expect(":")) return false;
    if (!read_unsigned("the partition after the last", first + 1, first + 255, end) || !expect(",")) return false;
    access.start_partition = static_cast<std::uint16_t>(first);
    access.partitions = static_cast<std::uint16_t>(end - first);
    if (!read_number("the offset in bytes", 0, 0xFFFFFFFFU, access.offset_bytes)) return false;
    if (accept("+") && !read_register(access.offset_register)) return false;
    return expect("]") && read_format(access.format) && read_free_dims(access);
  }

  bool read_free_dims(TensorAccess& access) {
    if (!expect("<")) return false;
    std::array<Token, kMaxFreeDims> sizes;
    std::array<bool, kMaxFreeDims> has_step{};
    std::size_t dims = 0;
    do {
      if (dims == kMaxFreeDims)
        return error(peek(), fmt::format("a tile has at most {} free dimensions", kMaxFreeDims));
      sizes[dims] = peek();
      if (!read_number("the size of a free dimension", 1, 65535, access.free[dims].size)) return false;
      if (accept(":")) {
        std::int64_t step = 0;
        if (!read_signed("the step in elements", -32768, 32767, step)) return false;
        access.free[dims].step = static_cast<std::int16_t>(step);
        has_step[dims] = true;
      }
      ++dims;
    } while (accept(","));
    if (!is(peek(), ">")) return expected("',' or '>'");
    take();
    access.dims = static_cast<std::uint8_t>(dims);
    for (std::size_t d = 0; d < dims; ++d) {
      if (has_step[d]) continue;
      const std::uint64_t step = syntax::contiguous_step(access, d);
      if (step > 32767) {
        return error(
            sizes[d],
            fmt::format("this dimension needs a step after ':': without one it is {} elements, more than 32767", step));
      }
      access.free[d].step = static_cast<std::int16_t>(step);
    }
    return true;
  }

  // 0x1000, hbm(stack, offset), sbuf(core, partition, offset) or psum(core, partition, offset)
  bool read_address(std::uint64_t& address) {
    using namespace address_map;
    const Token token = peek();
    if (token.kind != TokenKind::Word) {
      return read_unsigned("an address", 0, std::numeric_limits<std::uint64_t>::max(), address);
    }
    if (token.text != "hbm" && token.text != "sbuf" && token.text != "psum") {
      return unknown(
          token, "a memory",
          {"hbm(stack, offset)", "sbuf(core, partition, offset)", "psum(core, partition, offset)", "an integer"});
    }
    take();
    if (!expect("(")) return false;
    std::uint32_t unit = 0;
    std::uint32_t partition = 0;
    std::uint64_t offset = 0;
    if (token.text == "hbm") {
      if (!read_number("the HBM stack", 0, kNamedStacks - 1, unit) || !expect(",")) return false;
      if (!read_unsigned("the offset in bytes", 0, kHbmStride - 1, offset) || !expect(")")) return false;
      address = hbm(unit, offset);
      return true;
    }
    const bool in_sbuf = token.text == "sbuf";
    if (!read_number("the core", 0, kNamedCores - 1, unit) || !expect(",")) return false;
    if (!read_number("the partition", 0, kPartitions - 1, partition) || !expect(",")) return false;
    const std::uint64_t stride = in_sbuf ? kSbufPartitionStride : kPsumPartitionStride;
    if (!read_unsigned("the offset in bytes", 0, stride - 1, offset) || !expect(")")) return false;
    address = in_sbuf ? sbuf(unit, partition, offset) : psum(unit, partition, offset);
    return true;
  }

  // address [format] [<count:stride, count:stride>]
  bool read_memory(DmaAccess& access, Format& format) {
    if (!read_address(access.address)) return false;
    if (peek().kind == TokenKind::Word && !at_tail() && !read_format(format)) return false;
    if (!accept("<")) return true;
    if (!read_dma_dim(access.inner)) return false;
    if (accept(",")) {
      access.outer = access.inner;
      if (!read_dma_dim(access.inner)) return false;
      if (is(peek(), ",")) return error(peek(), "the rows of a DMA have at most 2 dimensions");
    }
    return expect(">");
  }

  bool read_dma_dim(DmaDim& dim) {
    return read_number("a count of rows", 1, 0xFFFFFFFFU, dim.count) && expect(":") &&
           read_signed("the stride in bytes", std::numeric_limits<std::int64_t>::min(),
                       std::numeric_limits<std::int64_t>::max(), dim.stride_bytes);
  }

  // Lines.

  void read_line(std::string_view line) {
    TokenizedLine tokenized = tokenize(line);
    tokens_ = std::move(tokenized.tokens);
    position_ = 0;
    if (tokenized.bad_column != 0) {
      const std::string_view bad = line.substr(tokenized.bad_column - 1, 1);
      error_at(line_, tokenized.bad_column, fmt::format("unexpected character {}", quote_word(bad)));
    }
    if (peek().kind == TokenKind::Word && peek().text.front() == '.') {
      read_directive();
      return;
    }
    if (peek().kind == TokenKind::Word && is(peek_next(), ":")) read_label();
    if (at_end()) return;
    if (peek().kind != TokenKind::Word) {
      expected("an instruction, a label or .engine");
      return;
    }
    read_instruction();
  }

  void read_directive() {
    const Token directive = take();
    if (directive.text != ".engine") {
      unknown(directive, "a directive", {".engine"});
      return;
    }
    const Token name = peek();
    const auto engine = name.kind == TokenKind::Word ? parse_engine(name.text) : std::nullopt;
    if (!engine) {
      std::vector<std::string_view> allowed;
      for (std::size_t e = 0; e < kEngines; ++e) allowed.push_back(engine_name(static_cast<EngineId>(e)));
      unknown(name, "an engine", allowed);
      return;
    }
    take();
    engine_ = engine;
    if (!at_end()) expected("the end of the line");
  }

  void read_label() {
    const Token name = take();
    take();
    if (!engine_) {
      error(name, "a label before the first .engine line");
      return;
    }
    const auto index = static_cast<std::uint32_t>(result_.program[*engine_].size());
    const auto [entry, is_new] = labels_[static_cast<std::size_t>(*engine_)].emplace(name.text, Label{index, line_});
    if (!is_new) error(name, fmt::format("label {} is already on line {}", describe(name), entry->second.line));
  }

  void read_instruction() {
    const Token name = take();
    const auto opcode = parse_opcode(name.text);
    if (!opcode) {
      std::vector<std::string_view> known;
      for (const OpcodeInfo& info : opcode_table()) known.push_back(info.name);
      // The list is long: only what runs on this engine when nothing is near.
      std::string message = fmt::format("unknown instruction {}", describe(name));
      const std::string nearest = did_you_mean(name.text, known);
      if (!nearest.empty()) {
        message += nearest;
      } else if (engine_) {
        message += fmt::format("; the {} engine has: {}", engine_name(*engine_), join_words(instructions_of(*engine_)));
      }
      error(name, message);
      return;
    }
    if (!engine_) {
      error(name,
            "an instruction before the first .engine line; write .engine tensor, vector, scalar, gpsimd or sync above "
            "it");
    } else if (!may_execute(*engine_, *opcode)) {
      std::vector<std::string_view> engines;
      for (std::size_t e = 0; e < kEngines; ++e) {
        if (may_execute(static_cast<EngineId>(e), *opcode)) engines.push_back(engine_name(static_cast<EngineId>(e)));
      }
      error(name, fmt::format("{} does not run on the {} engine; allowed: {}", name.text, engine_name(*engine_),
                              join_words(engines)));
    }

    const std::size_t errors_before = result_.errors.size();
    instruction_ = Instruction{};
    instruction_.opcode = *opcode;
    seen_.clear();
    target_.reset();
    rest_skipped_ = false;
    while (!at_end() && !at_tail()) {
      const std::size_t start = position_;
      if (!read_argument()) skip_argument(start);
      if (accept(",")) {
        if (at_end() || at_tail()) expected("an argument after ','");
        continue;
      }
      if (at_end() || at_tail()) break;
      expected("',', a wait, an update or the end of the line");
      skip_argument(position_);
      accept(",");
    }
    read_tail();
    for (std::size_t i = 0; i < kMaxOperands; ++i) {
      if (!(instruction_.operand[i] == TensorAccess{})) instruction_.operand_count = static_cast<std::uint8_t>(i + 1);
    }
    if (!rest_skipped_) check_complete(name);
    if (result_.errors.size() == errors_before) {
      for (const std::string& problem : validate_instruction(instruction_)) error(name, problem);
    }
    if (!engine_) return;
    auto& code = result_.program[*engine_];
    if (target_) fixups_.push_back({*engine_, code.size(), target_->text, line_, target_->column});
    code.push_back(instruction_);
  }

  static std::vector<std::string_view> instructions_of(EngineId engine) {
    std::vector<std::string_view> names;
    for (const OpcodeInfo& info : opcode_table()) {
      if (may_execute(engine, info.opcode)) names.push_back(info.name);
    }
    return names;
  }

  // Arguments.

  // True at `wait` or an update, which end the arguments. They are never followed by '=', as an argument is.
  bool at_tail() const {
    const Token& token = peek();
    if (token.kind != TokenKind::Word || is(peek_next(), "=")) return false;
    return token.text == syntax::kWait || syntax::find_word(syntax::kUpdates, token.text) != nullptr;
  }

  // Moves behind the argument that began at token `start`: to the next ',' outside brackets, a wait or update, or the
  // end.
  void skip_argument(std::size_t start) {
    const std::size_t failed = position_;
    const bool has_patterns = instruction_.opcode != Opcode::CompareBranch;
    int depth = 0;
    position_ = start;
    while (!at_end()) {
      const Token& token = peek();
      const bool behind = position_ >= failed && position_ > start;
      if (depth <= 0 && behind && (is(token, ",") || at_tail())) return;
      if (is(token, "[") || is(token, "(") || (has_patterns && is(token, "<"))) ++depth;
      if (is(token, "]") || is(token, ")") || (has_patterns && is(token, ">"))) --depth;
      take();
    }
    rest_skipped_ = rest_skipped_ || depth > 0;
  }

  bool first_time(const Token& name, std::string_view what) {
    if (std::find(seen_.begin(), seen_.end(), what) != seen_.end())
      return error(name, fmt::format("{} is given twice", what));
    seen_.push_back(what);
    return true;
  }
  bool was_seen(std::string_view what) const { return std::find(seen_.begin(), seen_.end(), what) != seen_.end(); }

  bool read_argument() {
    const OpcodeInfo& info = opcode_info(instruction_.opcode);
    const std::vector<Parameter>& parameters = opcode_parameters(instruction_.opcode);
    const Token name = peek();
    if (name.kind != TokenKind::Word) return expected("an argument");
    const bool has_value = is(peek_next(), "=");
    if (instruction_.opcode == Opcode::CompareBranch) {
      const bool condition = name.text == syntax::kAlways || parse_numbered(name.text, 'r').has_value();
      if (condition) return read_comparison();
    }

    if (!has_value) {
      for (const Parameter& parameter : parameters) {
        if (parameter.name != name.text || parameter.field == ParameterField::Compare) continue;
        if (parameter.field != ParameterField::Flag) {
          take();
          seen_.push_back(parameter.name);
          return expected(fmt::format("'=' after {}", name.text));
        }
        take();
        if (!first_time(name, parameter.name)) return false;
        instruction_.flags = static_cast<std::uint16_t>(instruction_.flags | parameter.which);
        return true;
      }
      return unknown_argument(name);
    }

    take();
    take();
    for (std::size_t i = 0; i < info.operands.size(); ++i) {
      if (plain_name(info.operands[i]) != name.text) continue;
      const bool tile = is_word(peek(), "sbuf") || is_word(peek(), "psum");
      if (!tile && has_immediate(name.text)) break;
      if (!first_time(name, plain_name(info.operands[i]))) return false;
      if (!tile) return expected(fmt::format("a tile of {} such as sbuf[0:128, 0] bf16 <512>", name.text));
      return read_tile(instruction_.operand[i]);
    }
    for (std::size_t i = 0; i < info.immediates.size(); ++i) {
      const std::string_view immediate = plain_name(info.immediates[i]);
      if (immediate != name.text) continue;
      if (!first_time(name, immediate)) return false;
      return is_fp32_immediate(immediate) ? read_fp32(immediate, instruction_.immediate[i])
                                          : read_word32(immediate, instruction_.immediate[i]);
    }
    for (const Parameter& parameter : parameters) {
      if (parameter.name != name.text || parameter.field == ParameterField::Compare) continue;
      if (parameter.field == ParameterField::Flag) {
        return error(name, fmt::format("{} is a flag: write it alone to set it, leave it out to clear it", name.text));
      }
      return first_time(name, parameter.name) && read_parameter(parameter);
    }
    return unknown_argument(name);
  }

  bool read_parameter(const Parameter& parameter) {
    switch (parameter.field) {
      case ParameterField::AluOp:
        return read_alu_op(instruction_.alu_op[parameter.which]);
      case ParameterField::Function:
        return read_number("the function's number", 0, 255, instruction_.function);
      case ParameterField::Register:
        return read_register(instruction_.reg);
      case ParameterField::Source:
        return read_source(instruction_.source);
      case ParameterField::Source2:
        return read_source(instruction_.source2);
      case ParameterField::Target:
        return read_target();
      case ParameterField::Address:
        return read_address(instruction_.address);
      case ParameterField::DmaDst:
        return read_memory(instruction_.dma_dst, instruction_.dma_dst_format);
      case ParameterField::DmaSrc:
        return read_memory(instruction_.dma_src, instruction_.dma_src_format);
      case ParameterField::DmaBytes:
        return read_number("the bytes of a row", 1, 0xFFFFFFFFU, instruction_.dma_bytes);
      case ParameterField::DmaQueue:
        return read_number("the DMA queue", 0, kDmaQueues - 1, instruction_.dma_queue);
      case ParameterField::Flag:
      case ParameterField::Compare:
        break;  // have no '='
    }
    return false;
  }

  bool read_comparison() {
    const Token first = peek();
    if (!first_time(first, "the condition")) return false;
    if (first.text == syntax::kAlways) {
      take();
      return true;
    }
    if (!read_register(instruction_.reg)) return false;
    const BranchCondition* condition =
        peek().kind == TokenKind::Symbol ? syntax::find_word(syntax::kComparisons, peek().text) : nullptr;
    if (condition == nullptr) return expected("a comparison ==, !=, <, <=, > or >=");
    take();
    instruction_.condition = *condition;
    return read_source(instruction_.source);
  }

  bool read_target() {
    if (accept("@")) return read_number("an instruction index", 0, 0xFFFFFFFFU, instruction_.target);
    if (peek().kind != TokenKind::Word) return expected("a label, or @ and an instruction index");
    target_ = take();
    return true;
  }

  bool has_immediate(std::string_view name) const {
    const auto& immediates = opcode_info(instruction_.opcode).immediates;
    return std::any_of(immediates.begin(), immediates.end(),
                       [name](std::string_view known) { return plain_name(known) == name; });
  }

  std::vector<std::string_view> argument_names() const {
    const OpcodeInfo& info = opcode_info(instruction_.opcode);
    std::vector<std::string_view> names;
    const auto add = [&names](std::string_view name) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    };
    for (const std::string_view name : info.operands) add(plain_name(name));
    for (const std::string_view name : info.immediates) add(plain_name(name));
    for (const Parameter& parameter : opcode_parameters(instruction_.opcode)) {
      add(parameter.field == ParameterField::Compare ? syntax::kAlways : parameter.name);
    }
    return names;
  }

  bool unknown_argument(const Token& name) {
    const std::string_view opcode = opcode_info(instruction_.opcode).name;
    const std::vector<std::string_view> names = argument_names();
    if (names.empty()) return error(name, fmt::format("{} takes no arguments, found {}", opcode, describe(name)));
    return unknown(name, fmt::format("an argument of {}", opcode), names);
  }

  void check_complete(const Token& name) {
    const OpcodeInfo& info = opcode_info(instruction_.opcode);
    std::vector<std::string_view> missing;
    const auto require = [&](std::string_view what, bool optional) {
      if (!optional && !was_seen(what)) missing.push_back(what);
    };
    for (const std::string_view operand : info.operands) require(plain_name(operand), is_optional_name(operand));
    for (const std::string_view immediate : info.immediates)
      require(plain_name(immediate), is_optional_name(immediate));
    for (const Parameter& parameter : opcode_parameters(instruction_.opcode)) {
      if (parameter.field == ParameterField::Compare) {
        if (!was_seen("the condition"))
          error(name, fmt::format("{} needs a condition such as r1 < 10, or always", info.name));
      } else {
        require(parameter.name, parameter.optional);
      }
    }
    if (!missing.empty()) error(name, fmt::format("{} needs {}", info.name, join_words(missing)));
    if (instruction_.opcode == Opcode::SemaphoreWait && !was_seen("a wait")) {
      error(name, "semaphore_wait needs a wait such as wait s3 >= 16");
    }
    if (instruction_.opcode == Opcode::SemaphoreIncrement && !was_seen("an update")) {
      error(name, "semaphore_increment needs an update: inc, dec, add, sub or set");
    }
  }

  // Wait and update.

  void read_tail() {
    while (!at_end()) {
      const std::size_t start = position_;
      const Token word = peek();
      bool fine = false;
      if (!at_tail()) {
        fine = expected("a wait, an update or the end of the line");
      } else if (word.text == syntax::kWait) {
        fine = first_time(word, "a wait") && read_wait();
      } else {
        fine = first_time(word, "an update") && read_update();
      }
      if (!fine) skip_argument(start);
      if (!fine && is(peek(), ",")) take();
    }
  }

  bool read_wait() {
    take();
    SemaphoreWait& wait = instruction_.wait;
    if (!read_semaphore(wait.semaphore)) return false;
    const WaitCondition* condition =
        peek().kind == TokenKind::Symbol ? syntax::find_word(syntax::kWaitConditions, peek().text) : nullptr;
    if (condition == nullptr) return expected("a comparison >=, == or <=");
    take();
    wait.condition = *condition;
    if (!read_number("a semaphore value", 0, 0xFFFFFFFFU, wait.value)) return false;
    if (peek().kind != TokenKind::Word || at_tail()) return true;
    const WaitReason* reason = syntax::find_word(syntax::kWaitReasons, peek().text);
    if (reason == nullptr) {
      std::vector<std::string_view> allowed;
      for (const auto& entry : syntax::kWaitReasons) allowed.push_back(entry.first);
      return unknown(peek(), "a wait reason", allowed);
    }
    take();
    wait.reason = *reason;
    return true;
  }

  bool read_update() {
    SemaphoreUpdate& update = instruction_.update;
    update.op = *syntax::find_word(syntax::kUpdates, take().text);
    if (!read_semaphore(update.semaphore)) return false;
    const bool by_one = update.op == UpdateOp::Increment || update.op == UpdateOp::Decrement;
    if (!by_one && !read_number("a semaphore value", 0, 0xFFFFFFFFU, update.value)) return false;
    if (is_word(peek(), syntax::kAtRead)) {
      take();
      update.timing = UpdateTiming::Read;
    }
    return true;
  }

  // Branches.

  void resolve_targets() {
    for (const Fixup& fixup : fixups_) {
      const auto& labels = labels_[static_cast<std::size_t>(fixup.engine)];
      const auto label = labels.find(fixup.label);
      if (label != labels.end()) {
        result_.program[fixup.engine][fixup.instruction].target = label->second.index;
        continue;
      }
      std::vector<std::string_view> known;
      for (const auto& entry : labels) known.push_back(entry.first);
      if (known.size() > kMaxListed) known.resize(kMaxListed);
      error_at(fixup.line, fixup.column,
               known.empty()
                   ? fmt::format("unknown label {}; the {} engine has no labels", quote_word(fixup.label),
                                 engine_name(fixup.engine))
                   : fmt::format("unknown label {}; labels of the {} engine: {}{}", quote_word(fixup.label),
                                 engine_name(fixup.engine), join_words(known), did_you_mean(fixup.label, known)));
    }
  }

  static constexpr std::size_t kMaxListed = 20;

  std::string_view text_;
  AssemblyResult result_;
  std::size_t line_ = 0;
  std::optional<EngineId> engine_;
  std::array<std::map<std::string_view, Label>, kEngines> labels_;
  std::vector<Fixup> fixups_;

  // The line and the instruction being read.
  std::vector<Token> tokens_;
  std::size_t position_ = 0;
  Instruction instruction_;
  std::vector<std::string_view> seen_;
  std::optional<Token> target_;
  bool rest_skipped_ = false;  // an open bracket swallowed the rest of the line
};

}  // namespace

AssemblyResult assemble(std::string_view text) { return Assembler(text).run(); }

}  // namespace azulejo
