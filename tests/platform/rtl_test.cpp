// SPDX-License-Identifier: Apache-2.0
// RTL twins in a platform: the same bits and the same femtoseconds at every fidelity, lockstep that finds nothing in
// good RTL and a seeded fault in bad, and RTL that does not fit the configuration refused.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "sw/kernels/gemm.h"
#include "tests/support/machine.h"
#include "tlm/common/error.h"
#include "tlm/cosim/rtl_library.h"

namespace azulejo::test {
namespace {

const std::vector<std::string> kOneCore = {"chip.cores=1", "chip.hbm_stacks=1"};
const std::vector<std::string> kTwoCores = {"chip.cores=2", "chip.hbm_stacks=2"};

std::vector<std::string> with(std::vector<std::string> settings, const std::vector<std::string>& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

MachineOptions quiet() {
  MachineOptions options;
  options.spans = false;
  return options;
}

// Values around 1 in every format, and now and then any code at all: subnormals, infinities and NaNs too.
std::vector<std::uint8_t> operand(Format format, std::uint64_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    const std::uint64_t word = random();
    value = static_cast<float>(static_cast<std::int32_t>(word)) * (format == Format::Int8 ? 0x1p-24F : 0x1p-31F);
  }
  const std::size_t element = storage_bytes(format, 1);
  std::vector<std::uint8_t> bytes(count * element);
  encode_row(format, values.data(), bytes.data(), count);
  for (std::uint64_t i = 0; i < count / 400; ++i) {
    const std::uint64_t at = random() % count;
    for (std::size_t b = 0; b < element; ++b) bytes[at * element + b] = static_cast<std::uint8_t>(random());
  }
  return bytes;
}

// C of a gemm on each of the first `cores` cores, as hexadecimal text.
std::string run_gemm(Machine& machine, Format type, const kernels::GemmShape& shape, std::uint32_t cores) {
  const NeuronCoreConfig& nc = machine.platform().config().chip.nc;
  kernels::GemmOptions options;
  options.type = type;
  options.out_type = Format::Fp32;
  std::vector<kernels::GemmTensors> tensors;
  HbmAllocator stack(0, machine.platform().config().chip.hbm.capacity);
  for (std::uint32_t core = 0; core < cores; ++core) {
    kernels::GemmTensors t;
    t.a = stack.tensor("A", shape.k, shape.m, type);
    t.b = stack.tensor("B", shape.k, shape.n, type);
    t.c = stack.tensor("C", shape.m, shape.n, options.out_type);
    machine.write(t.a.address, operand(type, shape.k * shape.m, 1));
    machine.write(t.b.address, operand(type, shape.k * shape.n, 2));
    const nki::Target target{core, nc.sbuf.partition_size, nc.psum.partition_size, nc.psum.banks};
    machine.load(kernels::record_gemm(target, shape, options, t), core);
    tensors.push_back(t);
  }
  EXPECT_EQ(machine.run(), RunEnd::Finished);
  EXPECT_TRUE(machine.faults().empty());
  std::string text;
  for (const kernels::GemmTensors& t : tensors) {
    for (const std::uint32_t bits : machine.read<std::uint32_t>(t.c.address, shape.m * shape.n)) {
      text += fmt::format("{:08x} ", bits);
    }
    text += '\n';
  }
  return text;
}

// A gemm at one fidelity, in a process of its own: values, and everything that the platform counted.
std::string gemm_outcome(const std::string& fidelity, Format type, const kernels::GemmShape& shape) {
  return in_child([&] {
    Machine machine("trn1.2xlarge", with(kOneCore, {"tensor_engine.pe=" + fidelity, "rounding_unit=" + fidelity}),
                    quiet());
    std::string text = run_gemm(machine, type, shape, 1) + statistics(machine);
    const Twins& twins = machine.platform().twins();
    EXPECT_EQ(twins.units().size(), fidelity == "tlm" ? 0u : 2u);
    EXPECT_EQ(twins.compared() > 0, fidelity == "lockstep");
    EXPECT_EQ(twins.mismatches(), 0u);
    for (const auto& unit : twins.units()) {
      if (unit->array != nullptr) {
        EXPECT_GE(unit->array->stats().pe_cycles, shape.m * shape.k * shape.n);
      }
    }
    return text;
  });
}

class RtlFormats : public testing::TestWithParam<Format> {};

TEST_P(RtlFormats, AGemmHasTheSameBitsAndTimesAtEveryFidelity) {
  const kernels::GemmShape shape{20, 130, 24};  // two K tiles, the second of two rows
  const std::string model = gemm_outcome("tlm", GetParam(), shape);
  ASSERT_FALSE(model.empty());
  EXPECT_EQ(gemm_outcome("rtl", GetParam(), shape), model);
  EXPECT_EQ(gemm_outcome("lockstep", GetParam(), shape), model);
}

INSTANTIATE_TEST_SUITE_P(Formats, RtlFormats,
                         testing::Values(Format::Bf16, Format::Fp16, Format::Fp32, Format::Tf32, Format::E4M3,
                                         Format::E5M2, Format::E3M4, Format::Int8),
                         [](const auto& parameter) { return std::string(spec(parameter.param).name); });

TEST(Rtl, OneInstanceInRtlComputesWhatTheOthersDo) {
  Machine machine("trn1.2xlarge", with(kTwoCores, {"chip0.nc1.tensor_engine.pe=rtl"}), quiet());
  const std::string text = run_gemm(machine, Format::Bf16, {30, 40, 50}, 2);
  const auto& units = machine.platform().twins().units();
  ASSERT_EQ(units.size(), 1u);
  EXPECT_EQ(units[0]->unit.name, "chip0.nc1.tensor_engine");
  EXPECT_EQ(units[0]->array->stats().pe_cycles, 30u * 40u * 50u);
  const std::size_t half = text.find('\n') + 1;
  EXPECT_EQ(text.substr(0, half), text.substr(half));
}

TEST(Rtl, TheLatencyOfTheArrayIsThatOfTheTiming) {
  Machine machine("trn1.2xlarge", with(kOneCore, {"rows=32", "cols=16", "pe=rtl"}), quiet());
  EXPECT_EQ(machine.platform().twins().units().at(0)->array->latency_cycles(), 32u + 16u);
}

TEST(Rtl, ASeededFaultLandsInPsumAndLockstepReportsIt) {
  const auto run = [](const std::string& fidelity, const std::string& fault) {
    return in_child([&] {
      MachineOptions options = quiet();
      if (!fault.empty()) options.platform.twins.fault = parse_fault(fault);
      std::vector<Difference> reported;
      options.platform.twins.on_difference = [&](const Difference& difference) { reported.push_back(difference); };
      Machine machine("trn1.2xlarge", with(kOneCore, {"tensor_engine.pe=" + fidelity}), options);
      const std::string text = run_gemm(machine, Format::Bf16, {10, 60, 20}, 1);
      EXPECT_EQ(reported.size(), fidelity == "lockstep" && !fault.empty() ? 1u : 0u);
      if (reported.empty()) return text;
      const Difference& first = reported[0];
      EXPECT_EQ(first.unit, "chip0.nc0.tensor_engine");
      EXPECT_EQ(first.operation, 0u);
      EXPECT_NE(first.model, first.rtl);
      EXPECT_EQ(first.reproducer.fault, fault.substr(0, fault.find('@')));
      const auto& operation = std::get<ArrayCase>(first.reproducer.operation);
      EXPECT_EQ((std::vector<std::uint32_t>{operation.k, operation.m, operation.n}),
                (std::vector<std::uint32_t>{60, 10, 20}));
      EXPECT_GT(machine.platform().twins().mismatches(), 0u);
      EXPECT_LE(machine.platform().twins().mismatches(), machine.platform().twins().compared());
      EXPECT_EQ(machine.platform().twins().compared(), 10u * 20u);
      return text;
    });
  };
  const std::string good = run("tlm", "");
  const std::string fault = "round_truncates@chip0.nc0.tensor_engine";
  EXPECT_NE(run("rtl", fault), good);
  EXPECT_EQ(run("lockstep", fault), good) << "the model's bits are the result";
  EXPECT_EQ(run("lockstep", ""), good);
}

TEST(Rtl, AFaultOfOnePeDamagesItsColumnOnly) {
  MachineOptions options = quiet();
  options.platform.twins.fault = parse_fault("multiply_exponent_off_by_one@chip0.nc1.tensor_engine.pe_3_7");
  Machine machine("trn1.2xlarge", with(kTwoCores, {"pe=lockstep"}), options);
  run_gemm(machine, Format::Bf16, {16, 16, 16}, 2);
  const auto& units = machine.platform().twins().units();
  ASSERT_EQ(units.size(), 2u);
  EXPECT_EQ(units[0]->log.mismatches(), 0u);
  EXPECT_EQ(units[1]->log.mismatches(), 16u);  // the row of the result that column 7 makes
  ASSERT_FALSE(units[1]->log.differences().empty());
  EXPECT_NE(units[1]->log.differences()[0].place.find("row 7"), std::string::npos);
  EXPECT_EQ(units[1]->log.differences()[0].reproducer.fault, "multiply_exponent_off_by_one@pe_3_7");
}

// Conversions of random values to every narrower format, nearest and stochastic, and their codes.
std::string rounding_outcome(const std::string& source, const std::string& fidelity, const std::string& fault = {}) {
  return in_child([&] {
    MachineOptions options = quiet();
    options.platform.seed = 5;
    if (!fault.empty()) options.platform.twins.fault = parse_fault(fault);
    Machine machine("trn1.2xlarge",
                    with(kOneCore, {"random_source=" + source, "vector_engine.rounding_unit=" + fidelity}), options);
    constexpr std::uint32_t kCount = 40;
    for (std::uint32_t p = 0; p < 128; ++p) {
      machine.write(address_map::sbuf(0, p, 0), operand(Format::Fp32, kCount, p + 1));
    }
    const std::vector<std::string> formats = {"bf16", "fp16", "tf32", "e4m3", "e5m2", "e3m4", "int8", "uint16"};
    std::string program = ".engine vector\n";
    std::uint32_t offset = 4096;
    for (const std::string& format : formats) {
      for (const std::string flags : {"", ", stochastic", ", stochastic, saturate"}) {
        program += fmt::format("  tensor_copy dst=sbuf[0:128, {}] {} <{}>, src=sbuf[0:128, 0] fp32 <{}>{}\n", offset,
                               format, kCount, kCount, flags);
        offset += 256;
      }
    }
    machine.load(program);
    EXPECT_EQ(machine.run(), RunEnd::Finished);
    EXPECT_TRUE(machine.faults().empty());
    const Twins& twins = machine.platform().twins();
    EXPECT_EQ(twins.compared(), fidelity == "lockstep" ? formats.size() * 3 * 128 * kCount : 0u);
    EXPECT_EQ(twins.mismatches() > 0, fidelity == "lockstep" && !fault.empty());
    std::string text = statistics(machine);
    for (std::uint32_t p = 0; p < 128; ++p) {
      for (const std::uint8_t byte : machine.read<std::uint8_t>(address_map::sbuf(0, p, 4096), offset - 4096)) {
        text += fmt::format("{:02x}", byte);
      }
      text += fmt::format(" {:08x}\n", fmt::join(machine.core().vector_engine.rounding_unit().state(p), " "));
    }
    return text;
  });
}

TEST(Rtl, RoundingAndItsRandomStateAreTheSameAtEveryFidelity) {
  for (const std::string source : {"lfsr", "xorwow"}) {
    const std::string model = rounding_outcome(source, "tlm");
    ASSERT_FALSE(model.empty());
    EXPECT_EQ(rounding_outcome(source, "rtl"), model) << source;
    EXPECT_EQ(rounding_outcome(source, "lockstep"), model) << source;
    const std::string fault = source == "lfsr" ? "lfsr_tap_wrong" : "xorwow_shift_wrong";
    EXPECT_NE(rounding_outcome(source, "rtl", fault), model) << source;
    EXPECT_EQ(rounding_outcome(source, "lockstep", fault), model) << source;
  }
}

TEST(Rtl, SizesThatTilesCannotMakeAreRefusedWithAllInstances) {
  const auto problems = [](const std::vector<std::string>& settings) {
    const PlatformConfig config = load_platform("trn1.2xlarge", settings);
    try {
      Platform platform(config, {});
    } catch (const ConfigError& error) {
      return error.problems();
    }
    return std::vector<std::string>{};
  };
  const std::vector<std::string> found = problems({"pe=lockstep", "rows=99", "chip0.nc1.tensor_engine.cols=97"});
  std::string text;
  for (const std::string& problem : found) text += problem + "\n";
  EXPECT_NE(text.find("chip0.nc0.tensor_engine: "), std::string::npos) << text;
  EXPECT_NE(text.find("chip0.nc1.tensor_engine: "), std::string::npos) << text;
  EXPECT_NE(text.find("99"), std::string::npos) << text;
  EXPECT_NE(text.find("97"), std::string::npos) << text;
}

TEST(Rtl, AParameterThatDisagreesIsNamedWithBothValues) {
  const RtlLibrary& library = RtlLibrary::load({});
  PeArrayRtlConfig array;
  array.name = "chip0.nc0.tensor_engine";
  EXPECT_TRUE(validate(array, library, 1, false).empty());
  const std::vector<std::string> stages = validate(array, library, 2, false);
  ASSERT_EQ(stages.size(), 1u);
  EXPECT_NE(stages[0].find('1'), std::string::npos) << stages[0];
  EXPECT_NE(stages[0].find('2'), std::string::npos) << stages[0];
  EXPECT_EQ(validate(array, library, 1, true).size(), 1u);
  EXPECT_EQ(validate(array, library, 3, true).size(), 2u);
}

TEST(Rtl, WithoutDataNothingIsLoaded) {
  MachineOptions options = quiet();
  options.platform.keep_data = false;
  Machine machine("trn1.2xlarge", with(kOneCore, {"pe=lockstep", "rounding_unit=rtl"}), options);
  EXPECT_TRUE(machine.platform().twins().units().empty());
}

TEST(Rtl, CapturedOperandsAreThoseOfTheLoad) {
  MachineOptions options = quiet();
  options.platform.twins.capture = 2;
  options.platform.twins.origin = "a test";
  Machine machine("trn1.2xlarge", kOneCore, options);
  machine.write(address_map::sbuf(0, 0, 0), std::vector<std::uint16_t>{0x3F80, 0x4000, 0x4040});
  machine.write(address_map::sbuf(0, 1, 0), std::vector<std::uint16_t>{0xBF80, 0xC000, 0xC040});
  machine.write(address_map::sbuf(0, 0, 4096), std::vector<std::uint16_t>{0x3F80, 0x4000});
  machine.write(address_map::sbuf(0, 1, 4096), std::vector<std::uint16_t>{0x3F00, 0x3E80});
  machine.load(R"(.engine tensor
  load_stationary stationary=sbuf[0:2, 0] bf16 <3>  inc s0 at_read
  nc_matmul dst=psum[0:3, 0] fp32 <2>, moving=sbuf[0:2, 4096] bf16 <2>  wait s1 >= 1
  nc_matmul dst=psum[0:3, 0] fp32 <2>, moving=sbuf[0:2, 4096] bf16 <2>, accumulate
  nc_matmul dst=psum[0:3, 2048] fp32 <2>, moving=sbuf[0:2, 4096] bf16 <2>
.engine vector
  memset dst=sbuf[0:2, 0] bf16 <3>, value=0.0  wait s0 >= 1 inc s1
)");
  ASSERT_EQ(machine.run(), RunEnd::Finished);
  for (const Fault& fault : machine.faults()) ADD_FAILURE() << fault.text << ": " << fault.message;
  EXPECT_EQ(machine.read<std::uint16_t>(address_map::sbuf(0, 0, 0), 3), (std::vector<std::uint16_t>{0, 0, 0}));
  const std::vector<CosimCase>& captured = machine.platform().twins().captured();
  ASSERT_EQ(captured.size(), 2u);
  const auto& first = std::get<ArrayCase>(captured[0].operation);
  EXPECT_EQ(first.stationary, (std::vector<std::uint32_t>{0x3F80, 0x4000, 0x4040, 0xBF80, 0xC000, 0xC040}));
  EXPECT_EQ(first.moving, (std::vector<std::uint32_t>{0x3F80, 0x4000, 0x3F00, 0x3E80}));
  EXPECT_TRUE(first.psum.empty());
  EXPECT_EQ(captured[0].note, "a test: chip0.nc0.tensor_engine, matmul 0");
  const auto& second = std::get<ArrayCase>(captured[1].operation);
  EXPECT_TRUE(second.accumulate);
  EXPECT_EQ(second.stationary, first.stationary);
  ASSERT_EQ(second.psum.size(), 6u);
  EXPECT_EQ(second.psum[0], 0x3F000000u);  // 1 * 1 - 1 * 0.5
  EXPECT_EQ(second.psum[1], 0x3FE00000u);  // 1 * 2 - 1 * 0.25
}

TEST(Rtl, AFaultMustBeInAUnitThatThereIs) {
  const auto problem = [](const std::string& fault, const std::vector<std::string>& settings) {
    return fault_problem(parse_fault(fault), rtl_units(load_platform("trn1.2xlarge", settings)));
  };
  const std::vector<std::string> array = {"chip0.nc1.tensor_engine.pe=rtl"};
  const std::vector<std::string> both = {"pe=lockstep", "rounding_unit=lockstep", "chip0.nc1.rows=64"};
  EXPECT_EQ(problem("round_truncates", array), "");
  EXPECT_EQ(problem("round_truncates@chip0.nc1.tensor_engine", array), "");
  EXPECT_EQ(problem("encode_tie_away", both), "");
  EXPECT_EQ(problem("lfsr_tap_wrong@chip0.nc1.vector_engine", both), "");
  EXPECT_EQ(problem("round_truncates@pe_100_0", both), "");
  EXPECT_EQ(problem("round_truncates", {}), "no unit is in RTL; add --pe rtl or --pe lockstep");
  EXPECT_EQ(problem("round_truncates@chip0.nc0.tensor_engine", array),
            "'chip0.nc0.tensor_engine' is no unit in RTL; in RTL: chip0.nc1.tensor_engine; did you mean "
            "'chip0.nc1.tensor_engine'?");
  EXPECT_EQ(problem("encode_tie_away", array), "the fault is in fp_encode, and no unit in RTL has one");
  EXPECT_EQ(problem("encode_tie_away@chip0.nc0.tensor_engine", both),
            "the fault is in fp_encode, and chip0.nc0.tensor_engine has none");
  EXPECT_EQ(problem("xorwow_shift_wrong", both), "the fault is in xorwow_source, and no unit in RTL has one");
  EXPECT_EQ(problem("round_truncates@chip0.nc1.tensor_engine.pe_64_0", both),
            "there is no pe_64_0; chip0.nc1.tensor_engine has pe_0_0 to pe_63_127");
}

}  // namespace
}  // namespace azulejo::test
