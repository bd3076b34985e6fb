// SPDX-License-Identifier: Apache-2.0
// Program memory, the semaphores' address block and the chip's address map, by loosely timed and debug accesses of the
// host.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/machine.h"
#include "tlm/isa/encoding.h"

namespace azulejo::test {
namespace {

constexpr std::uint64_t kCore0 = 0xFFF'C000'0000;  // core windows, 64 MiB each
constexpr std::uint64_t kCore1 = kCore0 + 0x400'0000;
constexpr std::uint64_t kSemaphores0 = 0x270'1000;  // in a core's window: read, set, increment, decrement
constexpr std::uint64_t kSet = 0x400, kIncrement = 0x800, kDecrement = 0xC00;

template <class Socket>
tlm::tlm_response_status access(Socket& socket, int binding, tlm::tlm_command command, std::uint64_t address,
                                void* data, unsigned bytes) {
  tlm::tlm_generic_payload payload;
  payload.set_command(command);
  payload.set_address(address);
  payload.set_data_ptr(static_cast<unsigned char*>(data));
  payload.set_data_length(bytes);
  payload.set_streaming_width(bytes);
  sc_core::sc_time delay;
  socket[binding]->b_transport(payload, delay);
  EXPECT_EQ(payload.get_address(), address) << "an interconnect gives the address back as it was";
  return payload.get_response_status();
}

TEST(ProgramMemory, TakesWholeInstructionsInOrderAndNothingElse) {
  Machine machine("trn1.2xlarge");
  auto& socket = machine.platform().host.program_initiator;
  std::vector<unsigned char> code(512);
  const EncodedInstruction nop = encode_instruction(Instruction{});
  std::memcpy(code.data(), nop.data(), 256);
  std::memcpy(code.data() + 256, nop.data(), 256);
  const std::uint64_t vector = NeuronCore::kStart / kEngines;  // engine 1
  EXPECT_EQ(access(socket, 0, tlm::TLM_WRITE_COMMAND, vector, code.data(), 255), tlm::TLM_BURST_ERROR_RESPONSE);
  EXPECT_EQ(access(socket, 0, tlm::TLM_WRITE_COMMAND, vector + 4, code.data(), 256), tlm::TLM_BURST_ERROR_RESPONSE);
  EXPECT_EQ(access(socket, 0, tlm::TLM_WRITE_COMMAND, vector + 256, code.data(), 256),
            tlm::TLM_ADDRESS_ERROR_RESPONSE);  // a gap
  EXPECT_EQ(access(socket, 0, tlm::TLM_READ_COMMAND, vector, code.data(), 256), tlm::TLM_COMMAND_ERROR_RESPONSE);
  EXPECT_EQ(access(socket, 0, tlm::TLM_WRITE_COMMAND, 7 * vector, code.data(), 256), tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_FALSE(machine.core(0).has_program());
  code[0] = 0xFF;  // no opcode
  EXPECT_EQ(access(socket, 0, tlm::TLM_WRITE_COMMAND, vector, code.data(), 256), tlm::TLM_GENERIC_ERROR_RESPONSE);
  code[0] = nop[0];
  EXPECT_EQ(access(socket, 0, tlm::TLM_WRITE_COMMAND, vector, code.data(), 512), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(access(socket, 0, tlm::TLM_WRITE_COMMAND, vector + 512, code.data(), 256), tlm::TLM_OK_RESPONSE);
  EXPECT_TRUE(machine.core(0).has_program());
  EXPECT_FALSE(machine.core(1).has_program());
  machine.platform().host.start(0);  // not loaded through the machine: started here
  EXPECT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_EQ(machine.core(0).vector_engine.engine_stats().instructions, 3u);
}

TEST(SemaphoreBlock, ReadsSetsAddsAndSubtractsByAddress) {
  Machine machine("trn1.2xlarge");
  auto& socket = machine.platform().host.memory_initiator;
  std::uint32_t word = 40;
  const std::uint64_t block = kCore1 + kSemaphores0;
  const auto write = [&](std::uint64_t alias, std::uint32_t semaphore, std::uint32_t value) {
    word = value;
    EXPECT_EQ(access(socket, 0, tlm::TLM_WRITE_COMMAND, block + alias + 4 * semaphore, &word, 4), tlm::TLM_OK_RESPONSE);
    EXPECT_EQ(machine.run(), RunEnd::Finished);  // updates take effect within the instant
  };
  write(kSet, 255, 40);
  EXPECT_EQ(machine.semaphore(255, 1), 40u);
  write(kIncrement, 255, 5);
  EXPECT_EQ(machine.semaphore(255, 1), 45u);
  write(kDecrement, 255, 46);
  EXPECT_EQ(machine.semaphore(255, 1), ~0u);
  EXPECT_EQ(machine.semaphore(255, 0), 0u);
  EXPECT_EQ(access(socket, 0, tlm::TLM_READ_COMMAND, block + 4 * 255, &word, 4), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(word, ~0u);
  EXPECT_EQ(machine.read<std::uint32_t>(block + 4 * 255, 1)[0], ~0u);  // by debug access
  EXPECT_EQ(access(socket, 0, tlm::TLM_WRITE_COMMAND, block, &word, 4), tlm::TLM_COMMAND_ERROR_RESPONSE);
  EXPECT_EQ(access(socket, 0, tlm::TLM_READ_COMMAND, block + 2, &word, 4), tlm::TLM_BURST_ERROR_RESPONSE);
  EXPECT_EQ(access(socket, 0, tlm::TLM_WRITE_COMMAND, block + kSet, &word, 2), tlm::TLM_BURST_ERROR_RESPONSE);
}

TEST(AddressMap, StacksAndCoresAreReachedAndHolesAreErrors) {
  Machine machine("trn1.2xlarge");
  auto& socket = machine.platform().host.memory_initiator;
  std::vector<std::uint8_t> data(64, 0x42);
  const std::uint64_t stack1 = 0x10'0000'0000;
  const std::uint64_t capacity = std::uint64_t{16} << 30;
  for (const std::uint64_t address :
       {std::uint64_t{0}, capacity - 64, stack1, stack1 + capacity - 64, kCore0, kCore0 + 127 * 0x4'0000,
        kCore0 + 0x200'0000, kCore1 + 0x200'0000 + 127 * 0x4000}) {
    EXPECT_EQ(access(socket, 0, tlm::TLM_WRITE_COMMAND, address, data.data(), 64), tlm::TLM_OK_RESPONSE)
        << std::hex << address;
    EXPECT_EQ(machine.read<std::uint8_t>(address, 64), data) << std::hex << address;
  }
  std::uint8_t byte = 0;
  for (const std::uint64_t address :
       {capacity, stack1 + capacity, 2 * stack1, kCore0 - 64, kCore0 + 192 * 1024, kCore0 + 0x220'0000,
        kCore0 + 0x270'0000, kCore1 + 0x400'0000, ~std::uint64_t{0} - 63}) {
    EXPECT_EQ(access(socket, 0, tlm::TLM_READ_COMMAND, address, data.data(), 64), tlm::TLM_ADDRESS_ERROR_RESPONSE)
        << std::hex << address;
    EXPECT_FALSE(machine.platform().host.read(0, address, &byte, 1)) << std::hex << address;
  }
}

TEST(AddressMap, WithoutDataNothingCanBeReadBack) {
  MachineOptions options;
  options.platform.keep_data = false;
  Machine machine("trn1.2xlarge", {}, options);
  std::uint8_t byte = 0;
  for (const std::uint64_t address : {std::uint64_t{0}, kCore0, kCore0 + 0x200'0000}) {
    EXPECT_FALSE(machine.platform().host.read(0, address, &byte, 1));
    EXPECT_FALSE(machine.platform().host.write(0, address, &byte, 1));
  }
}

}  // namespace
}  // namespace azulejo::test
