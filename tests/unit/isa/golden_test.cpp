// SPDX-License-Identifier: Apache-2.0
// One sample program per executed opcode in tests/golden/isa/<opcode>.asm: canonical text, then the bytes it encodes to
// as comments. AZULEJO_UPDATE_GOLDEN=1 rewrites the files.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "tlm/isa/assembler.h"
#include "tlm/isa/encoding.h"
#include "tlm/isa/opcode_table.h"

namespace azulejo {
namespace {

const std::map<std::string_view, const char*>& samples() {
  static const std::map<std::string_view, const char*> all = {
      {"nop", ".engine scalar\nnop\nnop wait s0 >= 1\nnop dec s255 at_read\n"},
      {"halt", ".engine sync\nhalt\n.engine gpsimd\nhalt wait s7 <= 0\n"},
      {"semaphore_wait",
       ".engine vector\nsemaphore_wait wait s3 >= 16\nsemaphore_wait wait s4 == 2 sbuf_space\n"
       "semaphore_wait wait s5 <= 1 psum_space\nsemaphore_wait wait s6 >= 32 dma_order\n"},
      {"semaphore_increment",
       ".engine vector\nsemaphore_increment inc s0\nsemaphore_increment add s1 16\n"
       "semaphore_increment sub s2 16\nsemaphore_increment set s3 0\n"},
      {"register_move",
       ".engine tensor\nregister_move dst=r0, src=4096\nregister_move dst=r63, src=r0\n"
       "register_move dst=r1, src=-1\n"},
      {"register_add", ".engine tensor\nregister_add dst=r1, src=r1, src2=-1\nregister_add dst=r2, src=r1, src2=r0\n"},
      {"compare_branch",
       ".engine tensor\nloop: nop\ncompare_branch r1 < 10, target=loop\ncompare_branch r2 >= r3, target=end\n"
       "compare_branch always, target=loop\nend:\n"},
      {"dma_copy",
       ".engine sync\n"
       "dma_copy dst=sbuf(0, 0, 4096) <128:0x40000>, src=hbm(0, 0x10000) <128:0x400>, bytes=1024, queue=3 inc s3\n"
       "dma_copy dst=hbm(1, 0) <8:0x8000, 16:0x100>, src=psum(1, 0, 0) <128:0x4000>, bytes=256 wait s4 >= 1 data\n"
       "dma_copy dst=hbm(0, 0) bf16, src=hbm(0, 0x1000) fp32, bytes=4096, stochastic\n"
       "dma_copy dst=0x100000000000, src=hbm(0, 0), bytes=65536, queue=15\n"},
      {"load_stationary",
       ".engine tensor\nload_stationary stationary=sbuf[0:128, 4096] bf16 <128> wait s3 >= 16 data inc s0\n"
       "load_stationary stationary=sbuf[32:64, 0+r5] e4m3 <128:2>\n"},
      {"nc_matmul",
       ".engine tensor\nnc_matmul dst=psum[0:128, 0] fp32 <512>, moving=sbuf[0:128, 8192] bf16 <512>\n"
       "nc_matmul dst=psum[0:128, 0] fp32 <512>, stationary=sbuf[0:128, 4096] bf16 <128>, "
       "moving=sbuf[0:128, 8192] bf16 <512>\n"
       "nc_matmul dst=psum[0:64, 2048] fp32 <4, 128>, moving=sbuf[64:128, 8192+r9] fp32 <4:1024, 128:-1>, accumulate, "
       "is_stationary_onezero, is_moving_onezero inc s1\n"
       "nc_matmul dst=psum[0:128, 0] bf16 <128>, moving=sbuf[0:128, 0] bf16 <128>, is_transpose, stochastic\n"},
      {"tensor_copy",
       ".engine vector\ntensor_copy dst=sbuf[0:128, 0] bf16 <512>, src=psum[0:128, 2048] fp32 <512>, stochastic, "
       "saturate\n"
       ".engine scalar\ntensor_copy dst=sbuf[0:1, 0] uint8 <2, 3, 4, 5>, src=sbuf[0:1, 64] uint8 <5:1, 4:5, 3:20, "
       "2:60>\n"},
      {"memset",
       ".engine gpsimd\nmemset dst=sbuf[0:128, 0] fp32 <1024>, value=0.0\n"
       "memset dst=sbuf[0:128, 0] bf16 <1024>, value=-1.5\nmemset dst=sbuf[0:128, 0] fp32 <1024>, value=0x7fc00001\n"},
      {"tensor_tensor",
       ".engine vector\ntensor_tensor dst=sbuf[0:128, 0] bf16 <512>, data1=sbuf[0:128, 1024] bf16 <512>, "
       "data2=psum[0:128, 0] fp32 <512>, op=add wait s1 >= 1 data inc s2\n"},
  };
  return all;
}

std::string hex(const Program& program) {
  std::string text;
  for (std::size_t e = 0; e < kEngines; ++e) {
    for (std::size_t i = 0; i < program.code[e].size(); ++i) {
      text += fmt::format("#\n# {} {}\n", engine_name(static_cast<EngineId>(e)), i);
      const EncodedInstruction bytes = encode_instruction(program.code[e][i]);
      for (std::size_t line = 0; line < bytes.size(); line += 32) {
        const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(line);
        if (std::all_of(begin, begin + 32, [](std::uint8_t byte) { return byte == 0; })) continue;
        text += fmt::format("# {:3}:", line);
        for (std::size_t b = line; b < line + 32; ++b) text += fmt::format(b % 4 == 0 ? " {:02x}" : "{:02x}", bytes[b]);
        text += '\n';
      }
    }
  }
  return text;
}

TEST(Golden, SampleProgramsOfExecutedOpcodesReadAndEncodeAsBefore) {
  const bool update = std::getenv("AZULEJO_UPDATE_GOLDEN") != nullptr;
  for (const OpcodeInfo& info : opcode_table()) {
    if (info.status != OpcodeStatus::Executed) continue;
    const auto sample = samples().find(info.name);
    ASSERT_NE(sample, samples().end()) << info.name << " has no sample program";
    const AssemblyResult assembled = assemble(sample->second);
    ASSERT_TRUE(assembled.errors.empty()) << info.name << ": " << assembled.errors.front().message;
    const std::string text = disassemble(assembled.program) + hex(assembled.program);

    const std::string path = fmt::format("{}/tests/golden/isa/{}.asm", AZULEJO_SOURCE_DIR, info.name);
    if (update) std::ofstream(path, std::ios::binary) << text;
    std::ifstream file(path, std::ios::binary);
    ASSERT_TRUE(file) << path << " is missing; AZULEJO_UPDATE_GOLDEN=1 writes it";
    std::ostringstream golden;
    golden << file.rdbuf();
    EXPECT_EQ(text, golden.str()) << path;
    // The file itself is a program.
    EXPECT_TRUE(assemble(golden.str()).program.code == assembled.program.code) << path;
  }
}

}  // namespace
}  // namespace azulejo
