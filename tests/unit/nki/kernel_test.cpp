// SPDX-License-Identifier: Apache-2.0
// The kernel builder: which waits the hazards of tiles insert, capacity, and what it refuses.
#include "sw/nki/kernel.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace azulejo::nki {
namespace {

constexpr Target kTarget{0, 8192, 16 << 10, 8};

HbmTensor tensor(std::uint64_t rows, std::uint64_t cols) { return {4096, rows, cols, Format::Fp32, cols * 4}; }

// Every wait of one engine's code: SemaphoreWait instructions and waits of others.
std::vector<SemaphoreWait> waits(const Program& program, EngineId engine) {
  std::vector<SemaphoreWait> found;
  for (const Instruction& instruction : program[engine]) {
    if (instruction.wait.condition != WaitCondition::None) found.push_back(instruction.wait);
  }
  return found;
}

// The instruction of `engine` whose update moves `semaphore`, counted from 1 among those that do; null if there is
// none.
const Instruction* updater(const Program& program, EngineId engine, std::uint8_t semaphore, std::uint32_t rank) {
  for (const Instruction& instruction : program[engine]) {
    if (instruction.update.op == UpdateOp::Increment && instruction.update.semaphore == semaphore && --rank == 0)
      return &instruction;
  }
  return nullptr;
}

class KernelTest : public testing::Test {
 protected:
  Kernel kernel{kTarget};
  TilePool& one = kernel.sbuf_pool("one", 512, 1);
  TilePool& two = kernel.sbuf_pool("two", 512, 2);
  TilePool& psum = kernel.psum_pool("psum", 1);
  HbmTensor memory = tensor(128, 64);
  HbmView view{&memory, 0, 0, 128, 64};

  Tile sbuf(TilePool& pool) { return kernel.tile(pool, 128, 64, Format::Fp32); }
};

TEST_F(KernelTest, AReadOfLoadedDataWaitsOnceForThe16OfItsTransfer) {
  const Tile a = sbuf(one);
  kernel.dma_copy(a, view, EngineId::Sync, 0);
  const Tile b = sbuf(two);
  kernel.tensor_copy(b, a);
  kernel.tensor_copy(b, a);  // known by now
  const Program program = kernel.finish();
  ASSERT_EQ(program[EngineId::Sync].size(), 1u);
  ASSERT_EQ(program[EngineId::Vector].size(), 2u);
  const SemaphoreUpdate& update = program[EngineId::Sync][0].update;
  EXPECT_EQ(update.op, UpdateOp::Increment);
  const std::vector<SemaphoreWait> found = waits(program, EngineId::Vector);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].condition, WaitCondition::GreaterEqual);
  EXPECT_EQ(found[0].semaphore, update.semaphore);
  EXPECT_EQ(found[0].value, 16u);
  EXPECT_EQ(found[0].reason, WaitReason::Data);
  EXPECT_EQ(program[EngineId::Vector][0].wait, found[0]);
  EXPECT_TRUE(waits(program, EngineId::Sync).empty());
  // Nobody waits for the vector engine, so none of its instructions moves a semaphore.
  for (const Instruction& instruction : program[EngineId::Vector]) EXPECT_EQ(instruction.update.op, UpdateOp::None);
}

TEST_F(KernelTest, AReadAfterAWriteOfAnotherEngineWaitsForItsCompletion) {
  const Tile a = sbuf(one);
  kernel.memset(a, 1.0F);
  kernel.dma_copy(view, a, EngineId::Scalar, 1);
  const Program program = kernel.finish();
  const std::vector<SemaphoreWait> found = waits(program, EngineId::Scalar);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].reason, WaitReason::Data);
  EXPECT_EQ(found[0].value, 1u);
  const Instruction* memset = updater(program, EngineId::Vector, found[0].semaphore, 1);
  ASSERT_NE(memset, nullptr);
  EXPECT_EQ(memset->opcode, Opcode::Memset);
  EXPECT_EQ(memset->update.timing, UpdateTiming::Complete);
}

TEST_F(KernelTest, ATransferOfWhatItsOwnEngineWroteWaitsToo) {
  // The engine's queue is in order, the DMA is not part of it.
  const Tile a = sbuf(one);
  kernel.memset(a, 1.0F);
  kernel.dma_copy(view, a, EngineId::Vector, 1);
  const Program program = kernel.finish();
  EXPECT_EQ(waits(program, EngineId::Vector).size(), 1u);
}

TEST_F(KernelTest, AWriteAfterAReadWaitsForTheReader) {
  // The pool has one buffer: the next tile must wait until the copy has read the last one.
  const Tile a = sbuf(one);
  kernel.dma_copy(a, view, EngineId::Sync, 0);
  kernel.tensor_copy(sbuf(two), a);
  const Tile next = sbuf(one);
  kernel.dma_copy(next, view, EngineId::Sync, 0);
  const Program program = kernel.finish();
  // It waits for the vector engine; that the first transfer is complete follows from it, but is asked for as well.
  const std::vector<SemaphoreWait> found = waits(program, EngineId::Sync);
  std::uint32_t for_vector = 0;
  for (const SemaphoreWait& wait : found) {
    EXPECT_EQ(wait.reason, WaitReason::SbufSpace);
    if (updater(program, EngineId::Vector, wait.semaphore, wait.value) != nullptr) ++for_vector;
  }
  EXPECT_EQ(for_vector, 1u);
  EXPECT_LE(found.size(), 2u);
}

TEST_F(KernelTest, AWriteAfterAWriteOfAnotherEngineWaits) {
  const Tile a = sbuf(one);
  kernel.dma_copy(a, view, EngineId::Sync, 0);
  kernel.memset(a, 0.0F);  // over the transfer
  kernel.dma_copy(a, view, EngineId::GpSimd, 3);
  const Program program = kernel.finish();
  ASSERT_EQ(waits(program, EngineId::Vector).size(), 1u);
  EXPECT_EQ(waits(program, EngineId::Vector)[0].value, 16u);
  std::uint32_t for_vector = 0;
  for (const SemaphoreWait& wait : waits(program, EngineId::GpSimd)) {
    if (updater(program, EngineId::Vector, wait.semaphore, wait.value) != nullptr) ++for_vector;
  }
  EXPECT_EQ(for_vector, 1u);
}

TEST_F(KernelTest, TwoTransfersIntoOneBufferFollowEachOther) {
  const Tile a = sbuf(one);
  kernel.dma_copy(a, view, EngineId::Sync, 0);
  const Tile b = sbuf(one);
  kernel.dma_copy(b, view, EngineId::Sync, 5);  // another queue: nothing else would order them
  const Program program = kernel.finish();
  const std::vector<SemaphoreWait> found = waits(program, EngineId::Sync);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].semaphore, program[EngineId::Sync][0].update.semaphore);
  EXPECT_EQ(found[0].value, 16u);
}

TEST_F(KernelTest, OneEngineNeverWaitsForItself) {
  const Tile a = sbuf(one);
  kernel.memset(a, 0.0F);
  kernel.memset(a, 1.0F);
  const Tile b = sbuf(two);
  kernel.tensor_copy(b, a);
  kernel.tensor_tensor(b, b, a, AluOp::Add);
  const Program program = kernel.finish();
  EXPECT_TRUE(waits(program, EngineId::Vector).size() <= 4);
  for (const Instruction& instruction : program[EngineId::Vector]) {
    // A wait for an instruction that comes later in the same queue would never end.
    if (instruction.wait.condition != WaitCondition::None) {
      EXPECT_NE(updater(program, EngineId::Vector, instruction.wait.semaphore, instruction.wait.value), &instruction);
    }
  }
}

TEST_F(KernelTest, AReadOfDataThatTheSameEngineJustWroteWaitsForItsVisibility) {
  // Vector results are visible a latency after the engine took its next instruction: the builder must order the two, or
  // the engine must. It orders them.
  const Tile a = sbuf(one);
  kernel.memset(a, 0.0F);
  kernel.tensor_copy(sbuf(two), a);
  const Program program = kernel.finish();
  EXPECT_EQ(waits(program, EngineId::Vector).size(), 1u);
}

TEST_F(KernelTest, AMatmulWaitsForItsOperandsAndTheCopyForTheMatmul) {
  TilePool& weights = kernel.sbuf_pool("weights", 256, 1);
  const HbmTensor bf16{0, 128, 128, Format::Bf16, 256};
  const Tile a = kernel.tile(weights, 128, 128, Format::Bf16);
  const Tile b = kernel.tile(two, 128, 128, Format::Bf16);
  kernel.dma_copy(a, HbmView{&bf16, 0, 0, 128, 128}, EngineId::Sync, 0);
  kernel.dma_copy(b, HbmView{&bf16, 0, 0, 128, 128}, EngineId::Sync, 1);
  const Tile sum = kernel.tile(psum, 128, 128, Format::Fp32);
  kernel.nc_matmul(sum, a, b, false);
  kernel.nc_matmul(sum, a, b, true);  // weights loaded, operands known, PSUM its own
  kernel.tensor_copy(sbuf(one), sum.columns(0, 64));
  const Tile next = kernel.tile(psum, 128, 128, Format::Fp32);
  kernel.nc_matmul(next, a, b, false);  // the bank is the copy's until it has read it
  const Program program = kernel.finish();
  const auto& tensor_code = program[EngineId::Tensor];
  ASSERT_EQ(tensor_code.size(), 4u);
  EXPECT_EQ(tensor_code[0].opcode, Opcode::LoadStationary);
  EXPECT_EQ(tensor_code[0].wait.semaphore, program[EngineId::Sync][0].update.semaphore);
  EXPECT_EQ(tensor_code[0].wait.value, 16u);
  EXPECT_EQ(tensor_code[1].opcode, Opcode::NcMatmul);
  EXPECT_EQ(tensor_code[1].wait.semaphore, program[EngineId::Sync][1].update.semaphore);
  EXPECT_EQ(tensor_code[2].wait.condition, WaitCondition::None);
  EXPECT_NE(tensor_code[2].flags & kFlagAccumulate, 0);
  // The copy waits for the second matmul, which alone moves the semaphore.
  ASSERT_EQ(waits(program, EngineId::Vector).size(), 1u);
  const SemaphoreWait copy_wait = waits(program, EngineId::Vector)[0];
  EXPECT_EQ(copy_wait.value, 1u);
  EXPECT_EQ(updater(program, EngineId::Tensor, copy_wait.semaphore, 1), &tensor_code[2]);
  EXPECT_EQ(tensor_code[3].wait.reason, WaitReason::PsumSpace);
  EXPECT_EQ(updater(program, EngineId::Vector, tensor_code[3].wait.semaphore, 1), &program[EngineId::Vector][0]);
}

TEST_F(KernelTest, WeightsAreLoadedAgainWhenTheirTileWasOverwritten) {
  TilePool& weights = kernel.sbuf_pool("weights", 256, 1);
  const Tile a = kernel.tile(weights, 128, 128, Format::Bf16);
  kernel.memset(a, 1.0F);
  const Tile b = kernel.tile(two, 128, 128, Format::Bf16);
  kernel.memset(b, 1.0F);
  const Tile sum = kernel.tile(psum, 128, 128, Format::Fp32);
  kernel.nc_matmul(sum, a, b, false);
  kernel.nc_matmul(sum, a, b, false);
  kernel.memset(a, 2.0F);
  kernel.nc_matmul(sum, a, b, false);
  kernel.nc_matmul(sum, a.columns(0, 64), b, false);  // another slice
  const Program program = kernel.finish();
  std::vector<Opcode> opcodes;
  for (const Instruction& instruction : program[EngineId::Tensor]) {
    if (instruction.opcode != Opcode::SemaphoreWait) opcodes.push_back(instruction.opcode);
  }
  EXPECT_EQ(opcodes,
            (std::vector<Opcode>{Opcode::LoadStationary, Opcode::NcMatmul, Opcode::NcMatmul, Opcode::LoadStationary,
                                 Opcode::NcMatmul, Opcode::LoadStationary, Opcode::NcMatmul}));
}

TEST_F(KernelTest, ASemaphoreOfTransfersCarriesOneAtATime) {
  // 200 transfers of one engine into two buffers: whoever uses a semaphore again first waits for its last transfer.
  for (int i = 0; i < 200; ++i) kernel.dma_copy(sbuf(two), view, EngineId::Sync, 0);
  const Program program = kernel.finish();
  std::vector<std::uint32_t> triggered(kSemaphores);
  std::vector<std::uint32_t> known(kSemaphores);
  for (const Instruction& instruction : program[EngineId::Sync]) {
    if (instruction.wait.condition == WaitCondition::GreaterEqual) {
      known[instruction.wait.semaphore] = std::max(known[instruction.wait.semaphore], instruction.wait.value);
    }
    if (instruction.opcode != Opcode::DmaCopy) continue;
    const std::uint8_t semaphore = instruction.update.semaphore;
    EXPECT_GE(known[semaphore], 16 * triggered[semaphore]);
    ++triggered[semaphore];
  }
}

TEST_F(KernelTest, ManualSynchronisationRecordsWhatTheAuthorWrites) {
  Kernel manual(kTarget, Synchronisation::Manual);
  TilePool& pool = manual.sbuf_pool("pool", 512, 1);
  const Tile a = manual.tile(pool, 128, 64, Format::Fp32);
  manual.dma_copy(a, view, EngineId::Sync, 0);
  manual.semaphore_wait(EngineId::Vector, 9, WaitCondition::Equal, 3);
  manual.memset(a, 0.0F);
  manual.semaphore_increment(EngineId::Vector, 10);
  const Program program = manual.finish();
  ASSERT_EQ(program[EngineId::Vector].size(), 3u);
  EXPECT_EQ(program[EngineId::Vector][0].opcode, Opcode::SemaphoreWait);
  EXPECT_EQ(program[EngineId::Vector][0].wait.semaphore, 9);
  EXPECT_EQ(program[EngineId::Vector][1].wait.condition, WaitCondition::None);
  EXPECT_EQ(program[EngineId::Vector][2].update.semaphore, 10);
  EXPECT_EQ(program[EngineId::Sync][0].update.op, UpdateOp::None);
}

TEST(KernelCapacity, PoolsTakeWholeMultiplesOf64BytesUntilSbufIsFull) {
  Kernel kernel(kTarget);
  kernel.sbuf_pool("a", 1, 2);
  EXPECT_EQ(kernel.sbuf_free(), 8192u - 128);
  kernel.sbuf_pool("b", 65, 1);
  EXPECT_EQ(kernel.sbuf_free(), 8192u - 256);
  EXPECT_THROW(kernel.sbuf_pool("c", 7937, 1), KernelError);
  EXPECT_THROW(kernel.sbuf_pool("c", 0, 0), KernelError);
  kernel.sbuf_pool("c", 7936, 1);
  EXPECT_EQ(kernel.sbuf_free(), 0u);
  try {
    kernel.sbuf_pool("late", 64, 3);
    ADD_FAILURE() << "no error";
  } catch (const KernelError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("'late'"), std::string::npos) << text;
    EXPECT_NE(text.find("0 of 8192"), std::string::npos) << text;
  }
}

TEST(KernelCapacity, PsumPoolsTakeWholeBanks) {
  Kernel kernel(kTarget);
  TilePool& pool = kernel.psum_pool("a", 5);
  EXPECT_EQ(kernel.psum_banks_free(), 3u);
  EXPECT_THROW(kernel.psum_pool("b", 4), KernelError);
  EXPECT_THROW(kernel.psum_pool("b", 0), KernelError);
  kernel.psum_pool("b", 3);
  EXPECT_EQ(kernel.psum_banks_free(), 0u);
  EXPECT_EQ(kernel.tile(pool, 128, 512, Format::Fp32).offset_bytes, 0u);
  EXPECT_EQ(kernel.tile(pool, 128, 512, Format::Fp32).offset_bytes, 2048u);
  EXPECT_THROW(kernel.tile(pool, 128, 513, Format::Fp32), KernelError);
}

TEST(KernelCapacity, TilesMustFitTheirBuffer) {
  Kernel kernel(kTarget);
  TilePool& pool = kernel.sbuf_pool("a", 256, 2);
  EXPECT_NO_THROW(kernel.tile(pool, 128, 128, Format::Bf16));
  EXPECT_NO_THROW(kernel.tile(pool, 1, 256, Format::E4M3));
  EXPECT_THROW(kernel.tile(pool, 128, 129, Format::Bf16), KernelError);
  EXPECT_THROW(kernel.tile(pool, 128, 65, Format::Fp32), KernelError);
  EXPECT_THROW(kernel.tile(pool, 129, 1, Format::Bf16), KernelError);
  EXPECT_THROW(kernel.tile(pool, 0, 1, Format::Bf16), KernelError);
  EXPECT_THROW(kernel.tile(pool, 1, 0, Format::Bf16), KernelError);
}

TEST(KernelCapacity, ColumnsStayInsideTheirTile) {
  Kernel kernel(kTarget);
  const Tile tile = kernel.tile(kernel.sbuf_pool("a", 256, 1), 128, 100, Format::Bf16);
  EXPECT_EQ(tile.columns(10, 90).offset_bytes, tile.offset_bytes + 20);
  EXPECT_EQ(tile.columns(10, 90).cols, 90u);
  EXPECT_THROW(tile.columns(10, 91), KernelError);
  EXPECT_THROW(tile.columns(101, 0), KernelError);
  EXPECT_THROW(tile.columns(1, ~std::uint32_t{0}), KernelError);  // the sum wraps
}

TEST(KernelCapacity, TransfersMustHaveTheShapeOfTheirTileAndLieInsideTheTensor) {
  Kernel kernel(kTarget);
  const HbmTensor memory = tensor(128, 64);
  const Tile tile = kernel.tile(kernel.sbuf_pool("a", 256, 1), 128, 64, Format::Fp32);
  EXPECT_THROW(kernel.dma_copy(tile, HbmView{&memory, 0, 0, 127, 64}, EngineId::Sync, 0), KernelError);
  EXPECT_THROW(kernel.dma_copy(tile, HbmView{&memory, 0, 0, 128, 63}, EngineId::Sync, 0), KernelError);
  EXPECT_THROW(kernel.dma_copy(tile, HbmView{&memory, 1, 0, 128, 64}, EngineId::Sync, 0), KernelError);
  EXPECT_THROW(kernel.dma_copy(HbmView{&memory, 0, 1, 128, 64}, tile, EngineId::Sync, 0), KernelError);
  const Tile sum = kernel.tile(kernel.psum_pool("p", 1), 128, 64, Format::Fp32);
  EXPECT_THROW(kernel.dma_copy(sum, HbmView{&memory, 0, 0, 128, 64}, EngineId::Sync, 0), KernelError);
}

}  // namespace
}  // namespace azulejo::nki
