// SPDX-License-Identifier: Apache-2.0
// Proof by order that the builder's semaphores are complete: for random kernels and for gemm, every two accesses to the
// same bytes of which one writes are ordered by the recorded program alone, whatever the speeds; nothing waits twice;
// nothing waits for what can never come.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "sw/kernels/gemm.h"
#include "tests/support/random_kernel.h"
#include "tlm/isa/address_map.h"

namespace azulejo::test {
namespace {

// Units that complete in order: the five engines' data paths, and weight loads, which overtake matmuls.
constexpr std::size_t kLoadUnit = kEngines;

struct Node {
  std::size_t engine = 0;
  std::size_t index = 0;  // in the engine's code
  std::size_t unit = 0;   // of a data-path instruction
  bool dma = false;
  bool control = false;
  std::size_t work = 0;  // number among all that touches memory
  bool started = false;
  std::vector<bool> known;  // work that is complete whenever this starts
};

struct Conflict {
  std::size_t before = 0;
  std::size_t after = 0;
};

bool overlap(const Touch& a, const Touch& b) {
  // Tiles start at partition 0.
  return a.space == b.space && a.first_byte < b.last_byte && b.first_byte < a.last_byte;
}

class Order {
 public:
  explicit Order(const Program& program) : program_(program) {
    for (std::size_t e = 0; e < kEngines; ++e) {
      for (std::size_t i = 0; i < program.code[e].size(); ++i) {
        const Instruction& instruction = program.code[e][i];
        Node node;
        node.engine = e;
        node.index = i;
        node.dma = instruction.opcode == Opcode::DmaCopy;
        node.control = instruction.opcode < Opcode::DmaCopy;
        node.unit = instruction.opcode == Opcode::LoadStationary ? kLoadUnit : e;
        if (!node.control) node.work = works_++;
        nodes_[e].push_back(node);
        if (instruction.update.op != UpdateOp::None) {
          EXPECT_EQ(instruction.update.op, UpdateOp::Increment);
          EXPECT_EQ(instruction.update.timing, UpdateTiming::Complete);
          EXPECT_FALSE(node.control);
          updaters_[instruction.update.semaphore].push_back({e, i});
        }
      }
    }
    check_owners();
    run();
  }

  // Number of the k-th instruction of `engine` that touches memory.
  std::vector<std::size_t> work_of(std::size_t engine) const {
    std::vector<std::size_t> work;
    for (const Node& node : nodes_[engine]) {
      if (!node.control) work.push_back(node.work);
    }
    return work;
  }
  const Node& node_of(std::size_t work) const {
    for (const auto& nodes : nodes_) {
      for (const Node& node : nodes) {
        if (!node.control && node.work == work) return node;
      }
    }
    return nodes_[0][0];
  }
  bool complete() const { return complete_; }

  // True if `before` has completed whenever `after` starts, or both run on one data path that keeps its order.
  bool ordered(const Node& before, const Node& after) const {
    if (!before.dma && !after.dma && before.engine == after.engine) return true;
    return after.known[before.work];
  }

 private:
  // A semaphore belongs to one unit, or carries transfers, never both.
  void check_owners() {
    for (const auto& [semaphore, list] : updaters_) {
      for (const auto& [e, i] : list) {
        const Node& first = nodes_[list[0].first][list[0].second];
        EXPECT_EQ(nodes_[e][i].dma, first.dma) << "semaphore " << int{semaphore};
        EXPECT_EQ(nodes_[e][i].unit, first.unit) << "semaphore " << int{semaphore};
      }
    }
  }

  // What is complete when the semaphore has reached `value`; false if the work that moves it has not started.
  bool learn(const SemaphoreWait& wait, std::vector<bool>& known) {
    EXPECT_EQ(wait.condition, WaitCondition::GreaterEqual);
    const auto found = updaters_.find(wait.semaphore);
    if (found == updaters_.end()) return false;
    const Node& first = nodes_[found->second[0].first][found->second[0].second];
    const std::uint32_t step = first.dma ? 16 : 1;
    EXPECT_EQ(wait.value % step, 0u);
    const std::size_t count = wait.value / step;
    if (count == 0 || count > found->second.size()) return false;
    for (std::size_t k = 0; k < count; ++k) {
      const auto [e, i] = found->second[k];
      const Node& node = nodes_[e][i];
      if (!node.started) return false;
      // One transfer at a time: the next one starts only after the last is complete.
      if (node.dma && k > 0) {
        const auto [pe, pi] = found->second[k - 1];
        EXPECT_TRUE(node.known[nodes_[pe][pi].work])
            << "semaphore " << int{wait.semaphore} << " is shared by two transfers";
      }
      for (std::size_t w = 0; w < works_; ++w) known[w] = known[w] || node.known[w];
      known[node.work] = true;
      if (node.dma) continue;
      for (const Node& earlier : nodes_[e]) {  // its unit completes in order
        if (earlier.index >= i) break;
        if (!earlier.control && !earlier.dma && earlier.unit == node.unit) known[earlier.work] = true;
      }
    }
    return true;
  }

  void run() {
    std::array<std::size_t, kEngines> next{};
    std::array<std::vector<bool>, kEngines> known;
    std::array<std::map<std::uint8_t, std::uint32_t>, kEngines> waited;
    known.fill(std::vector<bool>(works_));
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t e = 0; e < kEngines; ++e) {
        while (next[e] < nodes_[e].size()) {
          const Instruction& instruction = program_.code[e][next[e]];
          if (instruction.wait.condition != WaitCondition::None) {
            std::vector<bool> after = known[e];
            if (!learn(instruction.wait, after)) break;
            known[e] = after;
            std::uint32_t& before = waited[e][instruction.wait.semaphore];
            EXPECT_LT(before, instruction.wait.value) << "engine " << e << " waits again at instruction " << next[e];
            before = instruction.wait.value;
          }
          Node& node = nodes_[e][next[e]];
          node.known = known[e];
          node.started = true;
          ++next[e];
          progress = true;
        }
      }
    }
    complete_ = true;
    for (std::size_t e = 0; e < kEngines; ++e) complete_ = complete_ && next[e] == nodes_[e].size();
  }

  const Program& program_;
  std::array<std::vector<Node>, kEngines> nodes_;
  std::map<std::uint8_t, std::vector<std::pair<std::size_t, std::size_t>>> updaters_;
  std::size_t works_ = 0;
  bool complete_ = false;
};

// Number of pairs that conflict; every one of them must be ordered.
std::size_t expect_ordered(const RandomKernel& kernel) {
  const Order order(kernel.program);
  EXPECT_TRUE(order.complete()) << "an engine waits for what never comes";
  if (!order.complete()) return 0;

  struct Access {
    Touch touch;
    std::size_t work;
  };
  std::vector<Access> accesses;
  std::array<std::vector<std::size_t>, kEngines> work;
  std::array<std::size_t, kEngines> next{};
  for (std::size_t e = 0; e < kEngines; ++e) work[e] = order.work_of(e);
  std::size_t conflicts = 0;
  const auto add = [&](const Touch& touch, std::size_t w) {
    for (const Access& before : accesses) {
      if (before.work == w || (!before.touch.write && !touch.write) || !overlap(before.touch, touch)) continue;
      ++conflicts;
      EXPECT_TRUE(order.ordered(order.node_of(before.work), order.node_of(w)))
          << "work " << w << " may overtake work " << before.work;
    }
    accesses.push_back({touch, w});
  };
  for (const Call& call : kernel.calls) {
    const auto e = static_cast<std::size_t>(call.engine);
    std::size_t first = 0;
    if (call.matmul && kernel.program.code[e][order.node_of(work[e][next[e]]).index].opcode == Opcode::LoadStationary) {
      add(call.touches[0], work[e][next[e]++]);
    }
    if (call.matmul) first = 1;
    const std::size_t w = work[e][next[e]++];
    for (std::size_t t = first; t < call.touches.size(); ++t) add(call.touches[t], w);
  }
  for (std::size_t e = 0; e < kEngines; ++e)
    EXPECT_EQ(next[e], work[e].size()) << "the calls do not explain engine " << e;
  return conflicts;
}

TEST(Hazards, OfRandomKernelsAreAllOrdered) {
  std::size_t conflicts = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    conflicts += expect_ordered(random_kernel(seed));
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
  EXPECT_GT(conflicts, 20'000u);
}

TEST(Hazards, TheCheckFindsAMissingWait) {
  // Without one of its waits a kernel is, in most cases, no longer ordered: the check above is not blind.
  std::size_t removed = 0;
  std::size_t found = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    RandomKernel kernel = random_kernel(seed);
    for (std::size_t e = 0; e < kEngines; ++e) {
      for (std::size_t i = 0; i < kernel.program.code[e].size(); i += 7) {
        Instruction& instruction = kernel.program.code[e][i];
        if (instruction.wait.condition == WaitCondition::None) continue;
        const SemaphoreWait wait = instruction.wait;
        instruction.wait = {};
        ++removed;
        testing::TestPartResultArray failures;
        {
          const testing::ScopedFakeTestPartResultReporter reporter(&failures);
          expect_ordered(kernel);
        }
        if (failures.size() > 0) ++found;
        instruction.wait = wait;
      }
    }
  }
  EXPECT_GT(removed, 50u);
  EXPECT_GT(found * 2, removed);
}

TEST(Hazards, GemmWaitsForNothingTwiceAndForNothingThatNeverComes) {
  for (const kernels::GemmTiling tiling : kernels::all_tilings()) {
    for (const kernels::GemmShape& shape : {kernels::GemmShape{1, 1, 1}, {129, 257, 513}, {300, 1500, 1100}}) {
      kernels::GemmOptions options;
      options.tiling = tiling;
      const nki::HbmTensor a{0, shape.k, shape.m, Format::Bf16, shape.m * 2};
      const nki::HbmTensor b{1 << 24, shape.k, shape.n, Format::Bf16, shape.n * 2};
      const nki::HbmTensor c{1 << 25, shape.m, shape.n, Format::Bf16, shape.n * 2};
      const Program program = kernels::record_gemm({0, 64 << 10, 16 << 10, 8}, shape, options, {a, b, c});
      EXPECT_TRUE(Order(program).complete()) << kernels::tiling_name(tiling);
    }
  }
}

}  // namespace
}  // namespace azulejo::test
