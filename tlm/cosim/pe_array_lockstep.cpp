// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tlm/cosim/pe_array_rtl.h"

namespace azulejo {
namespace {

std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// The pairs that make one sum, the first few of them.
std::string list_operands(const ArrayCase& operation, std::uint32_t row, std::uint32_t column) {
  constexpr std::uint32_t kMost = 4;
  std::string text;
  for (std::uint32_t k = 0; k < std::min(operation.k, kMost); ++k) {
    const std::uint32_t a = operation.moving[k * operation.n + column];
    const std::uint32_t w = operation.stationary[k * operation.m + row];
    text += fmt::format("{}{} {:x} ({:g}) * {} {:x} ({:g})", k == 0 ? "" : ", ", spec(operation.moving_format).name, a,
                        decode(operation.moving_format, a), spec(operation.stationary_format).name, w,
                        decode(operation.stationary_format, w));
  }
  if (operation.k > kMost) text += fmt::format(", … {} more", operation.k - kMost);
  if (operation.accumulate) {
    const std::uint32_t old = operation.psum[row * operation.n + column];
    text += fmt::format(", on psum {:08x} ({:g})", old, decode(Format::Fp32, old));
  }
  return text;
}

class PeArrayLockstep : public PeArray {
 public:
  PeArrayLockstep(std::unique_ptr<PeArray> model, std::unique_ptr<PeArrayRtl> rtl, const PeArrayRtlConfig& config,
                  CosimCase origin, LockstepLog& log)
      : model_(std::move(model)), rtl_(std::move(rtl)), config_(config), origin_(std::move(origin)), log_(log) {}

  void load(const OperandTile& stationary, std::uint64_t cycle) override {
    stationary_ = stationary;
    stationary_codes_ = read_tile_codes(stationary);
    model_->load(stationary, cycle);
    rtl_->load(stationary, cycle);
  }

  void multiply(const OperandTile& moving, const MatmulMode& mode, float* psum, std::size_t stride) override {
    const std::uint32_t m = stationary_.columns();
    const std::uint32_t n = moving.columns();
    old_.resize(std::size_t{m} * n);
    for (std::uint32_t i = 0; i < m; ++i) std::copy_n(psum + i * stride, n, old_.data() + std::size_t{i} * n);
    result_ = old_;
    rtl_->multiply(moving, mode, result_.data(), n);
    model_->multiply(moving, mode, psum, stride);

    std::uint64_t count = 0;
    std::uint32_t first_row = 0;
    std::uint32_t first_column = n;
    for (std::uint32_t i = 0; i < m; ++i) {
      if (std::memcmp(psum + i * stride, result_.data() + std::size_t{i} * n, n * sizeof(float)) == 0) continue;
      for (std::uint32_t j = 0; j < n; ++j) {
        if (bits_of(psum[i * stride + j]) == bits_of(result_[std::size_t{i} * n + j])) continue;
        ++count;
        if (j < first_column) {
          first_column = j;
          first_row = i;
        }
      }
    }
    log_.compared(std::uint64_t{m} * n);
    const std::uint64_t surplus = rtl_->stats().surplus_sums;
    const std::uint64_t more = surplus - std::exchange(surplus_, surplus);
    if (count + more != 0) {
      Difference first;
      first.unit = config_.name;
      first.operation = operation_;
      ArrayCase operation = case_of(moving, mode);
      if (count != 0) {
        first.cycle = rtl_->sum_cycle(first_column);
        first.engine_cycle = rtl_->engine_cycle(first.cycle);
        first.lane = first_row;
        first.place = fmt::format("row {}, column {} of the result [{}, {}]", first_row, first_column, m, n);
        first.what = "psum";
        first.model = bits_of(psum[first_row * stride + first_column]);
        first.rtl = bits_of(result_[std::size_t{first_row} * n + first_column]);
        first.operands = list_operands(operation, first_row, first_column);
      } else {
        first.cycle = rtl_->sum_cycle(n - 1);
        first.engine_cycle = rtl_->engine_cycle(first.cycle);
        first.place = "after the last column";
        first.what = "rows of sums";
        first.is_fp32 = false;
        first.model = n;
        first.rtl = n + static_cast<std::uint32_t>(more);
      }
      first.reproducer = origin_;
      first.reproducer.operation = std::move(operation);
      first.reproducer.note = fmt::format("{}, matmul {}", config_.name, operation_);
      log_.differed(count + more, std::move(first));
    }
    ++operation_;
  }

  std::uint32_t latency_cycles() const override { return rtl_->latency_cycles(); }

 private:
  ArrayCase case_of(const OperandTile& moving, const MatmulMode& mode) const {
    ArrayCase operation = capture(stationary_, moving, mode, old_.data(), moving.columns(), config_.rows, config_.cols);
    operation.stationary = stationary_codes_;  // as they were when loaded
    return operation;
  }

  const std::unique_ptr<PeArray> model_;
  const std::unique_ptr<PeArrayRtl> rtl_;
  const PeArrayRtlConfig config_;
  const CosimCase origin_;
  LockstepLog& log_;
  OperandTile stationary_;
  std::vector<std::uint32_t> stationary_codes_;
  std::vector<float> old_, result_;
  std::uint64_t operation_ = 0;
  std::uint64_t surplus_ = 0;  // rows of sums so far
};

}  // namespace

std::vector<std::uint32_t> read_tile_codes(const OperandTile& tile) {
  std::vector<std::uint32_t> codes(std::size_t{tile.k()} * tile.columns());
  for (std::uint32_t p = 0; p < tile.k(); ++p) {
    read_codes(tile.store, tile.access, tile.offset_bytes, p, codes.data() + std::size_t{p} * tile.columns());
  }
  return codes;
}

ArrayCase capture(const OperandTile& stationary, const OperandTile& moving, const MatmulMode& mode, const float* psum,
                  std::size_t stride, std::uint32_t rows, std::uint32_t cols) {
  ArrayCase operation;
  operation.rows = rows;
  operation.cols = cols;
  operation.k = stationary.k();
  operation.m = stationary.columns();
  operation.n = moving.columns();
  operation.stationary_format = stationary.access.format;
  operation.moving_format = moving.access.format;
  operation.accumulate = mode.accumulate;
  operation.stationary_one_zero = mode.stationary_one_zero;
  operation.moving_one_zero = mode.moving_one_zero;
  operation.stationary = read_tile_codes(stationary);
  operation.moving = read_tile_codes(moving);
  for (std::uint32_t i = 0; mode.accumulate && i < operation.m; ++i) {
    for (std::uint32_t j = 0; j < operation.n; ++j) operation.psum.push_back(bits_of(psum[i * stride + j]));
  }
  return operation;
}

std::unique_ptr<PeArray> make_pe_array_lockstep(std::unique_ptr<PeArray> model, std::unique_ptr<PeArrayRtl> rtl,
                                                const PeArrayRtlConfig& config, const CosimCase& origin,
                                                LockstepLog& log) {
  return std::make_unique<PeArrayLockstep>(std::move(model), std::move(rtl), config, origin, log);
}

}  // namespace azulejo
