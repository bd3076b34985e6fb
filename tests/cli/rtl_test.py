# SPDX-License-Identifier: Apache-2.0
"""Do RTL twins run from the command line: the same results, differences that stop and reproduce, and wrong input refused?"""
import json
import re

import numpy as np

from cli_support import CliTest, DATA, ROOT, TRN1, main, size

SMALL = ["gemm", *size(16, 40, 24)]
GEMM = ("run", TRN1, *SMALL)
FAULT = "round_truncates"
TENSOR = "chip0.nc0.tensor_engine"


class Fidelity(CliTest):
    def test_every_fidelity_has_the_same_values_and_times(self):
        results, products = [], []
        for fidelity in ("tlm", "rtl", "lockstep"):
            report = self.run_report(*SMALL, "--pe", fidelity, "--out", "c.npy")
            results.append(report["result"])
            products.append(np.load(self.dir / "c.npy"))
            self.assertEqual(report["rtl"] is None, fidelity == "tlm")
        self.assertEqual(len({r["hash"] for r in results}), 1)
        self.assertEqual(len({r["simulated_time_fs"] for r in results}), 1)
        self.assertTrue(all((p == products[0]).all() for p in products))

    def test_the_report_counts_what_the_rtl_did(self):
        report = self.run_report("gemm", *size(200, 40, 24), "--pe", "rtl", "--cores", "2")
        rtl = report["rtl"]
        self.assertEqual((rtl["lockstep"], rtl["fault"], rtl["pe_directory"]), (None, "", ""))
        self.assertEqual((rtl["pe"]["instances"], rtl["rounding_unit"]["instances"]), (2, 2))
        self.assertEqual(rtl["pe"]["latency_cycles"], 256)
        self.assertGreaterEqual(rtl["pe"]["pe_cycles"], 200 * 40 * 24)
        self.assertGreater(rtl["pe"]["array_cycles"], 256)
        self.assertGreater(rtl["pe"]["tile_cycles"], 0)
        self.assertGreater(rtl["pe"]["idle_tile_cycles"], 0)   # 40 of 128 rows
        self.assertEqual(report["result"]["check"]["elements"], 200 * 24)

    def test_lockstep_compares_sums_and_roundings(self):
        report = self.run_report(*SMALL, "--pe", "lockstep")
        lockstep = report["rtl"]["lockstep"]
        self.assertEqual((lockstep["mismatches"], lockstep["differences"], lockstep["reproducer"]), (0, [], ""))
        self.assertEqual(lockstep["compared"], 2 * 16 * 24)   # each sum of C, and each rounding to bf16
        self.assertEqual(report["result"]["check"], {"elements": 3 * 16 * 24, "mismatches": 0, "max_ulp": 0, "sampled": False})
        self.assertEqual(list(self.dir.glob("azulejo-mismatch*")), [])

    def test_one_instance_in_rtl(self):
        report = self.run_report(*SMALL, "--set", f"{TENSOR}.pe=rtl")
        self.assertEqual((report["rtl"]["pe"]["instances"], report["rtl"]["rounding_unit"]), (1, None))
        report = self.run_report(*SMALL, "--set", f"{TENSOR}.pe=tlm", "--pe", "rtl")   # the instance wins, in any order
        self.assertEqual(report["rtl"]["pe"]["instances"], 1)
        self.assertEqual(report["rtl"]["pe"]["pe_cycles"], 0)   # core 1 has nothing to do
        report = self.run_report(*SMALL, "--pe", "rtl", "--set", "tensor_engine.pe=tlm")
        self.assertIsNone(report["rtl"]["pe"])

    def test_the_summary_says_what_was_compared_and_how_fast(self):
        self.assertRegex(self.good(*GEMM, "--pe", "lockstep"),
                         r"(?m)^lockstep +768 elements compared, 0 mismatches; 2 PE arrays in RTL, [\d.]+ \S*PE-cycles/s; "
                         r"2 rounding units in RTL$")
        self.assertRegex(self.good(*GEMM, "--set", "pe=rtl"), r"(?m)^RTL +2 PE arrays in RTL, [\d.]+ \S*PE-cycles/s$")
        self.assertNotIn("RTL", self.good(*GEMM))

    def test_stochastic_rounding_in_lockstep(self):
        for source in ("lfsr", "xorwow"):
            report = self.run_report(*SMALL, "--pe", "lockstep", "--set", "rounding=stochastic", "--set", f"random_source={source}")
            self.assertEqual((report["rtl"]["lockstep"]["compared"], report["result"]["check"]["mismatches"]), (768, 0))

    def test_a_lockstep_that_compares_nothing_has_failed(self):
        report = self.run_report(*SMALL, "--set", "chip0.nc1.tensor_engine.pe=lockstep", status=1)
        self.assertEqual((report["rtl"]["lockstep"]["compared"], report["result"]["passed"]), (0, False))

    def test_wave_signals(self):
        listed = self.good("list", "signals", TRN1, "*.tensor_engine", "--set", f"{TENSOR}.pe=lockstep", "--set",
                           "chip0.nc1.tensor_engine.pe=rtl")
        self.assertRegex(listed, rf"(?m)^{TENSOR}.lockstep_mismatches +32 bit$")
        self.assertEqual(len(re.findall("rtl_cycles", listed)), 2)
        self.assertNotIn("nc1.tensor_engine.lockstep_mismatches", listed)
        self.assertNotIn("rtl_cycles", self.good("list", "signals", TRN1))
        self.run_report(*SMALL, "--pe", "lockstep", "--wave", "w.vcd", "--wave-scope", f"{TENSOR}.rtl_cycles")
        self.assertRegex((self.dir / "w.vcd").read_text(), r"(?m)^b0*1[01]* ")


class Differences(CliTest):
    def faulty(self, *arguments, fault=FAULT, status=1):
        return self.run_report(*SMALL, "--pe", "lockstep", "--rtl-fault", fault, *arguments, status=status)

    def test_the_first_difference_ends_the_run(self):
        report = self.faulty()
        result, lockstep = report["result"], report["rtl"]["lockstep"]
        self.assertEqual((result["status"], result["partial"], result["passed"]), ("mismatch", True, False))
        self.assertEqual(report["rtl"]["fault"], FAULT)
        self.assertGreater(lockstep["mismatches"], 0)
        self.assertEqual(result["check"]["mismatches"], lockstep["mismatches"])
        self.assertEqual(len(lockstep["differences"]), 1)
        first = lockstep["differences"][0]
        self.assertEqual((first["unit"], first["operation"], first["what"]), (TENSOR, 0, "psum"))
        self.assertNotEqual(first["model"], first["rtl"])
        self.assertIn(first["rtl"], result["check"]["first_mismatch"])
        explicit = self.faulty("--stop-on", "mismatch")["result"]
        self.assertEqual((explicit["status"], explicit["simulated_time_fs"]), ("mismatch", result["simulated_time_fs"]))
        self.assertEqual(self.faulty("--stop-on", "fault")["result"]["status"], "mismatch")
        clean = self.run_report(*SMALL)["result"]["simulated_time_fs"]
        self.assertLess(result["simulated_time_fs"], clean)

    def test_never_goes_on_and_counts(self):
        first = self.faulty()["rtl"]["lockstep"]
        report = self.faulty("--stop-on", "never")
        result, lockstep = report["result"], report["rtl"]["lockstep"]
        clean = self.run_report(*SMALL)["result"]
        self.assertEqual((result["status"], result["passed"], result["hash"]), ("finished", False, clean["hash"]))
        self.assertEqual(lockstep["compared"], 768)
        self.assertEqual(lockstep["mismatches"], first["mismatches"])   # one matmul, and its model's bits go on
        self.assertEqual(result["check"]["mismatches"], lockstep["mismatches"])   # and so none from the golden model

    def test_the_bits_of_the_rtl_land_in_psum(self):
        report = self.run_report(*SMALL, "--pe", "rtl", "--rtl-fault", "multiply_exponent_off_by_one", status=1)
        self.assertEqual(report["result"]["status"], "finished")
        self.assertGreater(report["result"]["check"]["mismatches"], 300)
        self.assertRegex(report["result"]["check"]["first_mismatch"], r"^C\[")

    def test_a_fault_of_the_rounding_unit(self):
        report = self.faulty("--stop-on", "never", fault="encode_never_up")
        units = {d["unit"] for d in report["rtl"]["lockstep"]["differences"]}
        self.assertEqual(units, {"chip0.nc0.vector_engine"})

    def test_the_reproducer(self):
        done = self.call(*GEMM, "--pe", "lockstep", "--rtl-fault", FAULT)
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        name = f"azulejo-mismatch-{TENSOR}-0.json"
        self.assertRegex(done.stdout, rf"(?m)^  at [\d.]+ us: {TENSOR}: operation 0, cycle \d+, ")
        self.assertIn(f"  reproducer {name}; azulejo cosim replay {name}\n", done.stdout)
        self.assertIn(f"seeded fault     {FAULT}\n", done.stdout)
        self.assertRegex(done.stdout, r"PARTIAL: mismatch")
        self.assertEqual([p.name for p in self.dir.iterdir()], [name])
        case = json.loads((self.dir / name).read_text())
        self.assertIn(FAULT, json.dumps(case))
        report = self.faulty("--reproducer", "mine.json")
        self.assertEqual(report["rtl"]["lockstep"]["reproducer"], "mine.json")
        self.assertEqual(json.loads((self.dir / "mine.json").read_text()), case)

    def test_a_reproducer_that_cannot_be_written_is_3(self):
        done = self.call(*GEMM, "--pe", "lockstep", "--rtl-fault", FAULT, "--reproducer", "/dev/full")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("/dev/full", done.stderr)

    def test_capture(self):
        for fidelity in ("tlm", "rtl"):
            self.run_report("gemm", *size(16, 600, 24), "--pe", fidelity, "--capture", f"{fidelity}.json")
        captured = [json.loads((self.dir / f"{f}.json").read_text()) for f in ("tlm", "rtl")]
        texts = [re.sub(r'"[^"]*command[^"]*"|azulejo [^"]*', "", json.dumps(c)) for c in captured]
        self.assertEqual(*texts)
        self.assertEqual(json.dumps(captured[0]).count("matmul "), 4)   # of five
        self.run_report(*SMALL, "--capture", "one.json", "--capture-count", "1000")
        self.assertEqual((self.dir / "one.json").read_text().count("matmul "), 1)

    def test_nothing_to_capture_is_said(self):
        program = self.program(".engine vector\n  memset dst=sbuf[0:128, 0] fp32 <16>, value=0.0\n")
        done = self.call("run", TRN1, "program", program, "--capture", "c.json", "--quiet")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("no matmul ran", done.stderr)
        self.assertFalse((self.dir / "c.json").exists())


class Lists(CliTest):
    def test_faults(self):
        rows = [re.split(r" {2,}", line) for line in self.good("list", "faults").splitlines()]
        self.assertEqual(rows[0], ["FAULT", "MODULE", "WHAT"])
        self.assertGreaterEqual(len(rows), 1 + 60)
        self.assertTrue(all(len(row) == 3 for row in rows))
        text = "\n".join(path.read_text() for path in (ROOT / "rtl").rglob("*.sv"))
        units = set(re.findall(r"(?m)^ *module (\w+)", text)) | set(re.findall(r"function automatic [^;(]*?(\w+) ?\(", text))
        self.assertLessEqual({row[1] for row in rows[1:]}, units)

    def test_keys(self):
        listed = self.good("list", "keys")
        for key, rest in (("tensor_engine.pe", r"tlm \| rtl \| lockstep +tlm"), ("tensor_engine.pe_stages", "integer +1"),
                          ("vector_engine.rounding_unit", r"tlm \| rtl \| lockstep +tlm")):
            self.assertRegex(listed, rf"(?m)^chip\.nc\.{re.escape(key)} +{rest} ")

    def test_pipeline_stages_lengthen_the_drain(self):
        program = self.program(".engine tensor\n  load_stationary stationary=sbuf[0:128, 0] bf16 <128>\n"
                               "  nc_matmul dst=psum[0:128, 0] fp32 <9>, moving=sbuf[0:128, 4096] bf16 <9>\n")
        for stages in (1, 2, 3):
            result = self.run_report("program", program, "--set", f"pe_stages={stages}", "--set", "tensor_engine.clock=1 GHz")["result"]
            self.assertEqual(result["simulated_time_fs"], (128 + 64 + 9 + 128 * stages + 128) * 10**6)


class BadInput(CliTest):
    def test_words(self):
        self.bad(*GEMM, "--pe", "rlt", says=["--pe", "'rlt'", "tlm, rtl, lockstep", "did you mean 'rtl'?"])
        self.bad(*GEMM, "--set", "tensor_engine.pe=verilog", says=["tensor_engine.pe", "'verilog'", "lockstep"])
        self.bad(*GEMM, "--set", "pe_stages=4", says=["pe_stages", "4", "1 to 3"])
        self.bad(*GEMM, "--stop-on", "mismach", says=["--stop-on", "'mismach'", "did you mean 'mismatch'?"])
        for count in ("0", "-1", "1.5", "1001", "many"):
            self.bad(*GEMM, "--capture", "c.json", f"--capture-count={count}", says=["--capture-count", f"'{count}'", "1 to 1000"])

    def test_rtl_needs_data(self):
        for setting in (["--pe", "rtl"], ["--set", "rounding_unit=lockstep"], ["--set", "chip0.nc1.tensor_engine.pe=rtl"]):
            self.bad(*GEMM, *setting, "--data", "none", says=["--data none", "chip0.nc", "--data full"])
        self.bad(*GEMM, "--capture", "c.json", "--data", "none", says=["--capture", "--data full"])

    def test_faults(self):
        self.bad(*GEMM, "--pe", "rtl", "--rtl-fault", "round_truncate", says=["--rtl-fault", "'round_truncate'", "did you mean 'round_truncates'?"])
        self.bad(*GEMM, "--rtl-fault", FAULT, says=["--rtl-fault", "no unit is in RTL", "--pe lockstep"])
        self.bad(*GEMM, "--pe", "rtl", "--rtl-fault", f"{FAULT}@chip0.nc7.tensor_engine", says=["chip0.nc7", "did you mean", "chip0.nc1.vector_engine"])
        self.bad(*GEMM, "--pe", "rtl", "--rtl-fault", f"{FAULT}@pe_128_0", says=["--rtl-fault", "pe_128_0", "127"])
        self.bad(*GEMM, "--set", "pe=rtl", "--rtl-fault", "encode_never_up", says=["fp_encode", "no unit in RTL"])

    def test_a_pe_of_ones_own(self):
        outputs = ("--report", "r.json", "--trace", "t.json", "--wave", "w.vcd")
        (self.dir / "empty").mkdir()
        for value in ("pe", "ep=here", "=here"):
            self.bad(*GEMM, "--pe", "rtl", "--rtl", value, *outputs, says=["--rtl", f"'{value}'", "pe=DIR:TOP"])
        for value in ("pe=", "pe=nowhere", "pe=nowhere:mine"):
            self.bad(*GEMM, "--pe", "rtl", "--rtl", value, *outputs, says=["--rtl", "is no directory"])
        for top in ("", ":mine"):
            self.bad(*GEMM, "--pe", "rtl", "--rtl", f"pe=empty{top}", *outputs, says=["empty", ".sv"])
        (self.dir / "mine").mkdir()
        (self.dir / "mine" / "pe.sv").write_text("module pe; endmodule\n")
        for top in ("", "7up", "a-b"):
            self.bad(*GEMM, "--pe", "rtl", "--rtl", f"pe=mine:{top}", *outputs, says=["--rtl", f"'{top}'", "module"])
        self.bad(*GEMM, "--rtl", "pe=mine", says=["--rtl", "no PE array is in RTL", "--pe rtl"])
        self.bad(*GEMM, "--set", "rounding_unit=rtl", "--rtl", "pe=mine", says=["--rtl", "no PE array is in RTL"])

    def test_sizes_that_tiles_cannot_make(self):
        lines = self.bad("run", TRN1, "program", DATA / "good.s", "--pe", "rtl", "--set", "rows=126", "--trace", "t.json", says=["126"], problems=2)
        self.assertTrue(all(f"chip0.nc{i}.tensor_engine" in line for i, line in enumerate(lines)))

    def test_files(self):
        self.bad(*GEMM, "--capture", "none/c.json", says=["--capture", "none"])
        self.bad(*GEMM, "--reproducer", "r.json", says=["--reproducer", "no unit is in lockstep"])
        self.bad(*GEMM, "--pe", "lockstep", "--reproducer", "same.json", "--report", "same.json", says=["same.json", "--reproducer", "--report"])

    def test_all_problems_are_listed_together(self):
        self.bad(*GEMM, "--pe", "tml", "--rtl", "x=y", "--rtl-fault", "nothing", "--stop-on", "always", "--capture", "c.json",
                 "--capture-count", "x",
                 says=["--pe", "--rtl", "--rtl-fault", "--stop-on", "--capture-count"], problems=5)


if __name__ == "__main__":
    main()
