// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/gemm_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "sw/golden/gemm_golden.h"
#include "sw/runtime/npy.h"
#include "sw/runtime/runtime.h"
#include "tlm/common/check.h"
#include "tlm/common/error.h"
#include "tlm/common/output_file.h"
#include "tlm/common/units.h"
#include "tlm/isa/text.h"
#include "tlm/numerics/random.h"

namespace azulejo::cli {
namespace {

using kernels::GemmOptions;
using kernels::GemmPlan;
using kernels::GemmShape;
using kernels::GemmTensors;

constexpr std::uint64_t kMaxSize = 1ULL << 31;  // of one dimension, so that tile counts fit 32 bits

// Element types that the workload multiplies, and those it delivers.
const std::vector<Format> kTypes = {Format::Bf16, Format::Fp16, Format::Fp32, Format::Tf32,
                                    Format::E4M3, Format::E5M2, Format::E3M4, Format::Int8};
const std::vector<Format> kOutTypes = {Format::Bf16, Format::Fp16, Format::Fp32,
                                       Format::E4M3, Format::E5M2, Format::E3M4};

golden::ElementType golden_type(Format format) {
  switch (format) {
    case Format::Fp32:
      return golden::ElementType::Fp32;
    case Format::Tf32:
      return golden::ElementType::Tf32;
    case Format::Fp16:
      return golden::ElementType::Fp16;
    case Format::E4M3:
      return golden::ElementType::E4M3;
    case Format::E4M3FN:
      return golden::ElementType::E4M3FN;
    case Format::E5M2:
      return golden::ElementType::E5M2;
    case Format::E3M4:
      return golden::ElementType::E3M4;
    case Format::Int8:
      return golden::ElementType::Int8;
    default:
      return golden::ElementType::Bf16;
  }
}

std::string unknown_word(const std::string& option, const std::string& word,
                         const std::vector<std::string_view>& allowed) {
  return fmt::format("{}: unknown {}; allowed: {}{}", option, quote_word(word), join_words(allowed),
                     did_you_mean(word, allowed));
}

std::optional<Format> read_type(const std::string& option, const std::string& word, const std::vector<Format>& allowed,
                                std::vector<std::string>& problems) {
  const std::optional<Format> format = parse_format(word);
  if (format && std::find(allowed.begin(), allowed.end(), *format) != allowed.end()) return format;
  std::vector<std::string_view> names;
  for (Format f : allowed) names.push_back(spec(f).name);
  problems.push_back(unknown_word(option, word, names));
  return std::nullopt;
}

std::uint64_t read_size(const std::string& option, const std::string& text, std::uint64_t max,
                        std::vector<std::string>& problems, const char* noun = "size") {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value == 0 || value > max) {
    problems.push_back(
        fmt::format("{}: {} is no {}; a whole number from 1 to {}", option, quote_word(text), noun, max));
    return 0;
  }
  return value;
}

// Values in [-1, 1) that depend on seed and position only; whole numbers for integers.
void fill_random(Format format, std::uint64_t seed, std::uint64_t count, std::vector<std::uint8_t>& data) {
  constexpr std::size_t kPiece = 4096;
  std::vector<float> values(kPiece);
  data.resize(storage_bytes(format, count));
  std::uint64_t state = seed;
  const bool integer = spec(format).integer_bits != 0;
  for (std::uint64_t first = 0; first < count; first += kPiece) {
    const std::size_t piece = std::min<std::uint64_t>(kPiece, count - first);
    for (std::size_t i = 0; i < piece; i += 2) {
      const std::uint64_t word = splitmix64(state);
      const auto low = static_cast<std::int32_t>(word);
      const auto high = static_cast<std::int32_t>(word >> 32);
      values[i] = integer ? static_cast<float>(low >> 24) : static_cast<float>(low) * 0x1p-31F;
      if (i + 1 < piece) values[i + 1] = integer ? static_cast<float>(high >> 24) : static_cast<float>(high) * 0x1p-31F;
    }
    encode_row(format, values.data(), data.data() + storage_bytes(format, first), piece);
  }
}

std::vector<std::uint8_t> transpose(const std::vector<std::uint8_t>& in, std::uint64_t rows, std::uint64_t cols,
                                    std::size_t element) {
  std::vector<std::uint8_t> out(in.size());
  constexpr std::uint64_t kBlock = 64;  // keeps both sides in the cache
  for (std::uint64_t r0 = 0; r0 < rows; r0 += kBlock) {
    for (std::uint64_t c0 = 0; c0 < cols; c0 += kBlock) {
      for (std::uint64_t r = r0; r < std::min(rows, r0 + kBlock); ++r) {
        for (std::uint64_t c = c0; c < std::min(cols, c0 + kBlock); ++c) {
          std::copy_n(in.data() + (r * cols + c) * element, element, out.data() + (c * rows + r) * element);
        }
      }
    }
  }
  return out;
}

std::vector<std::uint8_t> convert(const NpyMatrix& matrix, Format format) {
  if (matrix.format == format) return matrix.data;
  const std::size_t count = matrix.rows * matrix.cols;
  std::vector<float> values(count);
  decode_row(matrix.format, matrix.data.data(), values.data(), count);
  std::vector<std::uint8_t> data(storage_bytes(format, count));
  encode_row(format, values.data(), data.data(), count);
  return data;
}

// One core's share of the rows of C.
struct Share {
  std::uint32_t core = 0;
  std::uint64_t first_row = 0;
  GemmShape shape;
  GemmTensors tensors;
  std::uint64_t matmuls = 0;  // of its program
};

class GemmWorkload : public Workload {
 public:
  GemmWorkload(const GemmShape& shape, const GemmOptions& options, std::uint32_t cores, const PlatformConfig& platform,
               bool keep_data, std::uint64_t seed)
      : shape_(shape), options_(options), keep_data_(keep_data), seed_(seed), platform_(platform) {
    // Whole M tiles, as even as they go.
    const std::uint64_t m_tiles = (shape.m + kernels::kGemmTileM - 1) / kernels::kGemmTileM;
    for (std::uint32_t c = 0; c < cores; ++c) {
      const std::uint64_t first = m_tiles * c / cores * kernels::kGemmTileM;
      const std::uint64_t last = std::min(shape.m, m_tiles * (c + 1) / cores * kernels::kGemmTileM);
      if (first >= last) continue;
      Share share;
      share.core = c;
      share.first_row = first;
      share.shape = {last - first, shape.k, shape.n};
      shares_.push_back(share);
    }
    // A K block is the unit of rounding of partial results: the same for every core.
    for (const Share& share : shares_) {
      const GemmPlan plan = kernels::plan_gemm(target_of(share.core), share.shape, options_);
      if (options_.tiling == kernels::GemmTiling::Full)
        options_.max_block_k = std::min(options_.max_block_k, plan.block_k);
    }
    for (Share& share : shares_) {
      const GemmPlan plan = kernels::plan_gemm(target_of(share.core), share.shape, options_);
      share.matmuls = std::uint64_t{plan.m_tiles} * plan.k_tiles * plan.n_tiles;
      if (&share == &shares_.front()) plan_ = plan;
    }
    for (const Share& share : shares_) {
      if (core_config(platform, 0, share.core).flush_denormals !=
          core_config(platform, 0, shares_.front().core).flush_denormals) {
        throw ConfigError("flush_denormals differs between the cores: gemm is checked by one rule for all of C");
      }
    }
    // Placement: each core's rows of A and C beside it; B once, beside core 0.
    std::vector<HbmAllocator> stacks;
    for (std::uint32_t s = 0; s < platform.chip.hbm_stacks; ++s)
      stacks.emplace_back(s, hbm_config(platform, 0, s).capacity);
    b_ = stacks[local_stack(platform.chip, 0)].tensor("B", shape.k, shape.n, options_.type);
    for (Share& share : shares_) {
      HbmAllocator& stack = stacks[local_stack(platform.chip, share.core)];
      share.tensors.a = stack.tensor("A", shape.k, share.shape.m, options_.type);
      share.tensors.b = b_;
      share.tensors.c = stack.tensor("C", share.shape.m, shape.n, options_.out_type);
    }
  }

  void use(const NpyMatrix& a, const NpyMatrix& b) {
    a_data_ = transpose(convert(a, options_.type), shape_.m, shape_.k, storage_bytes(options_.type, 1));
    b_data_ = convert(b, options_.type);
  }
  void write_to(std::string path) { out_path_ = std::move(path); }

  std::string name() const override { return "gemm"; }

  void start(Platform& platform) override {
    if (keep_data_) {
      if (a_data_.empty()) fill_random(options_.type, seed_ ^ 0xA, shape_.k * shape_.m, a_data_);
      if (b_data_.empty()) fill_random(options_.type, seed_ ^ 0xB, shape_.k * shape_.n, b_data_);
      bool written = platform.host.write(0, b_.address, b_data_.data(), b_data_.size());
      const std::size_t element = storage_bytes(options_.type, 1);
      for (const Share& share : shares_) {
        for (std::uint64_t k = 0; k < shape_.k; ++k) {
          written = written && platform.host.write(0, share.tensors.a.address + k * share.tensors.a.row_stride,
                                                   a_data_.data() + (k * shape_.m + share.first_row) * element,
                                                   share.shape.m * element);
        }
      }
      AZULEJO_CHECK(written, "the allocator placed A and B inside HBM");
    }
    for (const Share& share : shares_) {
      platform.host.load(share.core, kernels::record_gemm(target_of(share.core), share.shape, options_, share.tensors));
      platform.host.start(share.core);
    }
  }

  double fraction(Platform& platform) const override {
    std::uint64_t done = 0;
    std::uint64_t total = 0;
    for (const Share& share : shares_) {
      done += platform.core(share.core).tensor_engine.stats().matmuls;
      total += share.matmuls;
    }
    return static_cast<double>(done) / static_cast<double>(total);
  }

  CheckResult check(Platform& platform) override {
    const std::size_t row = storage_bytes(options_.out_type, shape_.n);
    c_data_.resize(shape_.m * row);
    for (const Share& share : shares_) {
      const bool read =
          platform.host.read(0, share.tensors.c.address, c_data_.data() + share.first_row * row, share.shape.m * row);
      AZULEJO_CHECK(read, "the allocator placed C inside HBM");
    }
    CheckResult result;
    for (const Share& share : shares_) {
      if (core_config(platform_, 0, share.core).vector_engine.rounding == Rounding::Stochastic) {
        result.no_check = "the golden model rounds to nearest even, this platform stochastically";
        return result;
      }
    }
    golden::GemmProblem problem;
    problem.m = shape_.m;
    problem.k = shape_.k;
    problem.n = shape_.n;
    problem.type = golden_type(options_.type);
    problem.out_type = golden_type(options_.out_type);
    problem.k_block_tiles = plan_.psum_k_tiles();
    problem.partial_type = golden_type(options_.partials);
    problem.flush_denormals = core_config(platform_, 0, shares_.front().core).flush_denormals;
    const golden::GemmCheck found = golden::check_gemm(problem, a_data_.data(), b_data_.data(), c_data_.data(), seed_);
    result.done = true;
    result.elements = found.elements;
    result.mismatches = found.mismatches;
    result.max_ulp = found.max_ulp;
    result.sampled = found.sampled;
    if (found.mismatches > 0) {
      result.first_mismatch =
          fmt::format("C[{}, {}]: expected {:#x} ({}), found {:#x} ({})", found.row, found.column, found.expected,
                      decode(options_.out_type, found.expected), found.found, decode(options_.out_type, found.found));
    }
    return result;
  }

  void write_outputs() override {
    if (out_path_.empty()) return;
    NpyMatrix matrix;
    matrix.rows = shape_.m;
    matrix.cols = shape_.n;
    // numpy has no bf16 or FP8: those go out as float32, exactly.
    matrix.format = options_.out_type == Format::Fp16 ? Format::Fp16 : Format::Fp32;
    if (matrix.format == options_.out_type) {
      matrix.data = c_data_;
    } else {
      const std::size_t count = shape_.m * shape_.n;
      matrix.data.resize(count * sizeof(float));
      std::vector<float> values(count);
      decode_row(options_.out_type, c_data_.data(), values.data(), count);
      std::copy_n(reinterpret_cast<const std::uint8_t*>(values.data()), matrix.data.size(), matrix.data.data());
    }
    write_npy(out_path_, matrix);
  }

  WorkDone work() const override {
    WorkDone work;
    work.flops = 2.0 * static_cast<double>(shape_.m) * static_cast<double>(shape_.k) * static_cast<double>(shape_.n);
    // FP32 takes four passes of the array.
    const double passes = options_.type == Format::Fp32 ? 4.0 : 1.0;
    for (const Share& share : shares_) {
      const TensorEngineConfig& array = core_config(platform_, 0, share.core).tensor_engine;
      work.peak_flops_per_s += 2.0 * array.rows * array.cols * static_cast<double>(array.clock) / passes;
    }
    return work;
  }

  nlohmann::ordered_json report() const override {
    nlohmann::ordered_json json;
    json["name"] = "gemm";
    json["m"] = shape_.m;
    json["k"] = shape_.k;
    json["n"] = shape_.n;
    json["dtype"] = spec(options_.type).name;
    json["out_dtype"] = spec(options_.out_type).name;
    json["partials"] = spec(options_.partials).name;
    json["tiling"] = tiling_name(options_.tiling);
    json["cores"] = shares_.size();
    json["block_tiles"] = {
        {"m", plan_.block_m}, {"k", plan_.block_k}, {"n", plan_.block_n}, {"super_m", plan_.super_m}};
    json["sbuf_bytes_per_partition"] = plan_.sbuf_bytes;
    return json;
  }

  std::vector<std::string> describe() const override {
    std::vector<std::string> lines;
    lines.push_back(fmt::format(
        "gemm  C[{}, {}] = A[{}, {}] * B[{}, {}], {} in, {} out, {} partials, tiling {}, {} core{}", shape_.m, shape_.n,
        shape_.m, shape_.k, shape_.k, shape_.n, spec(options_.type).name, spec(options_.out_type).name,
        spec(options_.partials).name, tiling_name(options_.tiling), shares_.size(), shares_.size() == 1 ? "" : "s"));
    std::string blocks = fmt::format("blocks of {} M x {} N x {} K tiles (128 x 512 x 128)", plan_.block_m,
                                     plan_.block_n, plan_.block_k);
    if (plan_.super_m > 1) blocks += fmt::format(", {} M blocks together", plan_.super_m);
    lines.push_back(fmt::format("{}, SBUF {} per partition", blocks, human_bytes(plan_.sbuf_bytes)));
    return lines;
  }

 private:
  nki::Target target_of(std::uint32_t core) const {
    const NeuronCoreConfig config = core_config(platform_, 0, core);
    nki::Target target;
    target.core = core;
    target.sbuf_partition_size = config.sbuf.partition_size;
    target.psum_partition_size = config.psum.partition_size;
    target.psum_banks = config.psum.banks;
    target.array_rows = config.tensor_engine.rows;
    target.array_cols = config.tensor_engine.cols;
    target.max_moving = config.tensor_engine.max_moving;
    target.dma_engines = config.dma.engines;
    target.dma_queues = config.dma.queues;
    return target;
  }

  const GemmShape shape_;
  GemmOptions options_;
  const bool keep_data_;
  const std::uint64_t seed_;
  const PlatformConfig platform_;
  GemmPlan plan_;
  nki::HbmTensor b_;
  std::vector<Share> shares_;
  std::vector<std::uint8_t> a_data_;  // [K, M]
  std::vector<std::uint8_t> b_data_;  // [K, N]
  std::vector<std::uint8_t> c_data_;  // [M, N]
  std::string out_path_;
};

}  // namespace

std::unique_ptr<Workload> make_gemm(const GemmArguments& arguments, const PlatformConfig& platform, bool keep_data,
                                    std::uint64_t seed) {
  std::vector<std::string> problems;
  GemmOptions options;
  GemmShape shape{1024, 1024, 1024};
  NpyMatrix a;
  NpyMatrix b;
  const bool files = !arguments.a.empty() || !arguments.b.empty();
  if (files) {
    if (arguments.a.empty()) problems.push_back("--b needs --a: give both matrices or neither");
    if (arguments.b.empty()) problems.push_back("--a needs --b: give both matrices or neither");
    if (!keep_data) problems.push_back("--a and --b need --data full: without data there is nothing to multiply");
    if (!problems.empty()) throw ConfigError(problems);
    const auto read = [&](const char* option, const std::string& path, NpyMatrix& matrix) {
      try {
        matrix = read_npy(path);
      } catch (const ConfigError& error) {
        for (const std::string& problem : error.problems()) problems.push_back(fmt::format("{} {}", option, problem));
      }
    };
    read("--a", arguments.a, a);
    read("--b", arguments.b, b);
    if (!problems.empty()) throw ConfigError(problems);
    if (a.cols != b.rows) {
      throw ConfigError(fmt::format("--a {} is [{}, {}] and --b {} is [{}, {}]: A's columns must be B's rows",
                                    arguments.a, a.rows, a.cols, arguments.b, b.rows, b.cols));
    }
    shape = {a.rows, a.cols, b.cols};
  }
  const auto size = [&](const char* option, const std::string& text, std::uint64_t& value) {
    if (text.empty()) return;
    const std::uint64_t given = read_size(option, text, kMaxSize, problems);
    if (files && given != 0 && given != value) {
      problems.push_back(fmt::format("{}: {} contradicts the files' {}", option, given, value));
    }
    value = given;
  };
  size("--m", arguments.m, shape.m);
  size("--k", arguments.k, shape.k);
  size("--n", arguments.n, shape.n);

  options.type = files ? a.format : Format::Bf16;
  if (!arguments.type.empty())
    options.type = read_type("--dtype", arguments.type, kTypes, problems).value_or(options.type);
  if (files && arguments.type.empty() && a.format != b.format) {
    problems.push_back(
        fmt::format("--a is {} and --b is {}: say --dtype to convert both", spec(a.format).name, spec(b.format).name));
  }
  const bool deliverable = options.type == Format::Bf16 || options.type == Format::Fp16 || options.type == Format::Fp32;
  options.out_type = deliverable ? options.type : options.type == Format::Tf32 ? Format::Fp32 : Format::Bf16;
  if (!arguments.out_type.empty()) {
    options.out_type = read_type("--out-dtype", arguments.out_type, kOutTypes, problems).value_or(options.out_type);
  }
  options.partials =
      read_type("--partials", arguments.partials, {Format::Fp32, Format::Bf16}, problems).value_or(Format::Fp32);
  if (const auto tiling = kernels::parse_tiling(arguments.tiling)) {
    options.tiling = *tiling;
  } else {
    std::vector<std::string_view> names;
    for (kernels::GemmTiling t : kernels::all_tilings()) names.push_back(kernels::tiling_name(t));
    problems.push_back(unknown_word("--tiling", arguments.tiling, names));
  }
  const std::uint64_t cores =
      read_size("--cores", arguments.cores, platform.chip.cores, problems, "number of cores of this chip");
  if (!arguments.out.empty()) {
    if (!keep_data) {
      problems.push_back("--out needs --data full: without data there is no product");
    } else {
      try {
        check_writable(arguments.out);
      } catch (const ConfigError& error) {
        for (const std::string& problem : error.problems()) problems.push_back("--out " + problem);
      }
    }
  }
  if (!problems.empty()) throw ConfigError(problems);

  try {
    auto workload =
        std::make_unique<GemmWorkload>(shape, options, static_cast<std::uint32_t>(cores), platform, keep_data, seed);
    if (files) workload->use(a, b);
    workload->write_to(arguments.out);
    return workload;
  } catch (const nki::KernelError& error) {
    throw ConfigError(
        fmt::format("gemm: {}; give smaller sizes, another --tiling or a larger sbuf.partition_size", error.what()));
  } catch (const ConfigError& error) {  // of the allocator
    throw ConfigError(fmt::format("gemm: {}; give smaller sizes or a larger hbm.capacity", error.what()));
  }
}

}  // namespace azulejo::cli
