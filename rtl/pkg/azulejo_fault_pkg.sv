// SPDX-License-Identifier: Apache-2.0
// Names of the seeded faults. Twin: tlm/cosim/fault_table.cpp, which says what each does; a test compares the two.
package azulejo_fault_pkg;

  typedef enum logic [7:0] {
    NoFault = 8'd0,

    // fp_decode
    DecodeSubnormalAsNormal  = 8'd1,
    DecodeExponentOffByOne   = 8'd2,
    DecodeSubnormalExponent  = 8'd3,
    DecodeSignDropped        = 8'd4,
    DecodeInfinityAsFinite   = 8'd5,
    DecodeE4m3fnAsIeee       = 8'd6,
    DecodeNanAsInfinity      = 8'd7,
    DecodeInt8AsUnsigned     = 8'd8,
    DecodeTf32ExtraBit       = 8'd9,
    DecodeLowHalfUnsigned    = 8'd10,
    DecodeNegativeZero       = 8'd11,
    DecodeHighHalfRounded    = 8'd12,
    DecodeSpecialInLowHalf   = 8'd13,

    // fp_multiply
    MultiplySignOr           = 8'd16,
    MultiplyExponentOffByOne = 8'd17,
    MultiplySameOperand      = 8'd18,
    MultiplyLastBitDropped   = 8'd19,
    MultiplyInfinityTimesZero = 8'd20,
    MultiplyNanDropped       = 8'd21,
    MultiplySpecialPairKept  = 8'd22,

    // fp_align_add
    AddStickyDropped         = 8'd24,
    AddAlignOffByOne         = 8'd25,
    AddAlignWraps            = 8'd26,
    AddNeverSubtracts        = 8'd27,
    AddSignOfLarger          = 8'd28,
    AddCancellationSign      = 8'd29,
    AddSubnormalExponent     = 8'd30,
    AddSubnormalHiddenBit    = 8'd31,
    AddInfinityMinusInfinity = 8'd32,
    AddNanPayloadKept        = 8'd33,
    AddAbsentAsZero          = 8'd34,

    // fp_round
    RoundTieAway             = 8'd36,
    RoundTruncates           = 8'd37,
    RoundStickyIgnored       = 8'd38,
    RoundExponentOffByOne    = 8'd39,
    RoundOverflowToMax       = 8'd40,
    RoundSubnormalFlushed    = 8'd41,
    RoundCarryLost           = 8'd42,
    RoundNormalizeShort      = 8'd43,
    RoundZeroUnsigned        = 8'd44,

    // pe
    PeStaleWeight            = 8'd48,
    PeLostValid              = 8'd49,
    PeWeightRowOffByOne      = 8'd50,
    PeStaleActivation        = 8'd51,
    PeIgnoresStall           = 8'd53,
    PeWeightChainBroken      = 8'd54,
    PeNoDoubleBuffer         = 8'd55,
    PeValidStuck             = 8'd56,

    // pe_array_edge
    EdgeSkewShort            = 8'd60,
    EdgeSwapLost             = 8'd61,
    EdgeLanesExchanged       = 8'd62,
    EdgeFormatFixed          = 8'd63,
    EdgeIgnoresStall         = 8'd64,

    // pe_array_drain
    DrainSkewShort           = 8'd68,
    DrainNeverAccumulates    = 8'd69,
    DrainAddendOfFirstLane   = 8'd70,
    DrainValidEarly          = 8'd71,
    DrainIgnoresStall        = 8'd72,

    // fp_encode
    EncodeNeverUp            = 8'd80,
    EncodeTieAway            = 8'd81,
    EncodeThresholdInclusive = 8'd82,
    EncodeRandomShifted      = 8'd83,
    EncodeCarryLost          = 8'd84,
    EncodeSubnormalUnit      = 8'd85,
    EncodeSubnormalFlushed   = 8'd86,
    EncodeSaturateIgnored    = 8'd87,
    EncodeOverflowLate       = 8'd88,
    EncodeInfinityKept       = 8'd89,
    EncodeNanSaturated       = 8'd90,
    EncodeE4m3fnAsIeee       = 8'd91,
    EncodeScaleOfNegative    = 8'd92,
    EncodeZeroUnsigned       = 8'd93,
    EncodeIntegerTruncates   = 8'd94,
    EncodeIntegerWraps       = 8'd95,
    EncodeIntegerStochastic  = 8'd96,

    // lfsr_source
    LfsrTapWrong             = 8'd100,
    LfsrStepShort            = 8'd101,
    LfsrEvenHeld             = 8'd102,
    LfsrZeroKept             = 8'd103,

    // xorwow_source
    XorwowShiftWrong         = 8'd104,
    XorwowIncrementWrong     = 8'd105,
    XorwowWordsNotMoved      = 8'd106,
    XorwowCounterNotAdded    = 8'd107,
    XorwowZeroKept           = 8'd108,

    // stochastic_rounding_unit
    UnitDrawSkipsZero        = 8'd112,
    UnitDrawSkipsSpecial     = 8'd113,
    UnitDrawsInNearestEven   = 8'd114,
    UnitDrawsForExactFormat  = 8'd115,
    UnitDrawsForAbsentLane   = 8'd116,
    UnitDrawsWhileStalled    = 8'd117,
    UnitOldWord              = 8'd118,
    UnitDropsBeat            = 8'd119,
    UnitLoadIgnored          = 8'd120,
    UnitWordOfFirstLane      = 8'd121

  } fault_e;

endpackage
