// SPDX-License-Identifier: Apache-2.0
#include "platforms/builder/twins.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tlm/common/error.h"
#include "tlm/cosim/rtl_library.h"
#include "tlm/isa/text.h"
#include "tlm/rounding/rounding_unit_model.h"
#include "tlm/tensor_engine/matmul_timing.h"
#include "tlm/tensor_engine/pe_array_model.h"

namespace azulejo {
namespace {

std::vector<RtlUnit> units_of(const std::string& core, const NeuronCoreConfig& config) {
  std::vector<RtlUnit> units;
  if (config.tensor_engine.pe != Fidelity::Tlm) {
    RtlUnit unit;
    unit.name = core + ".tensor_engine";
    unit.fidelity = config.tensor_engine.pe;
    unit.rows = config.tensor_engine.rows;
    unit.cols = config.tensor_engine.cols;
    units.push_back(unit);
  }
  if (config.vector_engine.rounding_unit != Fidelity::Tlm) {
    RtlUnit unit;
    unit.name = core + ".vector_engine";
    unit.fidelity = config.vector_engine.rounding_unit;
    unit.array = false;
    unit.random_source = config.vector_engine.random_source;
    units.push_back(unit);
  }
  return units;
}

bool has_module(const RtlUnit& unit, std::string_view module) {
  if (module == "lfsr_source") return !unit.array && unit.random_source == RandomSource::Lfsr;
  if (module == "xorwow_source") return !unit.array && unit.random_source == RandomSource::Xorwow;
  const bool rounds = module == "fp_encode" || module == "stochastic_rounding_unit";
  return unit.array != rounds;
}

bool has_fault(const RtlUnit& unit, const FaultPlace& fault) {
  if (fault.fault == nullptr || !has_module(unit, fault.fault->module)) return false;
  if (!fault.instance.empty() && fault.instance != unit.name) return false;
  return fault.row < 0 || (fault.row < static_cast<int>(unit.rows) && fault.col < static_cast<int>(unit.cols));
}

FaultPlace fault_of(const RtlUnit& unit, const TwinOptions& options) {
  return has_fault(unit, options.fault) ? options.fault : FaultPlace{};
}

// The library that a unit of a core comes from; faults cost speed, so only the units that have one can have any.
RtlParameters parameters_of(const RtlUnit& unit, const NeuronCoreConfig& config, const TwinOptions& options) {
  RtlParameters parameters;
  parameters.pipeline_stages = config.tensor_engine.pe_stages;
  parameters.flush_denormals = config.flush_denormals;
  parameters.faults = has_fault(unit, options.fault);
  if (unit.array) {
    parameters.pe_directory = options.pe_directory;
    parameters.pe_top = options.pe_top;
  }
  return parameters;
}

// What every case of a unit says of the RTL that ran it; a replay runs one unit, so its fault has no instance.
CosimCase case_of(const RtlUnit& unit, const NeuronCoreConfig& config, const TwinOptions& options) {
  CosimCase origin;
  origin.pipeline_stages = config.tensor_engine.pe_stages;
  origin.flush_denormals = config.flush_denormals;
  if (has_fault(unit, options.fault)) {
    origin.fault = std::string(options.fault.fault->name);
    if (options.fault.row >= 0) origin.fault += fmt::format("@pe_{}_{}", options.fault.row, options.fault.col);
  }
  if (unit.array) {
    origin.pe_directory = options.pe_directory;
    origin.pe_top = options.pe_top;
  }
  origin.note = options.origin.empty() ? unit.name : options.origin + ": " + unit.name;
  return origin;
}

// Keeps the operands of matmuls on their way into another array, until the run has enough of them.
class CapturingArray : public PeArray {
 public:
  CapturingArray(std::unique_ptr<PeArray> array, std::uint32_t rows, std::uint32_t cols, CosimCase origin,
                 std::size_t wanted, std::vector<CosimCase>& captured)
      : array_(std::move(array)),
        rows_(rows),
        cols_(cols),
        origin_(std::move(origin)),
        wanted_(wanted),
        captured_(captured) {}

  void load(const OperandTile& stationary, std::uint64_t cycle) override {
    if (captured_.size() < wanted_) {
      stationary_ = stationary;
      stationary_codes_ = read_tile_codes(stationary);
    }
    array_->load(stationary, cycle);
  }

  void multiply(const OperandTile& moving, const MatmulMode& mode, float* psum, std::size_t stride) override {
    if (captured_.size() < wanted_) {
      ArrayCase operation = capture(stationary_, moving, mode, psum, stride, rows_, cols_);
      operation.stationary = stationary_codes_;  // as they were when loaded
      captured_.push_back(origin_);
      captured_.back().operation = std::move(operation);
      captured_.back().note += fmt::format(", matmul {}", matmuls_);
    }
    ++matmuls_;
    array_->multiply(moving, mode, psum, stride);
  }

  std::uint32_t latency_cycles() const override { return array_->latency_cycles(); }

 private:
  std::unique_ptr<PeArray> array_;
  const std::uint32_t rows_;
  const std::uint32_t cols_;
  const CosimCase origin_;
  const std::size_t wanted_;
  std::vector<CosimCase>& captured_;
  OperandTile stationary_;
  std::vector<std::uint32_t> stationary_codes_;
  std::uint64_t matmuls_ = 0;
};

PeArrayModelConfig model_of(const NeuronCoreConfig& config) {
  return {config.tensor_engine.rows, config.tensor_engine.cols, config.tensor_engine.pe_stages, config.flush_denormals};
}

std::unique_ptr<ArrayWave> make_array_wave(const PeArrayRtlConfig& rtl, const NeuronCoreConfig& config,
                                           const RtlLibrary& library, const TwinOptions& options) {
  if (options.wave == nullptr) return nullptr;
  const rtl::PeTileAbi& tile = library.abi().tile;
  ArrayWaveConfig wave;
  wave.name = rtl.name;
  wave.tile_rows = rtl.rows / tile.rows;
  wave.tile_cols = rtl.cols / tile.cols;
  wave.clock_hz = config.tensor_engine.clock;
  if (options.wave_unit == rtl.name) {  // where sums go in, and where they leave
    const std::uint32_t col = options.wave_lane / tile.cols;
    wave.also = {fmt::format("tile_0_{}", col), fmt::format("tile_{}_{}", wave.tile_rows - 1, col),
                 fmt::format("drain_{}", col)};
  }
  std::string faulty;
  rtl::FaultSelect select;
  if (rtl.fault.fault != nullptr) {
    select.fault = rtl.fault.fault->id;
    if (rtl.fault.row >= 0) {
      const auto row = static_cast<std::uint32_t>(rtl.fault.row);
      const auto col = static_cast<std::uint32_t>(rtl.fault.col);
      select.row = static_cast<std::uint8_t>(row % tile.rows);
      select.col = static_cast<std::uint8_t>(col % tile.cols);
      faulty = fmt::format("tile_{}_{}", row / tile.rows, col / tile.cols);
      wave.also.push_back(faulty);
      wave.also.push_back(fmt::format("drain_{}", col / tile.cols));
    }
  }
  auto made = std::make_unique<ArrayWave>(*options.wave, wave, library.abi());
  if (select.fault != 0) made->select_fault(faulty, select);
  return made;
}

// Throws ConfigError: parameters of the RTL that disagree with the configuration, or a latency that its timing does not
// have.
std::unique_ptr<PeArrayRtl> make_verilated_array(const PeArrayRtlConfig& rtl, const NeuronCoreConfig& config,
                                                 const RtlLibrary& library) {
  std::vector<std::string> problems = validate(rtl, library, config.tensor_engine.pe_stages, config.flush_denormals);
  for (std::string& problem : problems) problem.insert(0, rtl.name + ": ");
  if (!problems.empty()) throw ConfigError(problems);

  auto array = std::make_unique<PeArrayRtl>(rtl, library, plain_context());
  const std::uint64_t expected = matmul_cycles(config.tensor_engine, 1, 1).drain;
  if (array->latency_cycles() != expected) {
    throw ConfigError(fmt::format(
        "{}.pe_stages: {} makes it {} cycles from a moving column's entry to PSUM, the RTL takes {} (its PE {}); set "
        "tensor_engine.pe_stages to the cycles of the PE",
        rtl.name, config.tensor_engine.pe_stages, expected, array->latency_cycles(), library.pe_latency_cycles()));
  }
  return array;
}

std::unique_ptr<PeArray> make_pe_array(Twins::Unit& unit, const NeuronCoreConfig& config, const RtlLibrary& library,
                                       const TwinOptions& options) {
  PeArrayRtlConfig rtl;
  rtl.name = unit.unit.name;
  rtl.rows = unit.unit.rows;
  rtl.cols = unit.unit.cols;
  rtl.fault = fault_of(unit.unit, options);
  auto model = std::make_unique<PeArrayModel>(model_of(config));
  switch (unit.unit.fidelity) {
    case Fidelity::Tlm:
      break;
    case Fidelity::Rtl: {
      auto verilated = make_verilated_array(rtl, config, library);
      unit.array_wave = make_array_wave(rtl, config, library, options);
      verilated->run_in_engine_time(unit.array_wave.get());
      unit.array = verilated.get();
      return verilated;
    }
    case Fidelity::Lockstep: {
      auto verilated = make_verilated_array(rtl, config, library);
      unit.array_wave = make_array_wave(rtl, config, library, options);
      verilated->run_in_engine_time(unit.array_wave.get());
      unit.array = verilated.get();
      return make_pe_array_lockstep(std::move(model), std::move(verilated), rtl, case_of(unit.unit, config, options),
                                    unit.log);
    }
  }
  return model;
}

std::unique_ptr<LaneWave> make_lane_wave(const RoundingUnitRtlConfig& rtl, const VectorEngineConfig& engine,
                                         const RtlLibrary& library, const TwinOptions& options) {
  if (options.wave == nullptr) return nullptr;
  LaneWaveConfig wave;
  wave.name = rtl.name;
  wave.lanes = kPartitions;
  if (options.wave_unit == rtl.name) wave.also = options.wave_lane;
  wave.clock_hz = engine.clock;
  if (rtl.fault.fault != nullptr) wave.fault.fault = rtl.fault.fault->id;
  const rtl::LibraryAbi& abi = library.abi();
  return std::make_unique<LaneWave>(*options.wave, wave,
                                    rtl.source == RandomSource::Xorwow ? abi.rounding_xorwow : abi.rounding_lfsr);
}

std::unique_ptr<RoundingUnit> make_rounding_unit(Twins::Unit& unit, const NeuronCoreConfig& config,
                                                 const RtlLibrary& library, const TwinOptions& options) {
  const VectorEngineConfig& engine = config.vector_engine;
  const RoundingUnitRtlConfig rtl{unit.unit.name, engine.random_source, fault_of(unit.unit, options)};
  auto model = std::make_unique<RoundingUnitModel>(engine.random_source, engine.seed,
                                                   static_cast<std::uint32_t>(EngineId::Vector));
  switch (unit.unit.fidelity) {
    case Fidelity::Tlm:
      break;
    case Fidelity::Rtl: {
      auto verilated = make_rounding_unit_rtl(rtl, library, plain_context(), *model);
      unit.lane_wave = make_lane_wave(rtl, engine, library, options);
      verilated->record(unit.lane_wave.get());
      unit.rounding_unit = verilated.get();
      return verilated;
    }
    case Fidelity::Lockstep: {
      auto verilated = make_rounding_unit_rtl(rtl, library, plain_context(), *model);
      unit.lane_wave = make_lane_wave(rtl, engine, library, options);
      verilated->record(unit.lane_wave.get());
      unit.rounding_unit = verilated.get();
      return make_rounding_unit_lockstep(std::move(model), std::move(verilated), engine.random_source, unit.unit.name,
                                         case_of(unit.unit, config, options), unit.log);
    }
  }
  return model;
}

}  // namespace

std::vector<RtlUnit> rtl_units(const PlatformConfig& config) {
  std::vector<RtlUnit> units;
  for (std::uint32_t chip = 0; chip < config.chips; ++chip) {
    for (std::uint32_t core = 0; core < config.chip.cores; ++core) {
      for (RtlUnit& unit : units_of(fmt::format("chip{}.nc{}", chip, core), core_config(config, chip, core))) {
        units.push_back(std::move(unit));
      }
    }
  }
  return units;
}

std::string fault_problem(const FaultPlace& fault, const std::vector<RtlUnit>& units) {
  constexpr std::size_t kShown = 8;
  if (fault.fault == nullptr) return {};
  if (units.empty()) return "no unit is in RTL; add --pe rtl or --pe lockstep";
  if (std::any_of(units.begin(), units.end(), [&](const RtlUnit& unit) { return has_fault(unit, fault); })) return {};
  std::vector<std::string_view> names;
  const RtlUnit* named = nullptr;
  for (const RtlUnit& unit : units) {
    if (unit.name == fault.instance) named = &unit;
    names.push_back(unit.name);
  }
  if (named == nullptr && !fault.instance.empty()) {
    const std::string hint = did_you_mean(fault.instance, names);
    const std::size_t more = names.size() - std::min(names.size(), kShown);
    names.resize(names.size() - more);
    return fmt::format("{} is no unit in RTL; in RTL: {}{}{}", quote_word(fault.instance), join_words(names),
                       more > 0 ? fmt::format(" and {} more", more) : "", hint);
  }
  const auto with_module = std::find_if(units.begin(), units.end(), [&](const RtlUnit& unit) {
    return has_module(unit, fault.fault->module) && (named == nullptr || named == &unit);
  });
  if (with_module == units.end()) {
    return fmt::format("the fault is in {}, and {}", fault.fault->module,
                       named != nullptr ? named->name + " has none" : "no unit in RTL has one");
  }
  return fmt::format("there is no pe_{}_{}; {} has pe_0_0 to pe_{}_{}", fault.row, fault.col, with_module->name,
                     with_module->rows - 1, with_module->cols - 1);
}

Twins::Unit::Unit(RtlUnit described, std::uint64_t clock_hz, const TwinOptions& options)
    : unit(std::move(described)), log([clock_hz, seen = options.on_difference](const Difference& difference) {
        Difference timed = difference;
        timed.time = Clock(clock_hz).edge(difference.engine_cycle);
        if (seen) seen(timed);
      }) {}

Twins::Twins(const std::vector<CorePlace>& cores, const TwinOptions& options) : built_(cores.size()) {
  std::vector<std::string> problems;
  const auto collect = [&](const auto& build) {
    try {
      build();
    } catch (const ConfigError& error) {
      for (const std::string& problem : error.problems()) {  // those of a library are the same for all of its units
        if (std::find(problems.begin(), problems.end(), problem) == problems.end()) problems.push_back(problem);
      }
    }
  };

  for (std::size_t c = 0; c < cores.size(); ++c) {
    const NeuronCoreConfig& config = cores[c].config;
    Built& built = built_[c];
    for (const RtlUnit& described : units_of(cores[c].name, config)) {
      collect([&] {
        const RtlLibrary& library = RtlLibrary::load(parameters_of(described, config, options), options.progress);
        const std::uint64_t clock_hz = described.array ? config.tensor_engine.clock : config.vector_engine.clock;
        units_.push_back(std::make_unique<Unit>(described, clock_hz, options));
        Unit& unit = *units_.back();
        if (described.array) {
          built.array = make_pe_array(unit, config, library, options);
          built.array_counts = [&unit] {
            return RtlCounts{unit.array->stats().cycles, unit.log.mismatches(), unit.log.newest_cycle()};
          };
        } else {
          built.rounding_unit = make_rounding_unit(unit, config, library, options);
          built.rounding_counts = [&unit] {
            return RtlCounts{unit.rounding_unit->cycles(), unit.log.mismatches(), unit.log.newest_cycle()};
          };
        }
      });
    }
    if (options.capture > 0) {
      if (!built.array) built.array = std::make_unique<PeArrayModel>(model_of(config));
      RtlUnit engine;
      engine.name = cores[c].name + ".tensor_engine";
      engine.rows = config.tensor_engine.rows;
      engine.cols = config.tensor_engine.cols;
      built.array = std::make_unique<CapturingArray>(std::move(built.array), engine.rows, engine.cols,
                                                     case_of(engine, config, options), options.capture, captured_);
    }
  }
  if (!problems.empty()) throw ConfigError(problems);
}

void Twins::install(std::size_t index, NeuronCore& core) {
  Built& built = built_[index];
  if (built.array) core.tensor_engine.set_array(std::move(built.array), std::move(built.array_counts));
  if (built.rounding_unit) {
    core.vector_engine.set_rounding_unit(std::move(built.rounding_unit), std::move(built.rounding_counts));
  }
}

std::uint64_t Twins::compared() const {
  std::uint64_t sum = 0;
  for (const auto& unit : units_) sum += unit->log.compared();
  return sum;
}

std::uint64_t Twins::mismatches() const {
  std::uint64_t sum = 0;
  for (const auto& unit : units_) sum += unit->log.mismatches();
  return sum;
}

std::uint64_t Twins::wave_differences() const {
  std::uint64_t sum = 0;
  for (const auto& unit : units_) {
    if (unit->array_wave) sum += unit->array_wave->differences();
  }
  return sum;
}

}  // namespace azulejo
