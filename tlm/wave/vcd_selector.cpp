// SPDX-License-Identifier: Apache-2.0
#include "tlm/wave/vcd_selector.h"

namespace azulejo {

std::string vcd_preamble() { return "$version azulejo $end\n$timescale 1fs $end\n"; }

void VcdSelector::write(std::string_view text) {
  stream_.write(text);
  if (text_.empty()) return;
  output_.write(text_);
  text_.clear();
}

void VcdSelector::scope_begins(std::string_view name) {
  if (open_ == 0 && opening_.empty() && codes_.empty()) text_ += vcd_preamble();
  opening_.emplace_back(name);
}

void VcdSelector::scope_ends() {
  if (!opening_.empty()) {
    opening_.pop_back();
    return;
  }
  text_ += "$upscope $end\n";
  --open_;
}

void VcdSelector::variable(const VcdVariable& variable) {
  if (!wanted_(variable)) return;
  for (const std::string& scope : opening_) text_ += "$scope module " + scope + " $end\n";
  open_ += opening_.size();
  opening_.clear();
  if (codes_.size() <= variable.code) codes_.resize(variable.code + 1);
  std::string& code = codes_[variable.code];
  code = vcd_code(variable.code);
  text_ += "$var " + variable.type + " " + std::to_string(variable.bits) + " " + code + " " + variable.name +
           (variable.range.empty() ? "" : " " + variable.range) + " $end\n";
}

void VcdSelector::definitions_end() { text_ += "$enddefinitions $end\n"; }

void VcdSelector::time(std::uint64_t time) { time_ = "#" + std::to_string(time) + "\n"; }

void VcdSelector::close() {
  if (!time_.empty()) output_.write(time_);
  time_.clear();
}

void VcdSelector::value(std::uint32_t code, std::string_view bits) {
  if (code >= codes_.size() || codes_[code].empty()) return;
  text_ += time_;
  time_.clear();
  if (bits.size() == 1) {
    text_ += bits;
  } else {
    text_ += 'b';
    text_ += bits;
    text_ += ' ';
  }
  text_ += codes_[code];
  text_ += '\n';
}

}  // namespace azulejo
