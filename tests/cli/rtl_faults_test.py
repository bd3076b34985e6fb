# SPDX-License-Identifier: Apache-2.0
"""Does a platform run in lockstep notice a seeded fault of every RTL module?"""
from cli_support import CliTest, TRN1, main, size

STOCHASTIC = ("--set", "vector_engine.rounding=stochastic")
XORWOW = ("--set", "vector_engine.random_source=xorwow")
# Module: a fault of it and what its run needs besides.
FAULTS = {
    "fp_decode": ("decode_exponent_off_by_one",),
    "fp_multiply": ("multiply_same_operand",),
    "fp_align_add": ("add_never_subtracts",),
    "fp_round": ("round_truncates",),
    "pe": ("pe_stale_weight",),
    "pe_array_edge": ("edge_skew_short",),
    "pe_array_drain": ("drain_skew_short",),
    "fp_encode": ("encode_never_up",),
    "lfsr_source": ("lfsr_tap_wrong", *STOCHASTIC),
    "xorwow_source": ("xorwow_shift_wrong", *STOCHASTIC, *XORWOW),
    "stochastic_rounding_unit": ("unit_old_word", *STOCHASTIC),
}
GEMM = ("run", TRN1, "gemm", *size(32, 64, 64), "--pe", "lockstep")


class Faults(CliTest):
    def test_no_module_is_missing(self):
        listed = self.good("list", "faults").splitlines()[1:]
        self.assertEqual({line.split()[1] for line in listed}, set(FAULTS))

    def test_each_module_is_noticed(self):
        for module, (fault, *settings) in FAULTS.items():
            with self.subTest(module=module):
                done = self.call(*GEMM, *settings, "--rtl-fault", fault, "--reproducer", f"{module}.json")
                self.assertEqual(done.returncode, 1, (done.stdout, done.stderr))
                self.assertRegex(done.stdout, r"(?m)^lockstep +\d+ elements compared, [1-9]\d* mismatch")
                self.assertEqual(self.call("cosim", "replay", f"{module}.json", "--quiet").returncode, 1)
                self.assertEqual(self.call("cosim", "replay", f"{module}.json", "--quiet", "--rtl-fault", "none").returncode, 0)

    def test_the_same_runs_without_a_fault_pass(self):
        for settings in ((), STOCHASTIC, (*STOCHASTIC, *XORWOW)):
            self.good(*GEMM, *settings)


if __name__ == "__main__":
    main()
