// SPDX-License-Identifier: Apache-2.0
#include "tlm/common/transaction_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "tlm/common/tile_access.h"
#include "tlm/isa/opcode_table.h"

namespace azulejo {
namespace {

constexpr unsigned kPhaseCharacters = 12;
constexpr unsigned kCompletedCharacters = 64;

// Composes a text in `room` characters; it ends before the first number, or within the first word, that does not fit.
class Composer {
 public:
  Composer(char* begin, std::size_t room) : begin_(begin), to_(begin), end_(begin + room) {}

  Composer& text(std::string_view text) {
    to_ += text.copy(to_, static_cast<std::size_t>(end_ - to_));
    return *this;
  }
  Composer& number(std::uint64_t value, int base = 10) {
    const auto [to, error] = std::to_chars(to_, end_, value, base);
    if (error == std::errc()) {
      to_ = to;
    } else {
      end_ = to_;
    }
    return *this;
  }
  Composer& address(std::uint64_t value) { return text("0x").number(value, 16); }
  // One decimal, rounded down, of a unit in which the time is at least 1; exact below 1 ps.
  Composer& time(Femtoseconds time) {
    if (time == 0) return text("0 s");
    if (time < 1'000) return number(time).text(" fs");
    static constexpr std::array<std::string_view, 5> kUnits = {" ps", " ns", " us", " ms", " s"};
    Femtoseconds unit = 1'000;
    std::size_t index = 0;
    for (; index + 1 < kUnits.size() && time / unit >= 1'000; ++index) unit *= 1'000;
    const Femtoseconds tenths = time / (unit / 10);
    return number(tenths / 10).text(".").number(tenths % 10).text(kUnits[index]);
  }
  std::size_t size() const { return static_cast<std::size_t>(to_ - begin_); }
  std::string_view composed() const { return {begin_, size()}; }

 private:
  char* begin_;
  char* to_;
  char* end_;
};

std::string_view error_word(tlm::tlm_response_status status) {
  switch (status) {
    case tlm::TLM_OK_RESPONSE:
      return "";
    case tlm::TLM_INCOMPLETE_RESPONSE:
      return " INCOMPLETE";
    case tlm::TLM_GENERIC_ERROR_RESPONSE:
      return " ERROR";
    case tlm::TLM_ADDRESS_ERROR_RESPONSE:
      return " ADDRESS_ERROR";
    case tlm::TLM_COMMAND_ERROR_RESPONSE:
      return " COMMAND_ERROR";
    case tlm::TLM_BURST_ERROR_RESPONSE:
      return " BURST_ERROR";
    case tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE:
      return " BYTE_ENABLE_ERROR";
  }
  return "";
}

std::string_view command_word(tlm::tlm_command command) {
  return command == tlm::TLM_READ_COMMAND ? "RD" : command == tlm::TLM_WRITE_COMMAND ? "WR" : "IGNORE";
}

std::string_view role_word(TileRole role) {
  switch (role) {
    case TileRole::Read:
      return "RD";
    case TileRole::Write:
    case TileRole::MatmulWrite:
      return "WR";
    case TileRole::MatmulAccumulate:
      return "ACC";
  }
  return "";
}

void show(WaveText& signal, std::string_view value, Femtoseconds time) {
  if (time > now_fs()) {
    signal.at(time, value);
  } else {
    signal = value;
  }
}

}  // namespace

TransactionProbe::TransactionProbe(const sc_core::sc_module_name& name, std::string watched,
                                   const std::vector<std::string>& initiators)
    : sc_module(name), watched_(std::move(watched)), initiators_(initiators) {
  target.bind(static_cast<tlm::tlm_fw_transport_if<>&>(*this));
  initiator.bind(static_cast<tlm::tlm_bw_transport_if<>&>(*this));
}

void TransactionProbe::attach(WaveSink& sink) {
  texts_ = false;
  for (unsigned i = 0; i < kLanes; ++i) {
    Lane& lane = lanes_[i];
    lane.text = WaveText(sink, watched_, fmt::format("lane{}", i), kTextCharacters);
    lane.phase = WaveText(sink, watched_, fmt::format("lane{}_phase", i), kPhaseCharacters);
    texts_ = texts_ || lane.text.recorded() || lane.phase.recorded();
  }
  wave_completed_ = WaveText(sink, watched_, "completed", kCompletedCharacters);
  texts_ = texts_ || wave_completed_.recorded();
  wave_transactions_ = WaveSignal(sink, watched_, "transactions", 32);
  wave_outstanding_ = WaveSignal(sink, watched_, "outstanding", 16);
  wave_dmi_accesses_ = WaveSignal(sink, watched_, "dmi_accesses", 32);
  wave_dmi_grants_ = WaveSignal(sink, watched_, "dmi_grants", 16);
  wave_dmi_ = WaveText(sink, watched_, "dmi", kTextCharacters);
  recorded_ = texts_ || wave_transactions_.recorded() || wave_outstanding_.recorded() ||
              wave_dmi_accesses_.recorded() || wave_dmi_grants_.recorded() || wave_dmi_.recorded();
}

void TransactionProbe::describe(const tlm::tlm_generic_payload& payload, Text& text) const {
  const TileAccess* tiles = nullptr;
  const StridedBurst* burst = nullptr;
  const RequestKey* key = nullptr;
  payload.get_extension(tiles);
  payload.get_extension(burst);
  payload.get_extension(key);
  Composer to(text.characters.data(), kTextCharacters);
  if (tiles != nullptr && tiles->count > 0) {
    const TileAccess::Tile& tile = tiles->tiles[0];
    const TensorAccess& access = *tile.access;
    to.text("DMI ").text(role_word(tile.role)).text(access.space == MemorySpace::Psum ? " psum p" : " sbuf p");
    to.number(access.start_partition).text("-");
    to.number(std::uint32_t{access.start_partition} + std::max<std::uint32_t>(access.partitions, 1) - 1).text(" ");
    to.address(tile.offset_bytes).text(" ").number(storage_bytes(access.format, access.free_size())).text(" B");
    if (tiles->count > 1) to.text(" +").number(tiles->count - 1);
  } else {
    to.text(command_word(payload.get_command())).text(" ").address(payload.get_address()).text(" ");
    if (burst != nullptr && burst->rows > 1) {
      to.number(burst->rows).text(" x ").number(burst->row_bytes).text(" B");
    } else {
      to.number(payload.get_data_length()).text(" B");
    }
  }
  if (key != nullptr && key->initiator < initiators_.size()) to.text(" ").text(initiators_[key->initiator]);
  text.size = to.size();
}

TransactionProbe::Transaction TransactionProbe::begin(const tlm::tlm_generic_payload& payload, Femtoseconds time,
                                                      const char* phase) {
  Transaction transaction;
  transaction.number = ++begun_;
  transaction.payload = &payload;
  transaction.begin = time;
  transaction.first_phase = phase;
  const TileAccess* tiles = nullptr;
  payload.get_extension(tiles);
  if (tiles != nullptr) {
    transaction.tiles = tiles->count;
    transaction.occupancy = tiles->occupancy;
  }
  if (texts_) describe(payload, transaction.text);
  wave_transactions_.add_at(time, 1);
  wave_outstanding_.add_at(time, 1);
  return transaction;
}

void TransactionProbe::place(Transaction& transaction) {
  if (transaction.lane != kUnplaced) return;
  const auto first_free = [&](Femtoseconds at) {
    const auto lane = std::find_if(lanes_.begin(), lanes_.end(), [&](const Lane& l) { return l.free_from <= at; });
    return static_cast<unsigned>(lane - lanes_.begin());
  };
  unsigned index = first_free(transaction.begin);
  // None with a gap: one whose transaction ends as this one begins.
  if (index == kLanes) index = first_free(add_time(transaction.begin, 1));
  transaction.lane = index;
  if (index == kLanes) return;
  Lane& lane = lanes_[index];
  lane.free_from = kNever;
  show(lane.text, transaction.text, transaction.begin);
  show(lane.phase, transaction.first_phase, transaction.begin);
}

void TransactionProbe::reach(std::uint64_t number, const tlm::tlm_phase& phase, Femtoseconds time,
                             tlm::tlm_response_status status) {
  if (phase == tlm::END_RESP) return end(number, time, status);
  Transaction* const transaction = find(number);
  if (transaction == nullptr) return;
  place(*transaction);
  if (transaction->lane < kLanes && phase != tlm::BEGIN_REQ) {
    show(lanes_[transaction->lane].phase, phase.get_name(), time);
  }
}

void TransactionProbe::end(std::uint64_t number, Femtoseconds time, tlm::tlm_response_status status) {
  Transaction* const transaction = find(number);
  if (transaction == nullptr) return;
  end(*transaction, time, status);
  *transaction = open_.back();
  open_.pop_back();
}

void TransactionProbe::end(Transaction& transaction, Femtoseconds time, tlm::tlm_response_status status) {
  const bool direct = transaction.tiles > 0 && status == tlm::TLM_OK_RESPONSE;
  const Femtoseconds granted = time;
  if (direct) {
    wave_dmi_accesses_.add_at(granted, transaction.tiles);
    time = add_time(time, transaction.occupancy);
  }
  const bool lasted = time > transaction.begin;
  if (lasted) place(transaction);
  if (transaction.lane < kLanes) {
    Lane& lane = lanes_[transaction.lane];
    if (direct && time > granted) show(lane.phase, "DMI", granted);
    show(lane.text, "", time);
    show(lane.phase, "", time);
    lane.free_from = lasted ? add_time(time, 1) : transaction.begin;
  }
  wave_outstanding_.add_at(time, -1);
  if (!wave_completed_.recorded()) return;
  std::array<char, kCompletedCharacters> text;
  Composer to(text.data(), text.size());
  to.text(transaction.text).text(" ").time(time - std::min(time, transaction.begin)).text(error_word(status));
  show(wave_completed_, to.composed(), time);
}

TransactionProbe::Transaction* TransactionProbe::find(std::uint64_t number) {
  const auto found = std::find_if(open_.rbegin(), open_.rend(), [&](const auto& t) { return t.number == number; });
  return found != open_.rend() ? &*found : nullptr;
}

std::uint64_t TransactionProbe::number_of(const tlm::tlm_generic_payload& payload) const {
  // An initiator may reuse a payload within the call that ends its transaction: the newest one is meant.
  std::uint64_t number = 0;
  for (const Transaction& transaction : open_) {
    if (transaction.payload == &payload) number = std::max(number, transaction.number);
  }
  return number;
}

void TransactionProbe::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  if (!recorded_) return initiator->b_transport(payload, delay);
  Transaction transaction = begin(payload, now_fs() + delay.value(), "LT");
  place(transaction);  // before the call, which may block
  initiator->b_transport(payload, delay);
  end(transaction, now_fs() + delay.value(), payload.get_response_status());
}

tlm::tlm_sync_enum TransactionProbe::nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                                     sc_core::sc_time& delay) {
  if (!recorded_) return initiator->nb_transport_fw(payload, phase, delay);
  const Femtoseconds time = now_fs() + delay.value();
  if (phase == tlm::BEGIN_REQ) open_.push_back(begin(payload, time, "BEGIN_REQ"));
  const std::uint64_t number = number_of(payload);
  const tlm::tlm_phase reached = phase;
  const tlm::tlm_sync_enum result = initiator->nb_transport_fw(payload, phase, delay);
  // The initiator, which called, still has the payload.
  const tlm::tlm_response_status status = payload.get_response_status();
  if (result != tlm::TLM_COMPLETED || reached == tlm::END_RESP) reach(number, reached, time, status);
  if (result == tlm::TLM_UPDATED) reach(number, phase, now_fs() + delay.value(), status);
  if (result == tlm::TLM_COMPLETED) end(number, now_fs() + delay.value(), status);
  return result;
}

tlm::tlm_sync_enum TransactionProbe::nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                                     sc_core::sc_time& delay) {
  if (!recorded_) return target->nb_transport_bw(payload, phase, delay);
  const Femtoseconds time = now_fs() + delay.value();
  const std::uint64_t number = number_of(payload);
  const tlm::tlm_response_status status = payload.get_response_status();
  const tlm::tlm_phase reached = phase;
  const tlm::tlm_sync_enum result = target->nb_transport_bw(payload, phase, delay);
  // The payload may be gone, or belong to the initiator's next transaction.
  if (result != tlm::TLM_COMPLETED) reach(number, reached, time, status);
  if (result == tlm::TLM_UPDATED) reach(number, phase, now_fs() + delay.value(), status);
  if (result == tlm::TLM_COMPLETED) end(number, now_fs() + delay.value(), status);
  return result;
}

void TransactionProbe::show_dmi(const char* what, std::uint64_t start, std::uint64_t end) {
  if (!wave_dmi_.recorded()) return;
  std::array<char, kTextCharacters> text;
  wave_dmi_ = Composer(text.data(), text.size()).text(what).text(" ").address(start).text("-").address(end).composed();
}

bool TransactionProbe::get_direct_mem_ptr(tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi) {
  const bool granted = initiator->get_direct_mem_ptr(payload, dmi);
  if (!granted) return false;
  wave_dmi_grants_.add_at(now_fs(), 1);
  const char* what = dmi.is_read_write_allowed() ? "granted RD+WR"
                     : dmi.is_read_allowed()     ? "granted RD"
                                                 : "granted WR";
  show_dmi(what, dmi.get_start_address(), dmi.get_end_address());
  return true;
}

void TransactionProbe::invalidate_direct_mem_ptr(sc_dt::uint64 start, sc_dt::uint64 end) {
  show_dmi("invalidated", start, end);
  target->invalidate_direct_mem_ptr(start, end);
}

unsigned int TransactionProbe::transport_dbg(tlm::tlm_generic_payload& payload) {
  return initiator->transport_dbg(payload);
}

TransactionProbe& TransactionProbes::add(const sc_core::sc_object& watched) {
  const std::string name = fmt::format("probe{}", probes_.size());
  probes_.push_back(std::make_unique<TransactionProbe>(name.c_str(), watched.name(), initiators_));
  return *probes_.back();
}

void TransactionProbes::attach(WaveSink& sink) {
  for (auto& probe : probes_) probe->attach(sink);
}

}  // namespace azulejo
