# SPDX-License-Identifier: Apache-2.0
"""Does the exit status say how a run ended, and does a run that is stopped leave whole files behind?"""
import json
import os
import select
import signal
import subprocess
import time

from cli_support import CliTest, DATA, TRN1, Vcd, main, size, tool


class Status(CliTest):
    def test_success_is_0(self):
        self.assertTrue(self.run_report("gemm", *size(64))["result"]["passed"])
        self.assertTrue(self.run_report("gemm", *size(64), "--data", "none")["result"]["passed"])

    def test_a_damaged_result_is_1(self):
        for bit in ("", ":16", ":31"):
            report = self.run_report("gemm", *size(64, 256, 64), "--inject", f"bitflip:psum{bit}", status=1)
            self.assertGreater(report["result"]["check"]["mismatches"], 0)
            self.assertFalse(report["result"]["passed"])

    def test_the_seed_moves_the_damage(self):
        first = [self.run_report("gemm", *size(64), "--inject", "bitflip:psum", "--seed", seed, status=1)["result"]["check"]
                 for seed in ("1", "2")]
        self.assertNotEqual(first[0]["first_mismatch"].split(":")[0], first[1]["first_mismatch"].split(":")[0])

    def test_a_faulting_program_is_1_and_goes_on(self):
        report = self.run_report("program", DATA / "fault.s", status=1)
        result = report["result"]
        self.assertEqual((result["status"], result["fault_count"]), ("finished", len(result["faults"])))
        first = result["faults"][0]
        self.assertEqual((first["engine"], first["instruction"], first["response"]),
                         ("chip0.nc0.vector_engine", 1, "TLM_ADDRESS_ERROR_RESPONSE"))
        self.assertEqual(first["time_fs"], 892857)   # the nop before it: one cycle of 1.12 GHz
        self.assertEqual(first["text"], "memset dst=sbuf[0:128, 196600] fp32 <16>, value=1.5  inc s1")
        self.assertIn("196608", first["message"])
        dma = [f for f in result["faults"] if ".dma.engine" in f["engine"]]
        self.assertEqual(len(dma), 16)
        self.assertTrue(all(f["time_fs"] >= 1_300_000_000 and "not inside one memory" in f["message"] for f in dma))
        engines = {e["path"]: e for e in report["engines"]}
        self.assertEqual(engines["chip0.nc0.vector_engine"]["faults"], 1)
        self.assertEqual(engines["chip0.nc0.vector_engine"]["instructions"], 3)
        self.assertEqual(engines["chip0.nc0.tensor_engine"]["instructions"], 1)   # its waiter does not hang

    def test_only_the_first_faults_are_listed_and_all_are_counted(self):
        body = "  memset dst=sbuf[0:128, 196608] fp32 <1>, value=0.0\n" * 150
        result = self.run_report("program", self.program(".engine vector\n" + body), status=1)["result"]
        self.assertEqual((result["fault_count"], len(result["faults"])), (150, 100))

    def test_stop_on_fault_stops_there(self):
        report = self.run_report("program", DATA / "fault.s", "--stop-on", "fault", status=1)
        result = report["result"]
        self.assertEqual((result["status"], result["partial"], result["fault_count"]), ("fault", True, 1))
        # One femtosecond on, when the fault's instant is complete.
        self.assertEqual(result["simulated_time_fs"], result["faults"][0]["time_fs"] + 1)

    def test_stop_on_fault_in_the_middle_of_an_instant_leaves_nothing_behind(self):
        # The tensor engine faults while the vector engine's request for a shared port is under way.
        path = self.program(".engine tensor\n  nc_matmul dst=psum[0:128, 0] fp32 <512>, moving=sbuf[0:128, 0] bf16 <512>\n"
                            ".engine vector\n  memset dst=sbuf[0:128, 0] fp32 <16>, value=0.0\n")
        result = self.run_report("program", path, "--stop-on", "fault", status=1)["result"]
        self.assertEqual((result["status"], result["fault_count"]), ("fault", 1))

    def test_a_run_beyond_the_range_of_time_is_3_and_partial(self):
        for setting in ("tensor_engine.clock=1 Hz", "dma.bandwidth=1 B/s", "hbm.bandwidth=1 B/s"):
            result = self.run_report("gemm", "--data", "none", "--set", setting, status=3)["result"]
            self.assertEqual((result["status"], result["partial"], result["utilization"]), ("range", True, 0))
            self.assertEqual(result["simulated_time_fs"], 2 * 3600 * 10**15)

    def test_a_program_whose_times_depend_on_data_needs_data(self):
        path = self.program(".engine sync\n  dma_copy dst=0xfffc2701400 <1:4>, src=hbm(0, 0) <1:4>, bytes=4, queue=0\n")
        self.bad("run", TRN1, "program", path, "--data", "none", says=["--data full", str(path)])

    def test_a_deadlock_is_1_and_says_who_waits(self):
        result = self.run_report("program", DATA / "deadlock.s", status=1)["result"]
        self.assertEqual((result["status"], result["passed"]), ("deadlock", False))
        self.assertEqual(result["waiting"], ["chip0.nc0.tensor_engine waits at instruction 1 (nop) for semaphore s1 >= 2"])

    def test_until_is_a_partial_success(self):
        whole = self.run_report("gemm", *size(256))["result"]["simulated_time_fs"]
        result = self.run_report("gemm", *size(256), "--until", "5 us", "--out", "c.npy")["result"]
        self.assertEqual((result["status"], result["partial"], result["passed"]), ("until", True, True))
        self.assertEqual((result["simulated_time_fs"], result["check"]), (5 * 10**9, None))
        self.assertFalse((self.dir / "c.npy").exists())

    def test_a_limit_beyond_the_end_changes_nothing(self):
        whole = self.run_report("gemm", *size(256))["result"]
        for limit in (f"{whole['simulated_time_fs'] + 1} fs", "12 us", "1 s"):
            limited = self.run_report("gemm", *size(256), "--until", limit)["result"]
            self.assertEqual((limited["status"], limited["simulated_time_fs"]), ("finished", whole["simulated_time_fs"]), limit)
            self.assertEqual((limited["hash"], limited["check"]), (whole["hash"], whole["check"]), limit)

    def test_a_limit_does_not_hide_a_deadlock(self):
        result = self.run_report("program", DATA / "deadlock.s", "--until", "5 us", status=1)["result"]
        self.assertEqual((result["status"], result["simulated_time_fs"]), ("deadlock", 892857))

    def test_the_summary_says_what_is_partial(self):
        until = self.good("run", TRN1, "gemm", *size(256), "--until", "5 us")
        self.assertIn("5.00 us   (PARTIAL: until)", until)
        self.assertNotIn("achieved", until)
        whole = self.good("run", TRN1, "program", DATA / "good.s")
        self.assertNotIn("PARTIAL", whole)
        self.assertIn("check            none (nothing to compare with)", whole)
        self.assertIn("0 mismatches", self.good("run", TRN1, "gemm", *size(64)))


class Signals(CliTest):
    def interrupt(self, number, *arguments, at="running", pause=0.3):
        """Sends the signal once the tool has said `at`. The finished process's status."""
        process = subprocess.Popen([tool(), "--log", "info", "run", TRN1, *map(str, arguments), "--report", "r.json", "--trace",
                                    "t.json", "--wave", "w.vcd", "--quiet"], cwd=self.dir, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        said = b""
        while f"info: {at}".encode() not in said:
            self.assertTrue(select.select([process.stderr], [], [], 60)[0], said)
            piece = os.read(process.stderr.fileno(), 4096)
            self.assertTrue(piece, said)
            said += piece
        time.sleep(pause)
        process.send_signal(number)
        return process.wait(60)

    def check_files(self):
        self.assertEqual(sorted(os.listdir(self.dir)), ["r.json", "t.json", "w.vcd"])
        report = json.loads((self.dir / "r.json").read_text())
        self.check_report(report)
        result = report["result"]
        self.assertEqual((result["status"], result["partial"], result["passed"], result["check"]),
                         ("interrupted", True, False, None))
        json.loads((self.dir / "t.json").read_text())
        wave = Vcd(self.dir / "w.vcd")
        self.assertEqual(wave.times[-1], result["simulated_time_fs"])
        return result

    def test_ctrl_c_during_a_long_gemm(self):
        big = ["gemm", *size(4096), "--tiling", "basic", "--data", "none", "--wave-scope", "chip0.nc0.tensor_engine"]
        self.assertEqual(self.interrupt(signal.SIGINT, *big), 3)
        self.assertGreater(self.check_files()["simulated_time_fs"], 0)

    def test_termination_of_an_endless_program(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            status = self.interrupt(number, "program", DATA / "endless.s", "--wave-scope", "*.tensor_engine.busy")
            self.assertEqual(status, 3)
            self.assertGreater(self.check_files()["simulated_time_fs"], 0)

    def test_ctrl_c_before_the_first_femtosecond(self):
        big = ["gemm", *size(4096), "--tiling", "basic", "--data", "none"]
        self.assertEqual(self.interrupt(signal.SIGINT, *big, at="loading", pause=0), 3)
        self.check_files()


if __name__ == "__main__":
    main()
