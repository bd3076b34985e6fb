# SPDX-License-Identifier: Apache-2.0
"""Do the co-verification campaigns pass on the RTL, fail on a seeded fault, and leave a file that shows it again?"""
import json
import re

from cli_support import CliTest, main

REPRODUCER = "azulejo-mismatch.json"
ARRAY = ("cosim", "array", "--rows", "8", "--cols", "8", "--n", "24")
# A campaign that shows the fault.
FAULTS = {
    "multiply_last_bit_dropped": ("pe", "--format", "bf16,fp16", "--macs", "20000"),
    "add_sticky_dropped": ("pe", "--format", "fp16", "--macs", "20000"),
    "round_tie_away": ("pe", "--format", "bf16", "--macs", "20000"),
    "pe_ignores_stall": ("pe", "--format", "bf16", "--macs", "20000"),
    "pe_stale_weight@pe_5_2": ("array", "--rows", "8", "--cols", "8", "--n", "24", "--format", "bf16"),
    "decode_sign_dropped": ("array", "--rows", "8", "--cols", "8", "--n", "24"),
    "edge_skew_short": ("array", "--rows", "8", "--cols", "8", "--n", "24", "--stalls"),
    "drain_never_accumulates": ("array", "--rows", "8", "--cols", "8", "--n", "24", "--matmuls", "4"),
    "encode_tie_away": ("rounding", "--format", "bf16,e4m3", "--values", "10000"),
    "lfsr_tap_wrong": ("rounding", "--format", "bf16", "--values", "10000"),
    "xorwow_shift_wrong": ("rounding", "--format", "bf16", "--values", "10000"),
    "unit_draws_while_stalled": ("rounding", "--format", "bf16", "--values", "10000"),
}


class CosimTest(CliTest):
    def passes(self, *arguments):
        """Runs what must pass, without a file left behind. The output and the last line."""
        output = self.good("cosim", *arguments)
        last = output.splitlines()[-1]
        self.assertRegex(last, rf"^PASS {arguments[0]} ", arguments)
        self.assertFalse((self.dir / REPRODUCER).exists(), arguments)
        return output, last

    def fails(self, *arguments):
        done = self.call("cosim", *arguments)
        self.assertEqual(done.returncode, 1, (arguments, done.stdout, done.stderr))
        last = done.stdout.splitlines()[-1]
        self.assertRegex(last, rf"^FAIL {arguments[0]} ", arguments)
        return done.stdout, last


class Campaigns(CosimTest):
    def test_pe_passes_and_counts_what_it_compared(self):
        output, last = self.passes("pe", "--format", "bf16,e4m3", "--macs", "30000")
        macs = int(re.fullmatch(r"PASS pe bf16, e4m3: (\d+) MACs, 0 mismatches", last)[1])
        self.assertGreaterEqual(macs, 60000)
        self.assertRegex(output, rf"(?m)^MACs +{macs}$")
        self.assertRegex(output, r"(?m)^mismatches +0$")
        self.assertRegex(output, r"(?m)^functional coverage +100.0 % of \d+ bins$")
        for format_name in ("bf16", "e4m3"):
            self.assertRegex(output, rf"(?m)^{format_name} .* 100.0 +(\d+)/\1$")

    def test_pe_takes_every_pair_of_8_bit_codes(self):
        _, last = self.passes("pe", "--format", "e5m2", "--exhaustive", "--no-stalls")
        self.assertGreaterEqual(int(re.search(r"exhaustive: (\d+) MACs", last)[1]), 256 * 256 * 2)

    def test_pe_mixes_formats(self):
        one, _ = self.passes("pe", "--format", "e4m3,e5m2", "--macs", "1000")
        both, _ = self.passes("pe", "--format", "e4m3,e5m2", "--macs", "1000", "--mixed")
        self.assertNotIn("e4m3 x e5m2", one)
        self.assertIn("e4m3 x e5m2", both)

    def test_without_stalls_there_are_no_bins_for_them(self):
        def bins(*more):
            output, _ = self.passes("pe", "--format", "e2m1", "--macs", "1000", *more)
            return int(re.search(r"% of (\d+) bins", output)[1])
        self.assertEqual(bins(), 3 * bins("--no-stalls"))

    def test_rounding_passes_with_both_sources(self):
        output, last = self.passes("rounding", "--format", "bf16,e4m3fn,int8", "--values", "20000")
        conversions = int(re.fullmatch(r"PASS rounding bf16, e4m3fn, int8: (\d+) conversions, 0 mismatches", last)[1])
        self.assertGreaterEqual(conversions, 20000)
        self.assertIn("lfsr, xorwow", output)
        for format_name in ("bf16", "e4m3fn", "int8"):
            self.assertRegex(output, rf"(?m)^{format_name} +\d+/\d+")

    def test_holes_are_named(self):
        output, _ = self.passes("rounding", "--format", "uint32", "--values", "1")
        self.assertRegex(output, r"(?m)^holes: \d+\n  uint32: \w+")

    def test_array_passes(self):
        output, last = self.passes(*ARRAY[1:], "--format", "bf16,fp32", "--matmuls", "3", "--stalls")
        self.assertRegex(last, r"^PASS array 8 x 8 bf16, fp32: \d+ sums, 0 mismatches$")
        self.assertRegex(output, r"(?m)^matmuls +6 on 8 x 8 PEs$")

    def test_the_seed_decides(self):
        def differing(seed):
            output, _ = self.fails(*ARRAY[1:], "--format", "bf16", "--rtl-fault", "pe_stale_weight", "--seed", seed)
            return re.search(r"(?m)^first difference: (.*)$", output)[1]
        self.assertEqual(differing(1), differing(1))
        self.assertNotEqual(differing(1), differing(2))

    def test_quiet_prints_one_line(self):
        output, last = self.passes("pe", "--format", "e2m1", "--macs", "1000", "--quiet")
        self.assertEqual(output, last + "\n")
        output, last = self.fails("pe", "--format", "bf16", "--macs", "1000", "--rtl-fault", "round_truncates", "--quiet")
        self.assertEqual(output, last + "\n")
        self.assertTrue((self.dir / REPRODUCER).exists())


class Reproducers(CosimTest):
    def test_a_fault_fails_and_its_reproducer_shows_it_again(self):
        for fault, arguments in FAULTS.items():
            with self.subTest(fault=fault):
                output, last = self.fails(*arguments, "--rtl-fault", fault)
                self.assertRegex(last, r"[1-9]\d* mismatch(es)?$")
                first = re.search(r"(?m)^first difference: (\S+: operation \d+, cycle \d+.*)$", output)[1]
                self.assertRegex(first, r" in the model, .* in the RTL(; operands: .+)?$")
                self.assertIn(f"reproducer: {REPRODUCER}; run it again with: azulejo cosim replay {REPRODUCER}\n", output)
                case, = json.loads((self.dir / REPRODUCER).read_text())["cases"]
                self.assertEqual(case["fault"], fault)
                again, last = self.fails("replay", REPRODUCER)
                self.assertRegex(again, rf"(?m)^0 +{arguments[0]} +mismatches: \d+ +{re.escape(case['note'])}$")
                self.assertIn("first difference: ", again)
                output, last = self.call_replay_without_fault()
                self.assertEqual(last, f"PASS replay {REPRODUCER}: 1 case, 0 mismatches")
                self.assertRegex(output, rf"(?m)^0 +{arguments[0]} +no mismatch +{re.escape(case['note'])}$")
                (self.dir / REPRODUCER).unlink()

    def call_replay_without_fault(self):
        output = self.good("cosim", "replay", REPRODUCER, "--rtl-fault", "none")
        return output, output.splitlines()[-1]

    def test_replay_runs_every_case_and_takes_another_fault(self):
        cases = []
        for name, fault in (("a.json", "round_tie_away"), ("b.json", "multiply_sign_or")):
            self.fails("pe", "--format", "bf16", "--macs", "5000", "--rtl-fault", fault, "--reproducer", name)
            cases += json.loads((self.dir / name).read_text())["cases"]
        self.assertFalse((self.dir / REPRODUCER).exists())
        cases[1]["fault"] = ""
        (self.dir / "both.json").write_text(json.dumps({"azulejo_cosim": 1, "cases": cases}))
        output, last = self.fails("replay", "both.json")
        self.assertEqual(last, "FAIL replay both.json: 2 cases, 1 mismatch")
        self.assertRegex(output, r"(?m)^0 +pe +mismatches: 1 ")
        self.assertRegex(output, r"(?m)^1 +pe +no mismatch ")
        _, last = self.fails("replay", "both.json", "--rtl-fault", "multiply_exponent_off_by_one")
        self.assertEqual(last, "FAIL replay both.json: 2 cases, 2 mismatches")

    def test_a_reproducer_that_cannot_be_written_is_said_before_the_work(self):
        self.bad("cosim", "pe", "--macs", "100000000000", "--reproducer", "none/r.json", says=["--reproducer", "none"])
        self.bad("cosim", "rounding", "--reproducer", ".", says=["--reproducer", "directory"])

    def test_corrupt_files(self):
        self.fails("pe", "--format", "bf16", "--macs", "5000", "--rtl-fault", "round_tie_away")
        good = (self.dir / REPRODUCER).read_text()
        case = json.loads(good)["cases"][0]

        def corrupt(text, *says):
            (self.dir / "c.json").write_text(text)
            self.bad("cosim", "replay", "c.json", says=["c.json", *says])

        def changed(**values):
            return json.dumps({"azulejo_cosim": 1, "cases": [{**case, **values}]})
        corrupt("", "empty")
        corrupt(good[:-20], "byte")
        corrupt("PASS", "byte")
        corrupt(good.replace('"azulejo_cosim": 1', '"azulejo_cosim": 7'), "azulejo_cosim", "7", "version 1")
        corrupt('{"azulejo_cosim": 1, "cases": []}', "cases")
        corrupt(changed(unit="pee"), "cases[0].unit", "'pee'", "did you mean 'pe'?")
        corrupt(changed(fault="round_tie_awy"), "cases[0].fault", "did you mean 'round_tie_away'?")
        corrupt(changed(pipeline_stages=9), "cases[0].pipeline_stages", "9", "1 to 3")
        corrupt(changed(inputs=["xyz"]), "cases[0].inputs[0]", "'xyz'")
        corrupt(changed(inputs=["0 1"]), "cases[0].inputs[0]", "2")
        corrupt(changed(speed=1), "cases[0]", "'speed'")
        self.bad("cosim", "replay", "missing.json", says=["missing.json", "No such file"])
        self.bad("cosim", "replay", ".", says=["cannot be read"])


class Mutants(CosimTest):
    def test_every_seeded_fault_is_detected(self):
        output = self.good("cosim", "mutants")
        lines = output.splitlines()
        detected, counting, percent = re.fullmatch(r"PASS mutation score (\d+)/(\d+) = ([\d.]+) %", lines[-1]).groups()
        self.assertGreaterEqual(int(counting), 60)
        self.assertGreaterEqual(int(detected), 0.95 * int(counting))
        self.assertEqual(float(percent), int(1000 * int(detected) / int(counting)) / 10)
        self.assertRegex(output, r"(?m)^without a fault: no mismatch in [1-9]\d+ cases, [1-9]\d+ RTL cycles$")
        table = [line.split() for line in lines[1:lines.index("")]]
        equivalent = int(re.search(r"(?m)^equivalent, .*: (\d+)$", output)[1])
        survivors = int(re.search(r"(?m)^survivors: (\d+)$", output)[1])
        self.assertEqual(len(table), int(counting) + equivalent)
        self.assertEqual(int(counting) - int(detected), survivors)
        for name, module, by, cycles, _ in table:
            self.assertIn(by, ("pe", "array", "rounding", "-"), name)
            self.assertGreater(int(cycles), 0, name)
        # At least one of every module.
        modules = {module: {by for _, m, by, *_ in table if m == module} for _, module, *_ in table}
        for module, by in modules.items():
            self.assertTrue(by - {"-"}, module)

    def test_some_by_name(self):
        output = self.good("cosim", "mutants", "lfsr_tap_wrong", "pe_stale_weight", "--seed", "3")
        self.assertTrue(output.endswith("PASS mutation score 2/2 = 100.0 %\n"), output)
        self.assertRegex(output, r"(?m)^lfsr_tap_wrong +lfsr_source +rounding +\d+ +\d+$")
        self.assertRegex(output, r"(?m)^pe_stale_weight +pe +pe +\d+ +\d+$")
        quiet = self.good("cosim", "mutants", "lfsr_tap_wrong", "--quiet")
        self.assertEqual(quiet, "PASS mutation score 1/1 = 100.0 %\n")

    def test_unknown_names(self):
        self.bad("cosim", "mutants", "lfsr_tap_rong", says=["'lfsr_tap_rong'", "did you mean 'lfsr_tap_wrong'?"])
        self.bad("cosim", "mutants", "lfsr_tap_wrong", "nonsense", "also_nonsense", says=["nonsense"], problems=2)
        self.bad("cosim", "mutants", "pe_stale_weight@pe_0_0", says=["pe_stale_weight@pe_0_0", "without a place"])


class BadInput(CosimTest):
    def test_words(self):
        self.bad("cosim", says=["which campaign?", "pe, rounding, array, mutants or replay"])
        self.bad("cosim", "mutnats", says=["'mutnats'", "did you mean 'mutants'?"])
        self.bad("cosim", "pe", "--mcas", "5", says=["'--mcas'", "did you mean '--macs'?"])
        self.bad("cosim", "replay", says=["replay: file is missing"])
        self.bad("cosim", "mutants", "--rtl-fault", "round_tie_away", says=["'--rtl-fault'"])
        self.bad("cosim", "pe", "--format", "", says=["--format"])

    def test_formats(self):
        self.bad("cosim", "pe", "--format", "bf61", says=["--format", "'bf61'", "did you mean 'bf16'?"])
        self.bad("cosim", "array", "--format", "bf16,int32", says=["--format", "not for this unit", "'int32'", "allowed: fp32"])
        self.bad("cosim", "rounding", "--format", "x,y", says=["'x'", "'y'", "int32"], problems=2)
        self.bad("cosim", "pe", "--format", "bf16,bf16", says=["'bf16'", "twice"])
        self.bad("cosim", "pe", "--format", "bf16,fp32", "--exhaustive", says=["--exhaustive", "fp32"])

    def test_numbers(self):
        for value in ("0", "-1", "1.5", "1e6", "x", "1000000000001"):
            self.bad("cosim", "pe", f"--macs={value}", says=["--macs", value, "whole number from 1 to 1000000000000"])
            self.bad("cosim", "rounding", f"--values={value}", says=["--values", value])
        self.bad("cosim", "pe", "--exhaustive", "--macs", "5", says=["--macs", "--exhaustive"])
        self.bad("cosim", "rounding", "--exhaustive", "--values", "5", says=["--values", "--exhaustive"])
        for stages in ("0", "4", "two"):
            self.bad("cosim", "pe", "--pe-stages", stages, says=["--pe-stages", f"'{stages}'", "1 to 3"])
        self.bad("cosim", "pe", "--seed", "18446744073709551616", says=["--seed", "2^64 - 1"])
        self.bad("cosim", "pe", "--seed", "x", "--macs", "0", "--format", "f", says=["--seed", "--macs", "--format"], problems=3)

    def test_sizes_that_the_array_cannot_have(self):
        for option in ("--rows", "--cols"):
            self.bad("cosim", "array", option, "132", says=[f"{option}: 132", "1 to 128"])
            self.bad("cosim", "array", option, "0", says=[f"{option}: 0", "1 to 128"])
            self.bad("cosim", "array", option, "10", says=[f"{option[2:]}: 10", "multiples of 4"])
            self.bad("cosim", "array", option, "ten", says=[option, "'ten'"])
        self.bad("cosim", "array", "--n", "0", says=["--n: 0"])
        self.bad("cosim", "array", "--n", "99999", says=["--n: 99999"])
        self.bad("cosim", "array", "--matmuls", "0", says=["--matmuls: 0"])
        self.bad("cosim", "array", "--rows=200", "--cols=0", says=["--rows", "--cols"], problems=2)

    def test_faults(self):
        self.bad("cosim", "pe", "--rtl-fault", "round_tie_awy", says=["--rtl-fault", "did you mean 'round_tie_away'?"])
        self.bad("cosim", "pe", "--rtl-fault", "none", says=["'none'"])
        self.bad("cosim", "pe", "--rtl-fault", "drain_skew_short", says=["pe_array_drain", "use cosim array"])
        self.bad("cosim", "rounding", "--rtl-fault", "pe_lost_valid", says=["use cosim pe or cosim array"])
        self.bad("cosim", "array", "--rtl-fault", "lfsr_tap_wrong", says=["lfsr_source", "use cosim rounding"])
        self.bad("cosim", "pe", "--rtl-fault", "pe_lost_valid@pe_0_0", says=["single one", "@pe_0_0"])
        self.bad(*ARRAY, "--rtl-fault", "pe_lost_valid@pe_8_0", says=["pe_8_0", "8 x 8"])
        self.bad(*ARRAY, "--rtl-fault", "pe_lost_valid@chip0.nc0.tensor_engine", says=["instance of a platform"])
        self.bad(*ARRAY, "--rtl-fault", "pe_lost_valid@pe_x", says=["pe_x", "names no PE"])

    def test_a_pe_of_ones_own(self):
        self.bad("cosim", "pe", "--rtl", "pe=none", says=["--rtl", "'none' is no directory"])
        self.bad("cosim", "pe", "--rtl", "none", says=["--rtl", "'none'", "pe=DIR"])
        self.bad("cosim", "pe", "--rtl", "array=.", says=["--rtl", "'array=.'", "pe=DIR"])
        self.bad("cosim", "pe", "--rtl", "pe=.:1pe", says=["--rtl", "'1pe'", "no module name"])
        (self.dir / "empty").mkdir()
        self.bad("cosim", "pe", "--rtl", "pe=empty", says=["empty", ".sv"])

    def test_outputs(self):
        self.bad("cosim", "pe", "--coverage", "none/c.dat", says=["--coverage", "none"])
        self.bad("cosim", "pe", "--coverage", "x.json", "--reproducer", "./x.json", says=["--coverage and --reproducer", "same file"])


class Help(CosimTest):
    def test_every_campaign_explains_itself(self):
        top = self.good("cosim", "--help")
        options = {"pe": ("--format", "--mixed", "--exhaustive", "--macs", "--no-stalls"),
                   "rounding": ("--format", "--exhaustive", "--values", "--no-stalls"),
                   "array": ("--rows", "--cols", "--n", "--format", "--matmuls", "--stalls"),
                   "mutants": ("--seed", "--pe-stages"), "replay": ("file", "--rtl-fault", "none")}
        common = ("--seed", "--rtl ", "--rtl-fault", "--pe-stages", "--flush-denormals", "--coverage", "--reproducer")
        for name, own in options.items():
            self.assertIn(f"\n  {name} ", top)
            text = self.good("cosim", name, "--help")
            self.assertIn(f"\n  azulejo cosim {name}", text)
            for option in own + ("--quiet",) + (common if name in ("pe", "rounding", "array") else ()):
                self.assertIn(option, text, name)

    def test_the_examples_parse(self):
        text = "".join(self.good("cosim", name, "--help") for name in ("pe", "rounding", "array", "mutants", "replay"))
        examples = [re.split("  +", line)[0].split()[1:] for line in re.findall(r"(?m)^  (azulejo cosim .*)$", text)]
        self.assertGreater(len(examples), 10)
        for example in examples:
            # A name that no option has: everything before it was understood.
            self.bad(*example, "--nonsense", says=["unexpected '--nonsense'"])


if __name__ == "__main__":
    main()
