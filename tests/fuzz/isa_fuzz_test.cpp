// SPDX-License-Identifier: Apache-2.0
// Random and mutated input to the instruction decoder, the program file reader and the assembler: whatever comes in is
// either accepted and reproduces itself, or refused with a reason; nothing crashes or hangs.
// AZULEJO_TEST_SEED selects other cases, AZULEJO_FUZZ_SCALE multiplies their number.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/unit/isa/random_instruction.h"
#include "tlm/isa/assembler.h"
#include "tlm/isa/dma_descriptor.h"
#include "tlm/isa/encoding.h"

namespace azulejo {
namespace {

std::size_t scaled(std::size_t cases) {
  const char* text = std::getenv("AZULEJO_FUZZ_SCALE");
  return text == nullptr ? cases : cases * std::strtoull(text, nullptr, 10);
}

class IsaFuzz : public ::testing::Test {
 protected:
  void SetUp() override { RecordProperty("seed", std::to_string(azulejo::testing::test_seed())); }

  std::uint8_t byte() { return static_cast<std::uint8_t>(random_.below(256)); }

  azulejo::testing::RandomInstructions random_{azulejo::testing::test_seed()};
};

void decodes_to_itself_or_is_refused(const EncodedInstruction& bytes) {
  const DecodeResult result = decode_instruction(bytes);
  if (result.instruction) {
    ASSERT_EQ(result.error, "");
    ASSERT_TRUE(validate_instruction(*result.instruction).empty());
    ASSERT_EQ(encode_instruction(*result.instruction), bytes);
    ASSERT_FALSE(disassemble(*result.instruction).empty());
  } else {
    ASSERT_NE(result.error, "");
  }
}

TEST_F(IsaFuzz, RandomBytesNeverBreakTheDecoder) {
  for (std::size_t i = 0; i < scaled(50000); ++i) {
    EncodedInstruction bytes{};
    // Sparse bytes come further than dense ones.
    const std::uint64_t density = 1 + random_.below(256);
    for (std::uint8_t& b : bytes) {
      if (random_.chance(density)) b = byte();
    }
    bytes[0] = static_cast<std::uint8_t>(random_.below(80));
    ASSERT_NO_FATAL_FAILURE(decodes_to_itself_or_is_refused(bytes));
  }
}

TEST_F(IsaFuzz, MutatedInstructionsDecodeToThemselvesOrAreRefused) {
  std::size_t accepted = 0;
  const std::size_t cases = scaled(150000);
  for (std::size_t i = 0; i < cases; ++i) {
    EncodedInstruction bytes = encode_instruction(random_.any());
    for (std::uint64_t m = random_.below(3); m-- > 0;) bytes[random_.below(bytes.size())] = byte();
    accepted += decode_instruction(bytes).instruction ? 1 : 0;
    ASSERT_NO_FATAL_FAILURE(decodes_to_itself_or_is_refused(bytes));
  }
  EXPECT_GT(accepted, cases / 4);
}

TEST_F(IsaFuzz, MutatedProgramFilesAreReadOrRefused) {
  std::size_t accepted = 0;
  for (std::size_t i = 0; i < scaled(5000); ++i) {
    std::vector<std::uint8_t> bytes = write_program(random_.program(4));
    for (std::uint64_t m = random_.below(4); m-- > 0 && !bytes.empty();) {
      switch (random_.below(4)) {
        case 0:
          bytes.resize(random_.below(bytes.size() + 1));
          break;
        case 1:
          bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(random_.below(bytes.size() + 1)), byte());
          break;
        case 2:
          bytes[random_.below(std::min<std::size_t>(bytes.size(), 40))] = byte();
          break;
        default:
          bytes[random_.below(bytes.size())] = byte();
      }
    }
    const ProgramFileResult result = read_program(bytes);
    if (result.error.empty()) {
      ++accepted;
      ASSERT_EQ(write_program(result.program), bytes);
    } else {
      ASSERT_EQ(result.error.rfind("byte ", 0), 0U) << result.error;
    }
  }
  EXPECT_GT(accepted, 0U);
}

// What assembles must survive the canonical text form and the binary form; what does not must say where.
void assembles_or_is_refused(const std::string& text) {
  const AssemblyResult result = assemble(text);
  if (!result.errors.empty()) {
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
    for (const AssemblyError& error : result.errors) {
      ASSERT_GE(error.line, 1U);
      ASSERT_LE(error.line, lines);
      ASSERT_GE(error.column, 1U);
      ASSERT_FALSE(error.message.empty());
    }
    return;
  }
  const AssemblyResult again = assemble(disassemble(result.program));
  ASSERT_TRUE(again.errors.empty()) << text << again.errors.front().message;
  ASSERT_TRUE(again.program.code == result.program.code) << text;
  const ProgramFileResult file = read_program(write_program(result.program));
  ASSERT_EQ(file.error, "");
  ASSERT_TRUE(file.program.code == result.program.code) << text;
}

TEST_F(IsaFuzz, MutatedTextsAssembleOrAreRefused) {
  const std::vector<std::string> words = {
      "wait",   "inc",     "s3", "r64", "bf16", "sbuf[", "psum(", "hbm(0, 0)", "<4:1, 2>", "-", "0x", "1e999", "@",
      "always", ".engine", "\n", ",",   "=",    "value", "dst=",  ">=",        "#",        ":", "\0", "nan",   "add"};
  for (std::size_t i = 0; i < scaled(4000); ++i) {
    std::string text = disassemble(random_.program(3));
    for (std::uint64_t m = random_.below(4); m-- > 0 && !text.empty();) {
      const std::size_t at = random_.below(text.size());
      switch (random_.below(5)) {
        case 0:
          text.erase(at, 1 + random_.below(8));
          break;
        case 1:
          text.insert(at, words[random_.below(words.size())]);
          break;
        case 2:
          text[at] = static_cast<char>(byte());
          break;
        case 3:
          text.insert(at, text.substr(random_.below(text.size()), random_.below(60)));
          break;
        default:
          text[at] = static_cast<char>('0' + random_.below(10));
      }
    }
    ASSERT_NO_FATAL_FAILURE(assembles_or_is_refused(text));
  }
}

TEST_F(IsaFuzz, RandomTextIsRefusedInBoundedTime) {
  const std::string letters = "abrs_0123456789xe.-+,:=<>[]()@# \t\n";
  for (std::size_t i = 0; i < scaled(2000); ++i) {
    std::string text = random_.chance(2) ? ".engine vector\n" : "";
    for (std::uint64_t n = random_.below(200); n-- > 0;) {
      text += random_.chance(20) ? static_cast<char>(byte()) : letters[random_.below(letters.size())];
    }
    ASSERT_NO_FATAL_FAILURE(assembles_or_is_refused(text));
  }
  // Long lines, long words, deep brackets.
  for (const std::string& piece :
       {std::string("a"), std::string("<"), std::string("dst=sbuf[0:1, "), std::string("1"), std::string("inc ")}) {
    std::string text = ".engine vector\nmemset ";
    while (text.size() < 200000) text += piece;
    ASSERT_NO_FATAL_FAILURE(assembles_or_is_refused(text));
  }
}

TEST_F(IsaFuzz, RandomDescriptorsDecodeToEncodableOnes) {
  for (std::size_t i = 0; i < scaled(100000); ++i) {
    std::array<std::uint8_t, 16> bytes{};
    for (std::uint8_t& b : bytes) b = byte();
    bytes[2] &= 0x3F;  // the reserved bits, which decoding ignores
    bytes[3] = 0;
    ASSERT_EQ(encode_descriptor(decode_descriptor(bytes)), bytes);
  }
}

}  // namespace
}  // namespace azulejo
