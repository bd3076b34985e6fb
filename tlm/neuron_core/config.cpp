// SPDX-License-Identifier: Apache-2.0
#include "tlm/neuron_core/config.h"

#include "tlm/common/error.h"
#include "tlm/common/units.h"

namespace azulejo {

std::vector<std::string> validate(const NeuronCoreConfig& config) {
  std::vector<std::string> problems;
  add_problems(problems, "tensor_engine", validate(config.tensor_engine));
  add_problems(problems, "vector_engine", validate(config.vector_engine));
  add_problems(problems, "scalar_engine", validate(config.scalar_engine));
  add_problems(problems, "gpsimd_engine", validate(config.gpsimd_engine));
  add_problems(problems, "sync_engine", validate(config.sync_engine));
  add_problems(problems, "sbuf", validate(config.sbuf));
  add_problems(problems, "psum", validate(config.psum));
  add_problems(problems, "dma", validate(config.dma));

  const std::uint64_t row = std::uint64_t{config.tensor_engine.max_moving} * sizeof(float);
  if (row > config.psum.partition_size) {
    problems.push_back("tensor_engine.max_moving: " + std::to_string(config.tensor_engine.max_moving) +
                       " FP32 results do not fit into a PSUM partition of " +
                       format_quantity(Quantity::Size, config.psum.partition_size));
  }
  return problems;
}

}  // namespace azulejo
