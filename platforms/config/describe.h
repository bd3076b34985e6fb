// SPDX-License-Identifier: Apache-2.0
// Every key of a platform, once: its name, member, kind and meaning. Whoever reads, prints or lists a configuration is
// a visitor of these functions and has
//   integer(key, member, meaning), quantity(key, member, Quantity, meaning), flag(key, member, meaning),
//   text(key, member, meaning), word(key, member, words, meaning), word_groups(key, member, words, meaning),
//   group(key, part, meaning);
// and for the whole platform base(key, meaning) and overrides(key, member, meaning).
#pragma once

#include "platforms/config/platform_config.h"
#include "tlm/common/config_reader.h"
#include "tlm/common/fidelity.h"
#include "tlm/isa/opcode_table.h"

namespace azulejo {

inline const ConfigWords<Generation>& generation_words() {
  static const ConfigWords<Generation> kWords{{"neuron_core_v2", Generation::NeuronCoreV2},
                                              {"neuron_core_v3", Generation::NeuronCoreV3},
                                              {"neuron_core_v4", Generation::NeuronCoreV4}};
  return kWords;
}

inline const ConfigWords<Rounding>& rounding_words() {
  static const ConfigWords<Rounding> kWords{{"nearest_even", Rounding::NearestEven},
                                            {"stochastic", Rounding::Stochastic}};
  return kWords;
}

inline const ConfigWords<RandomSource>& random_source_words() {
  static const ConfigWords<RandomSource> kWords{{"lfsr", RandomSource::Lfsr}, {"xorwow", RandomSource::Xorwow}};
  return kWords;
}

inline const ConfigWords<Fidelity>& fidelity_words() {
  static const ConfigWords<Fidelity> kWords{
      {"tlm", Fidelity::Tlm}, {"rtl", Fidelity::Rtl}, {"lockstep", Fidelity::Lockstep}};
  return kWords;
}

inline const ConfigWords<EngineId>& engine_words() {
  static const ConfigWords<EngineId> kWords = [] {
    ConfigWords<EngineId> words;
    for (std::uint32_t e = 0; e < kEngines; ++e) {
      words.emplace_back(engine_name(static_cast<EngineId>(e)), static_cast<EngineId>(e));
    }
    return words;
  }();
  return kWords;
}

template <class V>
void describe(V& v, TensorEngineConfig& c) {
  v.quantity("clock", c.clock, Quantity::Frequency, "clock of the PE array and its sequencer");
  v.integer("rows", c.rows, "PEs along the contraction dimension K");
  v.integer("cols", c.cols, "PEs along the stationary free dimension M");
  v.integer("max_moving", c.max_moving, "largest moving free size N of one matmul");
  v.integer("matmul_start_cycles", c.matmul_start_cycles, "start of each matmul that nothing hides");
  v.integer("load_stationary_cycles", c.load_stationary_cycles, "weight load, behind the running matmul");
  v.integer("issue_cycles", c.issue_cycles, "cycles of each of the sequencer's own instructions");
  v.integer("pe_stages", c.pe_stages, "pipeline stages of one PE; a sum passes rows * pe_stages + cols cycles");
  v.word("pe", c.pe, fidelity_words(), "PE array: model, Verilated RTL, or both compared");
}

template <class V>
void describe(V& v, VectorEngineConfig& c) {
  v.quantity("clock", c.clock, Quantity::Frequency, "clock of the lanes and the sequencer");
  v.integer("min_cycles", c.min_cycles, "initiation interval of the shortest instruction");
  v.integer("access_latency_cycles", c.access_latency_cycles, "from the last element's issue to its visibility");
  v.integer("issue_cycles", c.issue_cycles, "cycles of each of the sequencer's own instructions");
  v.word("rounding", c.rounding, rounding_words(), "of outputs narrower than FP32");
  v.word("random_source", c.random_source, random_source_words(), "generator behind stochastic rounding and rng");
  v.word("rounding_unit", c.rounding_unit, fidelity_words(),
         "rounding of outputs: model, Verilated RTL, or both compared");
}

template <class V>
void describe(V& v, SyncEngineConfig& c) {
  v.quantity("clock", c.clock, Quantity::Frequency, "clock of the sequencer");
  v.integer("issue_cycles", c.issue_cycles, "cycles of each instruction");
}

template <class V>
void describe(V& v, PartitionedMemoryConfig& c) {
  v.integer("partitions", c.partitions, "partitions of the memory; the instruction set has 128");
  v.quantity("partition_size", c.partition_size, Quantity::Size, "bytes of one partition");
  v.integer("banks", c.banks, "banks of equal size within each partition; a matmul's result stays in one");
  v.word_groups("shared_ports", c.shared_ports, engine_words(),
                "groups of engines of which only one uses the memory at a time");
}

template <class V>
void describe(V& v, DmaConfig& c) {
  v.integer("engines", c.engines, "DMA engines of one core");
  v.integer("queues", c.queues, "queues of one DMA engine");
  v.quantity("bandwidth", c.bandwidth, Quantity::Bandwidth, "of one DMA engine");
  v.quantity("descriptor_time", c.descriptor_time, Quantity::Time,
             "shortest time between two descriptors of one DMA engine");
  v.quantity("start_latency", c.start_latency, Quantity::Time, "from the trigger to the first descriptor");
  v.integer("ring_entries", c.ring_entries, "descriptors that a queue's ring holds");
  v.integer("packet_descriptors", c.packet_descriptors, "descriptors served before the next queue's turn");
  v.integer("outstanding_packets", c.outstanding_packets, "reads ahead of, and writes behind, the one being moved");
}

template <class V>
void describe(V& v, HbmConfig& c) {
  v.quantity("capacity", c.capacity, Quantity::Size, "bytes of one stack");
  v.quantity("bandwidth", c.bandwidth, Quantity::Bandwidth, "of one stack, peak");
  v.quantity("access_size", c.access_size, Quantity::Size,
             "smallest access; shorter or misaligned ones cost whole accesses");
  v.quantity("latency", c.latency, Quantity::Time, "unloaded, from request to last byte of the first access");
}

template <class V>
void describe(V& v, NeuronCoreConfig& c) {
  v.word("generation", c.generation, generation_words(), "decides which FP8 formats the tensor engine takes");
  v.flag("flush_denormals", c.flush_denormals, "subnormal operands and results of the engines become zero");
  v.group("tensor_engine", c.tensor_engine, "the tensor engine");
  v.group("vector_engine", c.vector_engine, "the vector engine");
  v.group("scalar_engine", c.scalar_engine, "the scalar engine");
  v.group("gpsimd_engine", c.gpsimd_engine, "the GpSimd engine");
  v.group("sync_engine", c.sync_engine, "the sync engine");
  v.group("sbuf", c.sbuf, "the state buffer");
  v.group("psum", c.psum, "the partial-sum buffer");
  v.group("dma", c.dma, "the DMA engines of one core");
}

template <class V>
void describe(V& v, ChipConfig& c) {
  v.integer("cores", c.cores, "NeuronCores of one chip");
  v.integer("hbm_stacks", c.hbm_stacks, "HBM stacks of one chip");
  v.group("nc", c.nc, "every NeuronCore");
  v.group("hbm", c.hbm, "every HBM stack");
}

template <class V>
void describe(V& v, PlatformConfig& c) {
  v.text("name", c.name, "what reports call the platform; the file's name if not given");
  v.text("description", c.description, "one line for a list of platforms");
  v.base("base", "preset or file whose values this file starts from");
  v.integer("chips", c.chips, "chips of the platform");
  v.group("chip", c.chip, "every chip");
  v.overrides("overrides", c.overrides, "values of single instances, such as chip0.nc1.tensor_engine.clock: 1 GHz");
}

}  // namespace azulejo
