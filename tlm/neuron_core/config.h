// SPDX-License-Identifier: Apache-2.0
// Configuration of one NeuronCore.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tlm/dma/config.h"
#include "tlm/memory/config.h"
#include "tlm/sync_engine/config.h"
#include "tlm/tensor_engine/config.h"
#include "tlm/vector_engine/config.h"

namespace azulejo {

enum class Generation : std::uint8_t { NeuronCoreV2, NeuronCoreV3, NeuronCoreV4 };

struct NeuronCoreConfig {
  Generation generation = Generation::NeuronCoreV2;
  bool flush_denormals = false;  // of every engine; the engines' own member follows it
  TensorEngineConfig tensor_engine;
  VectorEngineConfig vector_engine;
  SyncEngineConfig scalar_engine;  // Scalar and GpSimd run the sequencer's and the DMA's instructions
  SyncEngineConfig gpsimd_engine;
  SyncEngineConfig sync_engine;
  PartitionedMemoryConfig sbuf{kPartitions, 192 * 1024, 1, {{EngineId::Vector, EngineId::GpSimd}}};
  PartitionedMemoryConfig psum{kPartitions, 16 * 1024, 8, {{EngineId::Vector, EngineId::Scalar}}};
  DmaConfig dma;
};

std::vector<std::string> validate(const NeuronCoreConfig& config);

}  // namespace azulejo
