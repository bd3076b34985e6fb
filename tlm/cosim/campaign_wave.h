// SPDX-License-Identifier: Apache-2.0
// The waveform of a co-verification campaign: the RTL, as replicas of the units that ran (replica_clock.h), beside the
// outputs of its models, the stimulus and what differs.
//
// Time is the RTL cycles that the campaign has run so far, of whichever unit, on a nominal clock: the tensor engine's
// default one. Blocks of cycles follow each other in the order in which they ran; the clock of a unit stands while
// another one runs. A reset takes a cycle.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tlm/cosim/case.h"
#include "tlm/cosim/fault_table.h"
#include "tlm/cosim/lockstep.h"
#include "tlm/cosim/pe.h"
#include "tlm/cosim/pe_array_rtl.h"
#include "tlm/cosim/rtl_abi.h"
#include "tlm/cosim/rtl_library.h"
#include "tlm/wave/wave_file.h"

namespace azulejo {

class CampaignWave {
 public:
  // Ends a campaign from wherever it is, when enough() says so.
  struct Enough {};
  struct Mismatch {
    Femtoseconds time = 0;
    std::string unit;
    std::uint32_t lane = 0;  // as in Difference
  };
  // Where cycles lie to the window that is written.
  enum class Part : std::uint8_t { Before, Shown, After };

  // The time axis alone, to find what happens when. `several`: kinds of campaigns share the wave, and each has a scope.
  explicit CampaignWave(bool several);
  // Throws what WaveFile throws; sets `options.now`.
  CampaignWave(WaveOptions options, bool several);
  ~CampaignWave();
  CampaignWave(const CampaignWave&) = delete;
  CampaignWave& operator=(const CampaignWave&) = delete;

  // Called once, when everything is declared and nothing has run; may throw.
  std::function<void(const WaveFile&)> declared;
  // Asked after every block, may be empty. True: run() throws Enough.
  std::function<bool()> enough;
  // Column of the array that shows more than the corner's.
  std::optional<std::uint32_t> lane;

  WaveFile* file() const { return file_.get(); }  // null: the time axis alone
  WaveSink& sink() const { return file_ ? *file_ : WaveSink::none(); }
  // "model", or "cosim_pe.model" where several campaigns share the wave.
  std::string scope(std::string_view campaign, std::string_view name) const;

  // What campaigns share, made when it is first asked for. REQUIRES of a new one: nothing has run.
  template <class Unit, class... Arguments>
  Unit& unit(const std::string& key, Arguments&&... arguments) {
    std::shared_ptr<void>& made = units_[key];
    if (!made) made = std::make_shared<Unit>(*this, std::forward<Arguments>(arguments)...);
    return *static_cast<Unit*>(made.get());
  }
  void begin();

  const Clock& clock() const { return clock_; }
  std::uint64_t cycle() const { return cycle_; }  // that comes next
  Part part(std::uint64_t cycles) const;          // of the next ones
  void ran(std::uint64_t cycles);
  // Model and RTL differ in that cycle.
  void differs(const std::string& unit, std::uint32_t lane, std::uint64_t cycle);
  const std::optional<Mismatch>& first_mismatch() const { return mismatch_; }

  ArrayWave* keep(std::unique_ptr<ArrayWave> array);
  // ArrayWave::differences() of those kept.
  std::uint64_t replica_differences() const;
  void close();

 private:
  const Clock clock_;
  const bool several_;
  std::uint64_t cycle_ = 0;
  Femtoseconds from_ = 0;
  Femtoseconds to_ = 0;
  std::uint64_t failures_ = 0;  // rtl_failures() as of the last block
  bool begun_ = false;
  std::optional<Mismatch> mismatch_;
  std::unique_ptr<WaveFile> file_;
  std::map<std::string, std::shared_ptr<void>> units_;  // destroyed before the file
  std::vector<std::unique_ptr<ArrayWave>> arrays_;
};

// In the following, `suffix` tells units of a kind apart: "", "_2". Of a unit that the wave's scopes leave out nothing
// is made.

// One PE: `pe`, and `model`, `stimulus` and `compare`.
class PeWave {
 public:
  PeWave(CampaignWave& campaign, const RtlLibrary& library, const std::string& suffix);
  ~PeWave();

  // A block that ran from reset.
  void run(const std::vector<rtl::PeInputs>& inputs, const std::vector<rtl::PeOutputs>& model,
           const std::vector<rtl::PeOutputs>& rtl, const std::optional<PeMismatch>& mismatch, std::string_view group,
           const FaultPlace& fault);

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

// A cycle of one lane, with what its model gives.
struct RoundingCycle {
  rtl::RoundingInputs in;
  rtl::RoundingOutputs model;
  bool has_code = false;   // model.code counts
  std::uint32_t word = 0;  // drawn
  std::uint64_t conversion = 0;
  std::string what;  // the output that differs; empty: none
};

// "rounding_unit.lfsr", "rounding_unit.xorwow"
std::string rounding_unit_name(RandomSource source);

// One lane of a rounding unit: `rounding_unit.lfsr`, `model.lfsr` and so on.
class RoundingWave {
 public:
  RoundingWave(CampaignWave& campaign, const RtlLibrary& library, RandomSource source, const std::string& suffix);
  ~RoundingWave();

  // Cycles that ran on from those before, or from reset.
  void run(std::vector<RoundingCycle> cycles, bool from_reset, const FaultPlace& fault);

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

// What the handshake bench and matmuls on the array share.
struct ArraySignals {
  ArraySignals(CampaignWave& campaign, const std::string& suffix);
  void show(std::string_view name, std::uint64_t index, const ArrayCase& operation);

  WaveText phase;  // "handshakes", "matmuls"
  WaveSignal matmul;
  WaveText format;  // stationary and moving
  WaveText shape;   // K x M x N
  WaveSignal mismatches, expected, found;
  WaveText what;
};

// pe_array.sv as a whole: `pe_array` and `model`.
class HandshakeWave {
 public:
  HandshakeWave(CampaignWave& campaign, const RtlLibrary& library);
  ~HandshakeWave();

  struct Expected {
    bool psum_valid = false;
    bool ready = false;                   // for weights and activations
    const std::uint32_t* sums = nullptr;  // if they are valid
    std::uint64_t matmul = 0;
    const ArrayCase* operation = nullptr;  // that lives until flush()
  };
  struct Differing {
    std::string_view what;  // empty: nothing
    std::uint32_t model = 0, rtl = 0;
    std::uint32_t lane = 0;
  };
  void reset(const rtl::FaultSelect& fault);
  // A cycle as it was settled.
  void cycle(const rtl::PeArrayPins& pins, const Expected& expected, const Differing& differing);
  std::uint64_t next_cycle() const;  // of the campaign
  // Hands on what has been kept.
  void flush();

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

// Matmuls on a PeArrayRtl: tiles, edges and drains of `array` (array_wave.h).
class MatmulWave {
 public:
  MatmulWave(CampaignWave& campaign, const PeArrayRtlConfig& config, const RtlLibrary& library,
             const std::string& suffix);

  // `rtl` runs from now on; it outlives the matmuls.
  void attach(PeArrayRtl& rtl, const FaultPlace& fault);
  void begin(std::uint64_t matmul, const ArrayCase& operation, const LockstepLog& log);
  // It ran; `log` has what differed.
  void end(const LockstepLog& log);

 private:
  std::string faulty_tile(const FaultPlace& place) const;

  CampaignWave& campaign_;
  ArraySignals& signals_;
  ArrayWave* array_ = nullptr;  // null: not recorded
  const rtl::PeTileAbi& tile_;
  PeArrayRtl* rtl_ = nullptr;
  std::uint64_t cycles_ = 0;     // of rtl_, before the matmul
  std::size_t differences_ = 0;  // in the log, before the matmul
};

}  // namespace azulejo
