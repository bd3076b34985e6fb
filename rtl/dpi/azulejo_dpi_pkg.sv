// SPDX-License-Identifier: Apache-2.0
// The arithmetic of the platform for test benches in any simulator: the DPI-C functions of libazulejo_dpi.
//
// Formats are numbered as azulejo_pkg::format_e. FP32 values are bit patterns, codes stand in the low bits, and a NaN result
// is the canonical one. Flags are 0 or 1; `flush` is the units' FlushDenormals. No function fails: each comment names the
// result of an argument that is not allowed. A null handle is allowed everywhere, a freed one nowhere.
package azulejo_dpi_pkg;

  // Random sources: rtl/rounding/lfsr_source.sv and xorwow_source.sv
  typedef enum int unsigned {
    Lfsr   = 0,
    Xorwow = 1
  } random_source_e;

  // fp_decode: the FP32 value of `code`, exact (Int32 and Uint32: rounded to nearest even); a code subnormal in its own format
  // becomes a signed zero under `flush`. Unknown format: 7FC00000.
  import "DPI-C" pure function int unsigned azulejo_decode(
    input int unsigned format, input int unsigned code, input byte unsigned flush);

  // fp_encode: FP32 `value` rounded once into `format`, to nearest even, or stochastically: away from zero where `random_word`
  // is below the fraction of a unit, counted in 2^-32. Overflow gives the largest finite value under `saturate`, else infinity
  // (NaN in a format without it). Unknown format: FFFFFFFF.
  import "DPI-C" pure function int unsigned azulejo_encode(
    input int unsigned format, input int unsigned value, input byte unsigned stochastic, input byte unsigned saturate,
    input byte unsigned flush, input int unsigned random_word);

  // pe: a * b + acc, rounded once to nearest even; what a PE makes of whole operands. Under `flush` a subnormal result becomes
  // a signed zero; the operands are taken as they are, since azulejo_decode() has flushed them. (An Absent operand leaves acc
  // as it is; there is no call for it.)
  import "DPI-C" pure function int unsigned azulejo_fma(
    input int unsigned a, input int unsigned b, input int unsigned acc, input byte unsigned flush);

  // fp_add: a + b, rounded once to nearest even; PSUM's accumulation. Under `flush` subnormal operands and a subnormal sum
  // become signed zeros.
  import "DPI-C" pure function int unsigned azulejo_add(
    input int unsigned a, input int unsigned b, input byte unsigned flush);

  // A lane's source of random words, seeded as the platform seeds `lane` of `engine`. Unknown source: null.
  import "DPI-C" function chandle azulejo_random_new(
    input int unsigned source, input longint unsigned seed, input int unsigned engine, input int unsigned lane);

  // The next word. Null: 0.
  import "DPI-C" function int unsigned azulejo_random_next(input chandle handle);

  // Word 0 to 5 of the state, as the sources' state_o has it: Lfsr in word 0; Xorwow in words 0 to 4, its counter in word 5.
  // Null, or a word above 5: 0.
  import "DPI-C" function int unsigned azulejo_random_state(input chandle handle, input int unsigned word);

  // Sets the state, as the sources' load_i does: an all-zero generator is replaced, words that the source lacks are ignored.
  import "DPI-C" function void azulejo_random_set_state(
    input chandle handle, input int unsigned word0, input int unsigned word1, input int unsigned word2,
    input int unsigned word3, input int unsigned word4, input int unsigned word5);

  // Ends a handle.
  import "DPI-C" function void azulejo_random_free(input chandle handle);

  // stochastic_rounding_unit: one element, azulejo_encode() with a word from the handle, which is taken exactly if the element
  // is rounded stochastically into a floating-point format narrower than FP32, whatever its value. Unknown format, or a null
  // handle where a word is taken: FFFFFFFF.
  import "DPI-C" function int unsigned azulejo_rounding_step(
    input chandle handle, input int unsigned format, input int unsigned value, input byte unsigned stochastic,
    input byte unsigned saturate, input byte unsigned flush);

endpackage
