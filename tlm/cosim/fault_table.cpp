// SPDX-License-Identifier: Apache-2.0
#include "tlm/cosim/fault_table.h"

#include <fmt/format.h>

#include "tlm/common/error.h"
#include "tlm/isa/instruction.h"
#include "tlm/isa/text.h"

namespace azulejo {
namespace {

// Modules whose instances are in a PE.
bool is_in_pe(std::string_view module) {
  return module == "pe" || module == "fp_multiply" || module == "fp_align_add" || module == "fp_round";
}

// Modules of an array besides its PEs.
bool is_in_array(std::string_view module) {
  return module == "fp_decode" || module == "pe_array_edge" || module == "pe_array_drain";
}

// "pe_3_17": the row and column of a PE. False if the word has another form.
bool read_pe_place(std::string_view word, FaultPlace& place) {
  if (word.substr(0, 3) != "pe_") return false;
  const std::size_t between = word.find('_', 3);
  if (between == std::string_view::npos) return false;
  const auto number = [](std::string_view digits, int& value) {
    if (digits.empty() || digits.size() > 3 || digits.find_first_not_of("0123456789") != std::string_view::npos) {
      return false;
    }
    value = 0;
    for (const char c : digits) value = value * 10 + (c - '0');
    return value < static_cast<int>(kPartitions);
  };
  return number(word.substr(3, between - 3), place.row) && number(word.substr(between + 1), place.col);
}

}  // namespace

const std::vector<RtlFault>& rtl_faults() {
  static const std::vector<RtlFault> kFaults = {
      {1, "decode_subnormal_as_normal", "DecodeSubnormalAsNormal", "fp_decode", "a subnormal code gets a hidden bit",
       ""},
      {2, "decode_exponent_off_by_one", "DecodeExponentOffByOne", "fp_decode", "every exponent is one too large", ""},
      {3, "decode_subnormal_exponent", "DecodeSubnormalExponent", "fp_decode",
       "a subnormal is taken for half its value, by exponent field 0 in place of 1", ""},
      {4, "decode_sign_dropped", "DecodeSignDropped", "fp_decode", "every operand is positive", ""},
      {5, "decode_infinity_as_finite", "DecodeInfinityAsFinite", "fp_decode",
       "an infinity is taken for a finite number", ""},
      {6, "decode_e4m3fn_as_ieee", "DecodeE4m3fnAsIeee", "fp_decode", "E4M3FN has the infinity and the NaNs of E4M3",
       ""},
      {7, "decode_nan_as_infinity", "DecodeNanAsInfinity", "fp_decode", "a NaN is taken for an infinity", ""},
      {8, "decode_int8_as_unsigned", "DecodeInt8AsUnsigned", "fp_decode", "Int8 is read as Uint8", ""},
      {9, "decode_tf32_extra_bit", "DecodeTf32ExtraBit", "fp_decode",
       "TF32 keeps the first of the bits that it ignores", ""},
      {10, "decode_low_half_unsigned", "DecodeLowHalfUnsigned", "fp_decode",
       "the low half of an FP32 value has no sign", ""},
      {11, "decode_negative_zero", "DecodeNegativeZero", "fp_decode", "a negative zero becomes a positive one", ""},
      {12, "decode_high_half_rounded", "DecodeHighHalfRounded", "fp_decode",
       "the high half of an FP32 value is rounded by the low half", ""},
      {13, "decode_special_in_low_half", "DecodeSpecialInLowHalf", "fp_decode",
       "an infinity or NaN is in the low half too", ""},
      {16, "multiply_sign_or", "MultiplySignOr", "fp_multiply", "the product of two negative operands is negative", ""},
      {17, "multiply_exponent_off_by_one", "MultiplyExponentOffByOne", "fp_multiply",
       "every product is twice too large", ""},
      {18, "multiply_same_operand", "MultiplySameOperand", "fp_multiply",
       "the activation's significand is multiplied by itself", ""},
      {19, "multiply_last_bit_dropped", "MultiplyLastBitDropped", "fp_multiply", "the product's last bit is 0", ""},
      {20, "multiply_infinity_times_zero", "MultiplyInfinityTimesZero", "fp_multiply",
       "infinity times zero is infinite in place of NaN", ""},
      {21, "multiply_nan_dropped", "MultiplyNanDropped", "fp_multiply", "a NaN operand makes no NaN product", ""},
      {22, "multiply_special_pair_kept", "MultiplySpecialPairKept", "fp_multiply",
       "an infinity or NaN is multiplied by low halves too", ""},
      {24, "add_sticky_dropped", "AddStickyDropped", "fp_align_add",
       "what the alignment shifts out leaves no sticky bit", ""},
      {25, "add_align_off_by_one", "AddAlignOffByOne", "fp_align_add", "the smaller one is aligned a bit too far right",
       ""},
      {26, "add_align_wraps", "AddAlignWraps", "fp_align_add", "the alignment distance counts modulo 64", ""},
      {27, "add_never_subtracts", "AddNeverSubtracts", "fp_align_add", "magnitudes of unlike sign are added", ""},
      {28, "add_sign_of_larger", "AddSignOfLarger", "fp_align_add",
       "the sum has the sign of the one of larger exponent, though its magnitude be smaller", ""},
      {29, "add_cancellation_sign", "AddCancellationSign", "fp_align_add", "a sum that cancels to zero is negative",
       ""},
      {30, "add_subnormal_exponent", "AddSubnormalExponent", "fp_align_add",
       "a subnormal addend has exponent field 0 in place of 1", ""},
      {31, "add_subnormal_hidden_bit", "AddSubnormalHiddenBit", "fp_align_add", "a subnormal addend has a hidden bit",
       ""},
      {32, "add_infinity_minus_infinity", "AddInfinityMinusInfinity", "fp_align_add",
       "infinity minus infinity is infinite in place of NaN", ""},
      {33, "add_nan_payload_kept", "AddNanPayloadKept", "fp_align_add",
       "a NaN addend keeps its bits in place of the canonical NaN's", ""},
      {34, "add_absent_as_zero", "AddAbsentAsZero", "fp_align_add",
       "an absent product is added as +0, which makes -0 positive", ""},
      {36, "round_tie_away", "RoundTieAway", "fp_round", "ties round away from zero", ""},
      {37, "round_truncates", "RoundTruncates", "fp_round", "sums are truncated", ""},
      {38, "round_sticky_ignored", "RoundStickyIgnored", "fp_round",
       "what lies below the guard bit is ignored, so that it counts as a tie", ""},
      {39, "round_exponent_off_by_one", "RoundExponentOffByOne", "fp_round", "every rounded exponent is one too large",
       ""},
      {40, "round_overflow_to_max", "RoundOverflowToMax", "fp_round", "overflow gives the largest finite value", ""},
      {41, "round_subnormal_flushed", "RoundSubnormalFlushed", "fp_round",
       "a subnormal sum becomes zero though denormals are kept", ""},
      {42, "round_carry_lost", "RoundCarryLost", "fp_round",
       "a rounding that would carry into the exponent is not done", ""},
      {43, "round_normalize_short", "RoundNormalizeShort", "fp_round", "the last step of the normalization is missing",
       ""},
      {44, "round_zero_unsigned", "RoundZeroUnsigned", "fp_round", "a zero sum is always positive", ""},
      {48, "pe_stale_weight", "PeStaleWeight", "pe", "the active weight is never replaced by the shadow", ""},
      {49, "pe_lost_valid", "PeLostValid", "pe", "an activation with a swap is not passed on as valid", ""},
      {50, "pe_weight_row_off_by_one", "PeWeightRowOffByOne", "pe", "a weight is taken one PE too early", ""},
      {51, "pe_stale_activation", "PeStaleActivation", "pe",
       "an activation with a swap is not passed on; the one before it is", ""},
      {53, "pe_ignores_stall", "PeIgnoresStall", "pe", "a stalled PE goes on", ""},
      {54, "pe_weight_chain_broken", "PeWeightChainBroken", "pe", "the chain never passes on a new weight", ""},
      {55, "pe_no_double_buffer", "PeNoDoubleBuffer", "pe",
       "the shadow is multiplied, so that a weight counts as soon as it is loaded", ""},
      {56, "pe_valid_stuck", "PeValidStuck", "pe", "an activation once valid stays valid", ""},
      {60, "edge_skew_short", "EdgeSkewShort", "pe_array_edge", "the last lane leaves one cycle early", ""},
      {61, "edge_swap_lost", "EdgeSwapLost", "pe_array_edge", "swaps and row counts are 0", ""},
      {62, "edge_lanes_exchanged", "EdgeLanesExchanged", "pe_array_edge", "the first two lanes are exchanged", ""},
      {63, "edge_format_fixed", "EdgeFormatFixed", "pe_array_edge", "every format is decoded as BF16", ""},
      {64, "edge_ignores_stall", "EdgeIgnoresStall", "pe_array_edge", "a stalled edge goes on", ""},
      {68, "drain_skew_short", "DrainSkewShort", "pe_array_drain", "the first lane leaves one cycle early", ""},
      {69, "drain_never_accumulates", "DrainNeverAccumulates", "pe_array_drain", "PSUM's old values are not added", ""},
      {70, "drain_addend_of_first_lane", "DrainAddendOfFirstLane", "pe_array_drain",
       "all lanes add the old value of the first one", ""},
      {71, "drain_valid_early", "DrainValidEarly", "pe_array_drain", "a row is valid when its first lane has arrived",
       ""},
      {72, "drain_ignores_stall", "DrainIgnoresStall", "pe_array_drain", "a stalled drain goes on", ""},
      {80, "encode_never_up", "EncodeNeverUp", "fp_encode", "nothing rounds up", ""},
      {81, "encode_tie_away", "EncodeTieAway", "fp_encode", "ties round away from zero", ""},
      {82, "encode_threshold_inclusive", "EncodeThresholdInclusive", "fp_encode",
       "a random word equal to the fraction rounds up", ""},
      {83, "encode_random_shifted", "EncodeRandomShifted", "fp_encode",
       "the random word lacks its top bit, so that it is half of what it should be", ""},
      {84, "encode_carry_lost", "EncodeCarryLost", "fp_encode", "rounding up sets the last bit without a carry", ""},
      {85, "encode_subnormal_unit", "EncodeSubnormalUnit", "fp_encode", "the unit of subnormals is twice too large",
       ""},
      {86, "encode_subnormal_flushed", "EncodeSubnormalFlushed", "fp_encode",
       "a subnormal result becomes zero though denormals are kept", ""},
      {87, "encode_saturate_ignored", "EncodeSaturateIgnored", "fp_encode", "overflow never saturates", ""},
      {88, "encode_overflow_late", "EncodeOverflowLate", "fp_encode",
       "the code after the largest finite one does not count as overflow", ""},
      {89, "encode_infinity_kept", "EncodeInfinityKept", "fp_encode",
       "an infinity does not saturate where the format has one", ""},
      {90, "encode_nan_saturated", "EncodeNanSaturated", "fp_encode",
       "a NaN becomes the largest finite value under saturate", ""},
      {91, "encode_e4m3fn_as_ieee", "EncodeE4m3fnAsIeee", "fp_encode", "E4M3FN is encoded as E4M3", ""},
      {92, "encode_scale_of_negative", "EncodeScaleOfNegative", "fp_encode",
       "a negative value gives an E8M0 scale in place of NaN", ""},
      {93, "encode_zero_unsigned", "EncodeZeroUnsigned", "fp_encode", "a zero result is always positive", ""},
      {94, "encode_integer_truncates", "EncodeIntegerTruncates", "fp_encode", "integer targets truncate", ""},
      {95, "encode_integer_wraps", "EncodeIntegerWraps", "fp_encode", "integer targets wrap in place of saturating",
       ""},
      {96, "encode_integer_stochastic", "EncodeIntegerStochastic", "fp_encode", "integer targets round stochastically",
       ""},
      {100, "lfsr_tap_wrong", "LfsrTapWrong", "lfsr_source", "one tap too many", ""},
      {101, "lfsr_step_short", "LfsrStepShort", "lfsr_source", "31 steps a word in place of 32", ""},
      {102, "lfsr_even_held", "LfsrEvenHeld", "lfsr_source", "the state stays when the new word is even", ""},
      {103, "lfsr_zero_kept", "LfsrZeroKept", "lfsr_source", "a zero state is loaded as it is, and stays", ""},
      {104, "xorwow_shift_wrong", "XorwowShiftWrong", "xorwow_source", "the first shift is by 3 in place of 2", ""},
      {105, "xorwow_increment_wrong", "XorwowIncrementWrong", "xorwow_source", "the counter grows by one too little",
       ""},
      {106, "xorwow_words_not_moved", "XorwowWordsNotMoved", "xorwow_source",
       "the newest word is written, but the others stay", ""},
      {107, "xorwow_counter_not_added", "XorwowCounterNotAdded", "xorwow_source",
       "the counter is not added to the word", ""},
      {108, "xorwow_zero_kept", "XorwowZeroKept", "xorwow_source", "a zero state is loaded as it is, and stays", ""},
      {112, "unit_draw_skips_zero", "UnitDrawSkipsZero", "stochastic_rounding_unit", "a zero takes no word", ""},
      {113, "unit_draw_skips_special", "UnitDrawSkipsSpecial", "stochastic_rounding_unit",
       "an infinity or NaN takes no word", ""},
      {114, "unit_draws_in_nearest_even", "UnitDrawsInNearestEven", "stochastic_rounding_unit",
       "nearest even takes words too", ""},
      {115, "unit_draws_for_exact_format", "UnitDrawsForExactFormat", "stochastic_rounding_unit",
       "FP32 and integer targets take words too", ""},
      {116, "unit_draws_for_absent_lane", "UnitDrawsForAbsentLane", "stochastic_rounding_unit",
       "a lane without an element takes words too", ""},
      {117, "unit_draws_while_stalled", "UnitDrawsWhileStalled", "stochastic_rounding_unit",
       "an element that waits takes a word every cycle", ""},
      {118, "unit_old_word", "UnitOldWord", "stochastic_rounding_unit",
       "the word is the old state in place of the new one", ""},
      {119, "unit_drops_beat", "UnitDropsBeat", "stochastic_rounding_unit",
       "a beat is accepted while the one before it still waits", ""},
      {120, "unit_load_ignored", "UnitLoadIgnored", "stochastic_rounding_unit", "states are never loaded", ""},
      {121, "unit_word_of_first_lane", "UnitWordOfFirstLane", "stochastic_rounding_unit",
       "every lane uses lane 0's random word",
       "with the one lane per instance that the platform uses there is no other lane; tests/rtl/dpi_test.sh detects it "
       "with four"},
  };
  return kFaults;
}

bool runs_module(std::string_view unit, std::string_view module) {
  if (unit == "pe") return is_in_pe(module);
  const bool in_array = is_in_pe(module) || is_in_array(module);
  return (unit == "array") == in_array;
}

FaultPlace parse_fault(const std::string& text) {
  const std::size_t at = text.find('@');
  const std::string_view name = std::string_view(text).substr(0, at);
  FaultPlace place;
  for (const RtlFault& fault : rtl_faults()) {
    if (fault.name == name) place.fault = &fault;
  }
  if (place.fault == nullptr) {
    std::vector<std::string_view> names;
    for (const RtlFault& fault : rtl_faults()) names.push_back(fault.name);
    const std::string near = did_you_mean(name, names);
    throw ConfigError("no seeded fault " + quote_word(name) +
                      (near.empty() ? "; 'azulejo list faults' has their names" : near));
  }
  if (at == std::string::npos) return place;

  std::string_view path = std::string_view(text).substr(at + 1);
  const bool in_pe = is_in_pe(place.fault->module);
  const auto refuse = [&](const std::string& why) {
    throw ConfigError(fmt::format("fault {}: the place {} {}; {}", name, quote_word(path), why,
                                  in_pe ? "places look like chip0.nc0.tensor_engine, pe_3_17 or "
                                          "chip0.nc0.tensor_engine.pe_3_17"
                                  : is_in_array(place.fault->module) ? "places look like chip0.nc0.tensor_engine"
                                                                     : "places look like chip0.nc0.vector_engine"));
  };
  std::string_view instance = path;
  const std::size_t dot = path.rfind('.');
  const std::string_view last = path.substr(dot == std::string_view::npos ? 0 : dot + 1);
  if (last.substr(0, 3) == "pe_") {
    if (!read_pe_place(last, place)) {
      refuse(fmt::format("names no PE; rows and columns are 0 to {}", kPartitions - 1));
    }
    if (!in_pe) refuse(fmt::format("is a PE, and {} is in none", place.fault->module));
    instance = dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
    if (dot == std::string_view::npos) return place;
  }
  const bool good = !instance.empty() && instance.front() != '.' && instance.back() != '.' &&
                    instance.find("..") == std::string_view::npos &&
                    instance.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.") == std::string_view::npos;
  if (!good) refuse("is no path of an instance");
  place.instance = std::string(instance);
  return place;
}

}  // namespace azulejo
