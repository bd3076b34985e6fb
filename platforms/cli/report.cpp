// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "platforms/cli/version.h"
#include "tlm/common/units.h"

namespace azulejo::cli {
namespace {

using Json = nlohmann::ordered_json;

Json attribution_json(const Attribution& attribution) {
  Json json = Json::object();
  for (std::size_t c = 0; c < kCauses; ++c) {
    const auto cause = static_cast<Cause>(c);
    if (attribution[cause] != 0) json[std::string(cause_name(cause))] = attribution[cause];
  }
  return json;
}

Femtoseconds busy_of(const Attribution& attribution) {
  return attribution[Cause::Compute] + attribution[Cause::MatmulStart] + attribution[Cause::LoadStationary] +
         attribution[Cause::Issue] + attribution[Cause::Transfer];
}

Femtoseconds dma_busy_of(const Attribution& attribution) {
  return attribution[Cause::DmaDescriptor] + attribution[Cause::DmaTransfer];
}

double rate(std::uint64_t amount, Femtoseconds time) {
  return time == 0 ? 0.0 : static_cast<double>(amount) / (static_cast<double>(time) * 1e-15);
}

Json engines_json(Platform& platform) {
  Json engines = Json::array();
  for (std::size_t c = 0; c < platform.cores(); ++c) {
    NeuronCore& core = platform.core(c);
    if (!core.has_program()) continue;
    for (std::size_t e = 0; e < kEngines; ++e) {
      const Engine& engine = core.engine(e);
      Json json;
      json["path"] = engine.name();
      json["kind"] = "engine";
      json["instructions"] = engine.engine_stats().instructions;
      json["dma_triggers"] = engine.engine_stats().dma_triggers;
      json["faults"] = engine.engine_stats().faults;
      json["busy_fs"] = busy_of(engine.attribution());
      json["attribution"] = attribution_json(engine.attribution());
      engines.push_back(std::move(json));
    }
    for (std::size_t e = 0; e < core.dma.size(); ++e) {
      const DmaEngine& engine = core.dma.engine(e);
      Json json;
      json["path"] = engine.name();
      json["kind"] = "dma";
      json["packets"] = engine.stats().packets;
      json["descriptors"] = engine.stats().descriptors;
      json["bytes"] = engine.stats().bytes;
      json["faults"] = engine.stats().faults;
      json["busy_fs"] = dma_busy_of(engine.attribution());
      json["attribution"] = attribution_json(engine.attribution());
      engines.push_back(std::move(json));
    }
  }
  return engines;
}

Json queues_json(Platform& platform) {
  Json queues = Json::array();
  for (std::size_t c = 0; c < platform.cores(); ++c) {
    const NeuronCore& core = platform.core(c);
    for (std::size_t e = 0; e < core.dma.size(); ++e) {
      const DmaEngine& engine = core.dma.engine(e);
      for (std::uint32_t q = 0; q < engine.queues(); ++q) {
        const Attribution* attribution = engine.queue_attribution(q);
        if (attribution == nullptr) continue;
        queues.push_back(
            {{"path", fmt::format("{}.queue{}", engine.name(), q)}, {"attribution", attribution_json(*attribution)}});
      }
    }
  }
  return queues;
}

Json memories_json(Platform& platform, Femtoseconds time) {
  Json memories = Json::array();
  for (std::size_t c = 0; c < platform.chips(); ++c) {
    const Chip& chip = platform.chip(c);
    for (std::size_t s = 0; s < chip.stacks(); ++s) {
      const Hbm& hbm = chip.hbm(s);
      const Hbm::Stats& stats = hbm.stats();
      Json json;
      json["path"] = hbm.name();
      json["kind"] = "hbm";
      json["fidelity"] = "fast";
      json["reads"] = stats.reads;
      json["writes"] = stats.writes;
      json["read_bytes"] = stats.read_bytes;
      json["written_bytes"] = stats.written_bytes;
      json["moved_bytes"] = stats.moved_bytes;
      json["refused"] = stats.refused;
      json["resident_bytes"] = hbm.resident_bytes();
      json["peak_bytes_per_s"] = hbm.config().bandwidth;
      json["bandwidth_bytes_per_s"] = rate(stats.read_bytes + stats.written_bytes, time);
      json["attribution"] = attribution_json(hbm.attribution());
      memories.push_back(std::move(json));
    }
    for (std::size_t n = 0; n < chip.cores(); ++n) {
      const NeuronCore& core = chip.core(n);
      if (!core.has_program()) continue;
      for (const PartitionedMemory* memory : {&core.sbuf, &core.psum}) {
        const PartitionedMemory::Stats& stats = memory->stats();
        Json json;
        json["path"] = memory->name();
        json["kind"] = memory == &core.sbuf ? "sbuf" : "psum";
        json["tile_requests"] = stats.tile_requests;
        json["port_conflicts"] = stats.port_conflicts;
        json["refused"] = stats.refused;
        json["dma_read_bytes"] = stats.dma_read_bytes;
        json["dma_written_bytes"] = stats.dma_written_bytes;
        json["bandwidth_bytes_per_s"] = rate(stats.dma_read_bytes + stats.dma_written_bytes, time);
        memories.push_back(std::move(json));
      }
    }
  }
  return memories;
}

// FNV-1a over the text of all statistics: equal hashes mean equal runs.
std::string hash_of(const std::string& text) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001B3;
  }
  return fmt::format("{:016x}", hash);
}

// Not getrusage(): across exec() that keeps the peak of the process that started this one.
std::uint64_t peak_rss_bytes() {
  std::ifstream status("/proc/self/status");
  const std::string key = "VmHWM:";
  for (std::string line; std::getline(status, line);) {
    if (line.compare(0, key.size(), key) == 0)
      return std::strtoull(line.c_str() + key.size(), nullptr, 10) * 1024;  // in kB
  }
  return 0;
}

double utilization(const RunRecord& record, const Workload& workload) {
  const WorkDone work = workload.work();
  if (record.end != RunEnd::Finished || record.simulated == 0 || work.peak_flops_per_s == 0) return 0;
  return work.flops / (static_cast<double>(record.simulated) * 1e-15) / work.peak_flops_per_s;
}

// Shares of the tensor engines that ran, summed over cores.
std::vector<std::pair<Cause, Femtoseconds>> tensor_causes(Platform& platform) {
  std::vector<std::pair<Cause, Femtoseconds>> causes;
  for (std::size_t k = 0; k < kCauses; ++k) {
    const auto cause = static_cast<Cause>(k);
    Femtoseconds sum = 0;
    for (std::size_t c = 0; c < platform.cores(); ++c) {
      if (platform.core(c).tensor_engine.has_program()) sum += platform.core(c).tensor_engine.attribution()[cause];
    }
    if (sum > 0) causes.emplace_back(cause, sum);
  }
  std::stable_sort(causes.begin(), causes.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return causes;
}

// What bounded the tensor engines: "array", or the cause that kept them waiting longest.
std::string bound_of(Platform& platform) {
  Femtoseconds array = 0;
  Femtoseconds longest = 0;
  Cause waited = Cause::Idle;
  Femtoseconds waits = 0;
  for (const auto& [cause, time] : tensor_causes(platform)) {
    if (cause == Cause::Compute || cause == Cause::MatmulStart || cause == Cause::LoadStationary ||
        cause == Cause::Issue) {
      array += time;
    } else if (cause != Cause::NotStarted && cause != Cause::Finished) {
      waits += time;
      if (time > longest) {
        longest = time;
        waited = cause;
      }
    }
  }
  if (array == 0 && waits == 0) return "";
  return array >= waits ? "array" : std::string(cause_name(waited));
}

std::string percent(Femtoseconds part, Femtoseconds whole) {
  return whole == 0 ? "-" : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string breakdown(const Attribution& attribution, Femtoseconds total, std::size_t most) {
  std::vector<std::pair<Femtoseconds, Cause>> parts;
  for (std::size_t c = 0; c < kCauses; ++c) {
    const auto cause = static_cast<Cause>(c);
    if (attribution[cause] > 0) parts.emplace_back(attribution[cause], cause);
  }
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (std::size_t i = 0; i < std::min(most, parts.size()); ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", cause_name(parts[i].second), percent(parts[i].first, total));
  }
  return text;
}

// The golden check and the comparisons in lockstep together; null if there was neither.
Json check_json(const RunRecord& record) {
  const CheckResult& golden = record.check;
  const bool lockstep = record.lockstep && (record.lockstep_compared > 0 || record.end == RunEnd::Finished);
  if (!golden.done && !lockstep) return nullptr;
  Json json = {{"elements", golden.elements + record.lockstep_compared},
               {"mismatches", golden.mismatches + record.lockstep_mismatches},
               {"max_ulp", golden.max_ulp},
               {"sampled", golden.sampled}};
  if (!golden.first_mismatch.empty()) {
    json["first_mismatch"] = golden.first_mismatch;
  } else if (record.difference) {
    json["first_mismatch"] = describe(*record.difference);
  }
  return json;
}

// What the PE arrays in RTL counted, over all of them.
struct ArraySums {
  std::uint64_t instances = 0;
  PeArrayRtl::Stats stats;
  std::uint32_t latency_cycles = 0;  // of the longest
};

ArraySums sum_arrays(const Platform& platform) {
  ArraySums sums;
  for (const auto& unit : platform.twins().units()) {
    if (unit->array == nullptr) continue;
    ++sums.instances;
    sums.stats.cycles += unit->array->stats().cycles;
    sums.stats.pe_cycles += unit->array->stats().pe_cycles;
    sums.stats.tile_cycles += unit->array->stats().tile_cycles;
    sums.stats.idle_cycles += unit->array->stats().idle_cycles;
    sums.latency_cycles = std::max(sums.latency_cycles, unit->array->latency_cycles());
  }
  return sums;
}

double pe_cycles_per_host_second(const RunRecord& record, const ArraySums& arrays) {
  return record.host_seconds_simulation > 0
             ? static_cast<double>(arrays.stats.pe_cycles) / record.host_seconds_simulation
             : 0;
}

Json rtl_json(const RunRecord& record, const Platform& platform) {
  const Twins& twins = platform.twins();
  if (twins.units().empty()) return nullptr;
  const ArraySums arrays = sum_arrays(platform);
  Json json;
  json["pe"] = nullptr;
  if (arrays.instances > 0) {
    json["pe"] = {{"instances", arrays.instances},
                  {"array_cycles", arrays.stats.cycles},
                  {"pe_cycles", arrays.stats.pe_cycles},
                  {"tile_cycles", arrays.stats.tile_cycles},
                  {"idle_tile_cycles", arrays.stats.idle_cycles},
                  {"latency_cycles", arrays.latency_cycles},
                  {"pe_cycles_per_host_second", pe_cycles_per_host_second(record, arrays)}};
  }
  json["rounding_unit"] = nullptr;
  std::uint64_t cycles = 0;
  for (const auto& unit : twins.units()) cycles += unit->rounding_unit != nullptr ? unit->rounding_unit->cycles() : 0;
  if (twins.units().size() > arrays.instances) {
    json["rounding_unit"] = {{"instances", twins.units().size() - arrays.instances}, {"cycles", cycles}};
  }
  json["lockstep"] = nullptr;
  if (record.lockstep) {
    Json differences = Json::array();
    for (const auto& unit : twins.units()) {
      for (const Difference& difference : unit->log.differences()) {
        differences.push_back({{"unit", difference.unit},
                               {"operation", difference.operation},
                               {"cycle", difference.cycle},
                               {"place", difference.place},
                               {"what", difference.what},
                               {"model", fmt::format("{:08x}", difference.model)},
                               {"rtl", fmt::format("{:08x}", difference.rtl)},
                               {"operands", difference.operands}});
      }
    }
    json["lockstep"] = {{"compared", record.lockstep_compared},
                        {"mismatches", record.lockstep_mismatches},
                        {"differences", std::move(differences)},
                        {"reproducer", record.reproducer}};
  }
  json["failures"] = record.rtl_failures;
  json["fault"] = record.rtl_fault;
  json["pe_directory"] = record.pe_directory;
  json["pe_top"] = record.pe_top;
  return json;
}

Json wave_json(const RunRecord& record) {
  if (record.wave_path.empty()) return nullptr;
  Json json = {{"path", record.wave_path}, {"written", record.wave && record.wave->started}};
  const WaveFile::Summary wave = record.wave.value_or(WaveFile::Summary{});
  json["signals"] = wave.signals;
  json["rtl_signals"] = wave.rtl_signals;
  json["bytes"] = wave.bytes;
  json["first_fs"] = wave.first;
  json["last_fs"] = wave.last;
  json["limit_reached"] = wave.limit_reached;
  json["error"] = wave.error;
  json["trigger"] = nullptr;
  if (record.trigger) {
    json["trigger"] = {{"condition", record.trigger_text}, {"fired", record.trigger->fired}};
    json["trigger"]["time_fs"] = record.trigger->fired ? Json(record.trigger->time) : Json(nullptr);
  }
  return json;
}

std::string wave_line(const RunRecord& record) {
  const WaveFile::Summary& wave = *record.wave;
  std::string line = fmt::format("wave             {}, {}, {} signals", record.wave_path, human_bytes(wave.bytes),
                                 wave.signals + wave.rtl_signals);
  if (wave.rtl_signals > 0) line += fmt::format(" ({} of RTL)", wave.rtl_signals);
  line += fmt::format(", {} to {}", human_time(wave.first), human_time(wave.last));
  if (record.trigger) {
    line += fmt::format(", around {} at {}", record.trigger_text, human_time(record.trigger->time));
  }
  return line;
}

std::vector<std::string> rtl_lines(const RunRecord& record, const Platform& platform) {
  std::vector<std::string> lines;
  const std::vector<std::unique_ptr<Twins::Unit>>& units = platform.twins().units();
  if (units.empty()) return lines;
  const ArraySums arrays = sum_arrays(platform);
  std::string speed;
  if (arrays.instances > 0) {
    speed = fmt::format("; {} PE array{} in RTL, {}", arrays.instances, arrays.instances == 1 ? "" : "s",
                        human_rate(pe_cycles_per_host_second(record, arrays), "PE-cycles/s"));
  }
  const std::uint64_t rounding_units = units.size() - arrays.instances;
  if (rounding_units > 0) {
    speed += fmt::format("; {} rounding unit{} in RTL", rounding_units, rounding_units == 1 ? "" : "s");
  }
  if (record.lockstep) {
    lines.push_back(fmt::format("lockstep         {} elements compared, {} mismatches{}", record.lockstep_compared,
                                record.lockstep_mismatches, speed));
  } else {
    lines.push_back("RTL              " + speed.substr(2));
  }
  if (record.difference) {
    lines.push_back(fmt::format("  at {}: {}", human_time(record.difference_time), describe(*record.difference)));
    if (!record.reproducer.empty()) {
      lines.push_back(fmt::format("  reproducer {}; azulejo cosim replay {}", record.reproducer, record.reproducer));
    }
  }
  if (record.rtl_failures > 0) {
    lines.push_back(
        fmt::format("RTL failures     {} failed assertions, $error, $stop or $finish", record.rtl_failures));
  }
  if (!record.pe_directory.empty()) {
    lines.push_back(fmt::format("PE               module {} of {}", record.pe_top, record.pe_directory));
  }
  if (!record.rtl_fault.empty()) lines.push_back("seeded fault     " + record.rtl_fault);
  return lines;
}

}  // namespace

std::string_view end_name(const RunRecord& record) {
  switch (record.end) {
    case RunEnd::Finished:
      return "finished";
    case RunEnd::Range:
      return "range";
    case RunEnd::Until:
      return "until";
    case RunEnd::Interrupted:
      return "interrupted";
    case RunEnd::Fault:
      return record.stopped_at_difference ? "mismatch" : "fault";
    case RunEnd::Deadlock:
      return "deadlock";
  }
  return "";
}

bool succeeded(const RunRecord& record) {
  if (record.end != RunEnd::Finished && record.end != RunEnd::Until) return false;
  if (record.fault_count > 0 || record.lockstep_mismatches > 0 || record.rtl_failures > 0) return false;
  if (record.lockstep && record.end == RunEnd::Finished && record.lockstep_compared == 0) return false;
  // A check that compared nothing has failed.
  return !record.check.done || (record.check.elements > 0 && record.check.mismatches == 0);
}

nlohmann::ordered_json build_report(const RunRecord& record, Platform& platform, const Workload& workload) {
  Json json;
  json["schema_version"] = kReportSchemaVersion;
  json["tool"] = {{"name", "azulejo"}, {"version", kVersion}};
  json["command"] = record.command;
  json["seed"] = record.seed;
  json["platform"] = platform.config().name;
  json["data"] = record.data;
  json["config"] = print_platform(platform.config());
  json["workload"] = workload.report();

  Json result;
  result["status"] = end_name(record);
  result["partial"] = record.end != RunEnd::Finished;
  result["passed"] = succeeded(record);
  result["simulated_time_fs"] = record.simulated;
  result["simulated_time_ps"] = record.simulated / kFsPerPicosecond;
  result["utilization"] = utilization(record, workload);
  result["flops_per_s"] = record.end == RunEnd::Finished && record.simulated > 0
                              ? workload.work().flops / (static_cast<double>(record.simulated) * 1e-15)
                              : 0.0;
  result["bound"] = bound_of(platform);
  result["check"] = check_json(record);
  result["injected"] = record.injected;
  result["fault_count"] = record.fault_count;
  Json faults = Json::array();
  for (const Fault& fault : record.faults) {
    faults.push_back({{"engine", fault.engine},
                      {"instruction", fault.instruction},
                      {"time_fs", fault.time},
                      {"text", fault.text},
                      {"response", fault.response},
                      {"message", fault.message}});
  }
  result["faults"] = std::move(faults);
  result["waiting"] = record.waiting;

  json["result"] = std::move(result);
  json["engines"] = engines_json(platform);
  json["queues"] = queues_json(platform);
  json["memories"] = memories_json(platform, record.simulated);
  json["links"] = Json::array();
  json["rtl"] = rtl_json(record, platform);
  json["wave"] = wave_json(record);

  // Everything up to here is the simulation's; what follows is the host's.
  Json statistics = {json["result"], json["engines"], json["queues"], json["memories"], json["workload"]};
  for (Json& memory : statistics[3]) memory.erase("resident_bytes");  // differs between --data full and none
  statistics[0].erase("check");
  statistics[0].erase("passed");
  statistics[0].erase("injected");
  json["result"]["hash"] = hash_of(statistics.dump());
  json["result"]["host_seconds"] = record.host_seconds;
  json["result"]["host_seconds_simulation"] = record.host_seconds_simulation;
  json["result"]["peak_rss_bytes"] = peak_rss_bytes();
  return json;
}

std::string build_summary(const RunRecord& record, Platform& platform, const Workload& workload) {
  std::string text;
  const auto line = [&](const std::string& s) { text += s + "\n"; };
  line(fmt::format("{}  {}", platform.config().name, platform.config().description));
  for (const std::string& l : workload.describe()) line(l);
  line("");

  std::string time = fmt::format("simulated time   {}", human_time(record.simulated));
  if (record.end != RunEnd::Finished) time += fmt::format("   (PARTIAL: {})", end_name(record));
  line(time);
  const WorkDone work = workload.work();
  if (record.end == RunEnd::Finished && work.flops > 0 && record.simulated > 0) {
    line(fmt::format("achieved         {} of {} peak: {:.1f} %",
                     human_rate(work.flops / (static_cast<double>(record.simulated) * 1e-15), "FLOP/s"),
                     human_rate(work.peak_flops_per_s, "FLOP/s"), 100 * utilization(record, workload)));
  }
  const std::string bound = bound_of(platform);
  if (!bound.empty()) line(fmt::format("bound by         {}", bound));
  line("");

  line("where the time went");
  for (std::size_t c = 0; c < platform.cores(); ++c) {
    NeuronCore& core = platform.core(c);
    if (!core.has_program()) continue;
    for (std::size_t e = 0; e < kEngines; ++e) {
      const Engine& engine = core.engine(e);
      if (!engine.has_program()) continue;
      line(fmt::format("  {:<24} {}", engine.name(), breakdown(engine.attribution(), record.simulated, 5)));
    }
    std::uint64_t bytes = 0;
    std::uint64_t descriptors = 0;
    Femtoseconds busy = 0;
    for (std::size_t e = 0; e < core.dma.size(); ++e) {
      bytes += core.dma.engine(e).stats().bytes;
      descriptors += core.dma.engine(e).stats().descriptors;
      busy += dma_busy_of(core.dma.engine(e).attribution());
    }
    line(fmt::format("  {:<24} {} engines busy {}, {} in {} descriptors, {}", core.dma.name(), core.dma.size(),
                     percent(busy, record.simulated * core.dma.size()), human_bytes(bytes), descriptors,
                     human_rate(rate(bytes, record.simulated), "B/s")));
  }
  for (std::size_t c = 0; c < platform.chips(); ++c) {
    for (std::size_t s = 0; s < platform.chip(c).stacks(); ++s) {
      const Hbm& hbm = platform.chip(c).hbm(s);
      const std::uint64_t bytes = hbm.stats().read_bytes + hbm.stats().written_bytes;
      if (bytes == 0) continue;
      line(fmt::format("  {:<24} busy {}, {} read, {} written, {} of {}", hbm.name(),
                       percent(hbm.attribution()[Cause::Transfer], record.simulated),
                       human_bytes(hbm.stats().read_bytes), human_bytes(hbm.stats().written_bytes),
                       human_rate(rate(bytes, record.simulated), "B/s"),
                       human_rate(static_cast<double>(hbm.config().bandwidth), "B/s")));
    }
  }
  line("");

  if (record.check.done) {
    line(fmt::format("check            {} elements{}, {} mismatches against the golden model{}", record.check.elements,
                     record.check.sampled ? " (sampled)" : "", record.check.mismatches,
                     record.check.mismatches > 0
                         ? fmt::format(", max {} ulp; first: {}", record.check.max_ulp, record.check.first_mismatch)
                         : ""));
  } else {
    std::string reason = "nothing to compare with";
    if (record.data == "none") reason = "--data none moves no data";
    if (record.end != RunEnd::Finished) reason = "the run did not finish";
    if (!record.check.no_check.empty()) reason = record.check.no_check;
    line(fmt::format("check            none ({})", reason));
  }
  for (const std::string& l : rtl_lines(record, platform)) line(l);
  if (record.wave && record.wave->started) line(wave_line(record));
  if (!record.injected.empty()) line(fmt::format("injected         {}", record.injected));
  if (record.fault_count > 0) {
    line(fmt::format("faults           {}", record.fault_count));
    for (std::size_t i = 0; i < std::min<std::size_t>(record.faults.size(), 5); ++i) {
      const Fault& fault = record.faults[i];
      line(fmt::format("  {} at {}, instruction {}: {} ({}): {}", fault.engine, human_time(fault.time),
                       fault.instruction, fault.text, fault.response, fault.message));
    }
    if (record.fault_count > 5) line(fmt::format("  … and {} more", record.fault_count - 5));
  }
  for (const std::string& waiting : record.waiting) line("waiting          " + waiting);
  line(fmt::format("host             {:.2f} s, {} peak memory", record.host_seconds, human_bytes(peak_rss_bytes())));
  return text;
}

}  // namespace azulejo::cli
