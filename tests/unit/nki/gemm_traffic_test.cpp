// SPDX-License-Identifier: Apache-2.0
// What the gemm kernel's program moves and computes, against the closed forms of its tilings.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "sw/kernels/gemm.h"

namespace azulejo::kernels {
namespace {

constexpr std::uint64_t kB = std::uint64_t{1} << 32;
constexpr std::uint64_t kC = std::uint64_t{1} << 33;

struct Traffic {
  std::uint64_t transfers = 0;
  std::uint64_t rows = 0;  // descriptors: no row is longer than 64 KiB
  std::uint64_t bytes = 0;
};

bool operator==(const Traffic& x, const Traffic& y) {
  return x.transfers == y.transfers && x.rows == y.rows && x.bytes == y.bytes;
}
std::ostream& operator<<(std::ostream& out, const Traffic& t) {
  return out << t.transfers << " transfers, " << t.rows << " rows, " << t.bytes << " bytes";
}

struct Counted {
  Traffic a, b, c;
  std::uint64_t matmuls = 0, macs = 0, copies = 0, adds = 0;
};

Counted count(const Program& program) {
  Counted counted;
  for (const auto& code : program.code) {
    std::uint64_t m = 0;
    for (const Instruction& instruction : code) {
      if (instruction.opcode == Opcode::DmaCopy) {
        const bool store = instruction.dma_dst.address < 2 * kC;
        const std::uint64_t address = store ? instruction.dma_dst.address : instruction.dma_src.address;
        Traffic& traffic = address >= kC ? counted.c : address >= kB ? counted.b : counted.a;
        EXPECT_EQ(store, address >= kC);
        EXPECT_LE(instruction.dma_bytes, 65'536u);
        ++traffic.transfers;
        traffic.rows += instruction.dma_src.rows();
        traffic.bytes += instruction.dma_src.rows() * instruction.dma_bytes;
      }
      if (instruction.opcode == Opcode::LoadStationary) m = instruction.operand[0].free_size();
      if (instruction.opcode == Opcode::NcMatmul) {
        ++counted.matmuls;
        counted.macs += m * instruction.operand[2].partitions * instruction.operand[2].free_size();
      }
      if (instruction.opcode == Opcode::TensorCopy) ++counted.copies;
      if (instruction.opcode == Opcode::TensorTensor) ++counted.adds;
    }
  }
  return counted;
}

std::uint64_t up(std::uint64_t x, std::uint64_t y) { return (x + y - 1) / y; }

Program record(const GemmShape& s, const GemmOptions& options, const nki::Target& target) {
  const std::uint64_t e = storage_bytes(options.type, 1);
  const std::uint64_t o = storage_bytes(options.out_type, 1);
  return record_gemm(target, s, options,
                     {{0, s.k, s.m, options.type, s.m * e},
                      {kB, s.k, s.n, options.type, s.n * e},
                      {kC, s.m, s.n, options.out_type, s.n * o}});
}

const std::vector<GemmShape> kShapes = {{128, 128, 512},  {256, 256, 1024}, {1024, 512, 2048},
                                        {640, 384, 1536}, {1, 1, 1},        {129, 257, 513},
                                        {1, 8193, 1},     {130, 5, 2000},   {2304, 1280, 1100}};
const nki::Target kTrn1{0, 192 << 10, 16 << 10, 8};

class Tilings : public testing::TestWithParam<Format> {};

TEST_P(Tilings, MoveTheBytesOfTheirClosedForms) {
  for (const GemmShape& s : kShapes) {
    GemmOptions options;
    options.type = GetParam();
    options.out_type = GetParam();
    const std::uint64_t e = storage_bytes(options.type, 1);
    const std::uint64_t m = up(s.m, 128), k = up(s.k, 128), n = up(s.n, 512);
    const std::string name = std::to_string(s.m) + " x " + std::to_string(s.k) + " x " + std::to_string(s.n);
    const std::uint64_t a = s.k * s.m * e, b = s.k * s.n * e, c = s.m * s.n * e;

    options.tiling = GemmTiling::Basic;  // both tiles in the innermost loop: m * n * k pairs
    Counted basic = count(record(s, options, kTrn1));
    EXPECT_EQ(basic.a, (Traffic{m * n * k, m * n * s.k, a * n})) << name;
    EXPECT_EQ(basic.b, (Traffic{m * n * k, m * n * s.k, b * m})) << name;
    EXPECT_EQ(basic.c, (Traffic{m * n, s.m * n, c})) << name;
    EXPECT_EQ(basic.copies, m * n) << name;

    options.tiling = GemmTiling::Hoist;  // A once, B once per M tile
    Counted hoist = count(record(s, options, kTrn1));
    EXPECT_EQ(hoist.a, (Traffic{m * k, m * s.k, a})) << name;
    EXPECT_EQ(hoist.b, (Traffic{m * n * k, m * n * s.k, b * m})) << name;
    EXPECT_EQ(hoist.c, (Traffic{m * n, s.m * n, c})) << name;

    // A and B columns of 2 x 2 tiles must fit SBUF at once; FP32 with 65 K tiles does not.
    options.tiling = GemmTiling::BlockFree;
    const std::uint64_t columns = k *
                                  (std::min<std::uint64_t>(m, 2) * std::min<std::uint64_t>(s.m, 128) +
                                   std::min<std::uint64_t>(n, 2) * std::min<std::uint64_t>(s.n, 512)) *
                                  e;
    if (columns < (150 << 10)) {
      Counted block = count(record(s, options, kTrn1));
      EXPECT_EQ(block.a, (Traffic{m * k, m * s.k, a})) << name;
      EXPECT_EQ(block.b, (Traffic{up(m, 2) * n * k, up(m, 2) * n * s.k, b * up(m, 2)})) << name;
      EXPECT_EQ(block.c, (Traffic{m * n, s.m * n, c})) << name;
      EXPECT_EQ(block.matmuls, m * n * k) << name;
    }

    options.tiling = GemmTiling::Full;
    Counted full = count(record(s, options, kTrn1));
    const GemmPlan plan = plan_gemm(kTrn1, s, options);
    const std::uint64_t m_blocks = up(m, plan.block_m), n_blocks = up(n, plan.block_n), k_blocks = up(k, plan.block_k);
    const std::uint64_t supers = up(m_blocks, plan.super_m);
    EXPECT_EQ(full.a, (Traffic{n_blocks * m_blocks * k, n_blocks * m_blocks * s.k, a * n_blocks})) << name;
    EXPECT_EQ(full.b, (Traffic{supers * n_blocks * k, supers * n_blocks * s.k, b * supers})) << name;
    EXPECT_EQ(full.c, (Traffic{m * n_blocks, s.m * n_blocks, c})) << name;
    EXPECT_EQ(full.copies, m * n) << name;
    EXPECT_EQ(full.adds, m * n * (k_blocks - 1)) << name;

    for (const Counted& counted : {basic, hoist, full}) EXPECT_EQ(counted.matmuls, m * n * k) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Tilings, testing::Values(Format::Bf16, Format::Fp32, Format::E4M3));

TEST(GemmPlan, OfFullHasTheTutorialsBlocksWhereTheyFit) {
  GemmOptions options;
  const GemmPlan plan = plan_gemm(kTrn1, {4096, 8192, 8192}, options);
  EXPECT_EQ(plan.block_m, 16u);
  EXPECT_EQ(plan.block_n, 2u);
  EXPECT_EQ(plan.block_k, 8u);
  EXPECT_LE(plan.sbuf_bytes, 192u << 10);
}

TEST(GemmPlan, NeverExceedsSbufAndShrinksKFirst) {
  for (const Format type : {Format::Bf16, Format::Fp32, Format::E4M3}) {
    for (const GemmTiling tiling : all_tilings()) {
      for (const std::uint64_t size : {4u << 10, 8u << 10, 24u << 10, 96u << 10, 224u << 10}) {
        GemmOptions options;
        options.type = type;
        options.out_type = type;
        options.tiling = tiling;
        const nki::Target target{0, size, 16 << 10, 8};
        try {
          const GemmPlan plan = plan_gemm(target, {2048, 1024, 2048}, options);
          EXPECT_LE(plan.sbuf_bytes, size) << tiling_name(tiling);
          EXPECT_NO_THROW(record({2048, 1024, 2048}, options, target)) << tiling_name(tiling) << " in " << size;
        } catch (const nki::KernelError& error) {
          // Says what is needed and what there is.
          EXPECT_NE(std::string(error.what()).find(std::to_string(size)), std::string::npos) << error.what();
        }
      }
    }
  }
}

TEST(GemmPlan, ATileThatCannotFitIsAnErrorInWords) {
  GemmOptions options;
  options.type = Format::Fp32;
  options.tiling = GemmTiling::Hoist;
  try {
    plan_gemm({0, 4096, 16 << 10, 8}, {128, 8192, 512}, options);
    ADD_FAILURE() << "no error";
  } catch (const nki::KernelError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("hoist"), std::string::npos) << text;
    EXPECT_NE(text.find("4096"), std::string::npos) << text;
    EXPECT_NE(text.find("full has no such limit"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace azulejo::kernels
