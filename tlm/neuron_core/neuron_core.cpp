// SPDX-License-Identifier: Apache-2.0
#include "tlm/neuron_core/neuron_core.h"

#include <algorithm>

#include "tlm/isa/address_map.h"

namespace azulejo {
namespace {

// The configuration of an engine with the core's rule for denormals.
template <class EngineConfiguration>
EngineConfiguration in_core(EngineConfiguration engine, const NeuronCoreConfig& core) {
  engine.flush_denormals = core.flush_denormals;
  return engine;
}

TensorEngineConfig tensor_engine_in(const NeuronCoreConfig& core) {
  TensorEngineConfig engine = in_core(core.tensor_engine, core);
  engine.takes_e4m3fn = core.generation == Generation::NeuronCoreV4;
  return engine;
}

}  // namespace

NeuronCore::NeuronCore(const sc_core::sc_module_name& name, const NeuronCoreConfig& config, std::uint32_t chip_core,
                       std::uint32_t first_initiator, bool keep_data, bool probes)
    : sc_module(name),
      tensor_engine("tensor_engine", tensor_engine_in(config)),
      vector_engine("vector_engine", in_core(config.vector_engine, config)),
      scalar_engine("scalar_engine", EngineId::Scalar, config.scalar_engine),
      gpsimd_engine("gpsimd_engine", EngineId::GpSimd, config.gpsimd_engine),
      sync_engine("sync_engine", EngineId::Sync, config.sync_engine),
      sbuf("sbuf", config.sbuf, MemorySpace::Sbuf, address_map::kSbufPartitionStride, keep_data),
      psum("psum", config.psum, MemorySpace::Psum, address_map::kPsumPartitionStride, keep_data),
      semaphores("semaphores"),
      dma("dma", config.dma, first_initiator, address_map::core_base(chip_core) + address_map::kSemaphoreReadOffset,
          keep_data),
      engines_{&tensor_engine, &vector_engine, &scalar_engine, &gpsimd_engine, &sync_engine},
      probes_(probes) {
  target.register_b_transport(this, &NeuronCore::b_transport);
  target.register_transport_dbg(this, &NeuronCore::transport_dbg);
  instr_target.register_b_transport(this, &NeuronCore::program_b_transport);

  for (std::size_t e = 0; e < kEngines; ++e) {
    program_initiators_[e].bind(engines_[e]->instr_target);
    engines_[e]->semaphores.bind(semaphores.waits);
    probes_.name_initiator(engines_[e]->basename());
    probes_.bind(engines_[e]->dma_initiator, dma.request_target, engines_[e]->dma_initiator);
  }
  probes_.bind(tensor_engine.sbuf_initiator, sbuf.engine_target, tensor_engine.sbuf_initiator);
  probes_.bind(tensor_engine.psum_initiator, psum.engine_target, tensor_engine.psum_initiator);
  probes_.bind(vector_engine.sbuf_initiator, sbuf.engine_target, vector_engine.sbuf_initiator);
  probes_.bind(vector_engine.psum_initiator, psum.engine_target, vector_engine.psum_initiator);
  sbuf_initiator_.bind(sbuf.dma_target);
  psum_initiator_.bind(psum.dma_target);
  semaphore_initiator_.bind(semaphores.target);

  using namespace address_map;
  windows_ = {{{&sbuf_initiator_, kSbufOffset, kPsumOffset - kSbufOffset},
               {&psum_initiator_, kPsumOffset, kPartitions * kPsumPartitionStride},
               {&semaphore_initiator_, kSemaphoreReadOffset, kSemaphoreBlockEnd - kSemaphoreReadOffset}}};
}

const NeuronCore::Window* NeuronCore::window_of(std::uint64_t address) const {
  for (const Window& window : windows_) {
    if (address >= window.base && address - window.base < window.size) return &window;
  }
  return nullptr;
}

void NeuronCore::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const std::uint64_t address = payload.get_address();
  const Window* window = window_of(address);
  if (window == nullptr) return payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
  payload.set_address(address - window->base);
  (*window->socket)->b_transport(payload, delay);
  payload.set_address(address);
}

unsigned int NeuronCore::transport_dbg(tlm::tlm_generic_payload& payload) {
  const std::uint64_t address = payload.get_address();
  const Window* window = window_of(address);
  if (window == nullptr) return 0;
  payload.set_address(address - window->base);
  const unsigned int bytes = (*window->socket)->transport_dbg(payload);
  payload.set_address(address);
  return bytes;
}

void NeuronCore::program_b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const std::uint64_t address = payload.get_address();
  const std::uint64_t engine = address >> kProgramBits;
  if (address == kStart && payload.is_write() && payload.get_data_length() == 4) {
    if (!finished()) return payload.set_response_status(tlm::TLM_COMMAND_ERROR_RESPONSE);
    for (Engine* e : engines_) e->start();
    return payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }
  if (engine >= kEngines) return payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
  payload.set_address(address & ((std::uint64_t{1} << kProgramBits) - 1));
  program_initiators_[engine]->b_transport(payload, delay);
  payload.set_address(address);
}

bool NeuronCore::has_program() const {
  return std::any_of(engines_.begin(), engines_.end(), [](const Engine* e) { return e->has_program(); });
}

bool NeuronCore::finished() const {
  return dma.idle() && std::all_of(engines_.begin(), engines_.end(), [](const Engine* e) { return e->finished(); });
}

std::vector<std::string> NeuronCore::waiting_for() const {
  std::vector<std::string> lines;
  for (const Engine* e : engines_) {
    std::string line = e->waiting_for();
    if (!line.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

void NeuronCore::attach(const Instruments& instruments) {
  for (Engine* e : engines_) e->attach(instruments);
  sbuf.attach(instruments);
  psum.attach(instruments);
  semaphores.attach(instruments);
  dma.attach(instruments);
  probes_.attach(*instruments.wave);
}

void NeuronCore::finish_account(Femtoseconds end) {
  for (Engine* e : engines_) e->finish_account(end);
  dma.finish_account(end);
}

}  // namespace azulejo
