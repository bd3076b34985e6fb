# SPDX-License-Identifier: Apache-2.0
"""Are wrong wave options refused, and does a wave that cannot be finished, or is cut short, leave what can be read?"""
import json
import os
import pathlib
import resource
import select
import signal
import subprocess
import sys
import time

from cli_support import CliTest, TRN1, main, size, tool

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "wave"))
from fst import read_fst, read_header, read_with_gtkwave   # noqa: E402
from vcd import VcdError, read_vcd   # noqa: E402

GEMM = ("run", TRN1, "gemm", *size(64))
WAVE = (*GEMM, "--wave", "w.vcd")
SMALL_LOCKSTEP = ("gemm", *size(16, 40, 24), "--pe", "lockstep")
BIG = ("gemm", *size(4096), "--tiling", "basic", "--data", "none")   # 17 MB of FST in a second
LONG = ("gemm", *size(8192), "--tiling", "basic", "--data", "none", "--wave-scope", "chip0.nc0.tensor_engine")
READ = {"vcd": read_vcd, "fst": read_fst}
TENSOR = "chip0.nc0.tensor_engine"


class BadInput(CliTest):
    def refused(self, *arguments, says, problems=1):
        """With `run` and with `cosim`, whose waves have the same options."""
        self.bad(*WAVE, *arguments, says=says, problems=problems)
        self.bad("cosim", "pe", "--format", "bf16", "--macs", "10", "--wave", "w.vcd", *arguments, says=says, problems=problems)

    def test_file(self):
        for command in (GEMM, ("cosim", "pe", "--format", "bf16", "--macs", "10")):
            for name in ("w.vcs", "wave", ".fst", "w.vcd.gz", "w."):
                self.bad(*command, "--wave", name, says=["--wave", f"'{name}'", ".vcd", ".fst"])
            for extension in ("vcd", "fst"):
                self.bad(*command, "--wave", f"none/w.{extension}", says=[f"--wave none/w.{extension}", "no directory none"])
                (self.dir / f"d.{extension}").mkdir(exist_ok=True)
                self.bad(*command, "--wave", f"d.{extension}", says=[f"--wave d.{extension}", "is a directory"])
        self.bad(*GEMM, "--wave", "", says=["--wave"])
        self.bad(*GEMM, "--wave", "r.vcd", "--report", "r.vcd", says=["--wave", "--report", "r.vcd"])

    def test_options_need_a_wave(self):
        for option, value in (("--wave-scope", "chip0*"), ("--wave-depth", "2"), ("--wave-window", "1us:2us"),
                              ("--wave-before", "1us"), ("--wave-after", "1us"), ("--wave-limit", "1MiB")):
            self.bad(*GEMM, option, value, says=[f"{option} needs --wave"])
        self.bad(*GEMM, "--view", says=["--view needs --wave"])

    def test_a_trigger_has_a_file_of_its_own(self):
        done = self.call("run", TRN1, *SMALL_LOCKSTEP, "--rtl-fault", "round_truncates", "--wave-trigger", "mismatch")
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertIn("azulejo-trigger.fst", done.stdout)
        self.assertGreater((self.dir / "azulejo-trigger.fst").stat().st_size, 1000)
        done = self.call("cosim", "pe", "--format", "bf16", "--macs", "1000", "--rtl-fault", "round_truncates", "--wave-trigger", "mismatch")
        self.assertEqual(done.returncode, 1)
        self.assertGreater((self.dir / "azulejo-trigger.fst").stat().st_size, 1000)

    def test_a_trigger_option_needs_a_trigger(self):
        for option in ("--wave-before", "--wave-after"):
            self.bad(*WAVE, option, "1us", says=[f"{option} needs --wave-trigger"])

    def test_scopes(self):
        self.bad(*WAVE, "--wave-scope", "chip0.nc0.tensor_engin", says=["--wave-scope", "'chip0.nc0.tensor_engin'", f"did you mean '{TENSOR}'?"])
        self.bad(*WAVE, "--wave-scope", "*busy", "--wave-scope", "!nope", "--wave-scope", "chip7", says=["'!nope'", "'chip7'"], problems=2)
        self.bad(*WAVE, "--wave-scope", "*.tile_0_0", says=["--wave-scope", "'*.tile_0_0'"])   # without RTL there is none
        self.bad(*WAVE, "--wave-scope", f"{TENSOR}.tile_32_0", "--pe", "lockstep", says=["--wave-scope", "tile_32_0"])
        self.bad("cosim", "array", "--rows", "8", "--cols", "8", "--n", "8", "--format", "bf16", "--wave", "w.vcd", "--wave-scope", "nothing",
                 says=["--wave-scope", "'nothing'"])

    def test_depth(self):
        for value in ("0", "-1", "1.5", "two", "99999999999999999999"):
            self.refused(f"--wave-depth={value}", says=["--wave-depth", f"'{value}'", "whole number"])

    def test_window(self):
        for value, piece in (("5us", "5us"), ("1us", "FROM:TO"), ("1:2us", "'1'"), ("1us:2", "'2'"), ("1us:2us:3us", "2us:3us"), ("one:2us", "one"),
                             ("-1us:2us", "-1us"), ("1 parsec:2us", "parsec"), ("99999 s:", "99999 s")):
            self.refused(f"--wave-window={value}", says=["--wave-window", piece])
        self.refused("--wave-window", "2us:1us", says=["--wave-window", "'2us:1us'", "ends before it begins"])

    def test_trigger(self):
        self.bad(*WAVE, "--wave-trigger", "mismach", says=["--wave-trigger", "'mismach'", "did you mean 'mismatch'?"])
        for value in ("==1", f"{TENSOR}.busy==", f"{TENSOR}.busy=1", "chip0"):
            self.bad(*WAVE, "--wave-trigger", value, says=["--wave-trigger", f"'{value}'", "mismatch", "fault", "PATH==VALUE"])
        self.bad(*WAVE, "--wave-trigger", f"{TENSOR}.busi==1", says=["--wave-trigger", f"'{TENSOR}.busi'", f"did you mean '{TENSOR}.busy'?"])
        self.bad(*WAVE, "--wave-trigger", f"{TENSOR}==1", says=["--wave-trigger", f"'{TENSOR}'"])   # no signal
        self.bad(*WAVE, "--wave-trigger", "fault", "--wave-window", "1us:2us", says=["--wave-trigger", "--wave-window"])
        for option in ("--wave-before", "--wave-after"):
            for value in ("5", "-1us", "soon"):
                self.bad(*WAVE, "--wave-trigger", "fault", f"{option}={value}", says=[option, f"'{value}'"])

    def test_limit(self):
        for value in ("0", "-1", "many", "10 parsecs", "1.5"):
            self.refused(f"--wave-limit={value}", says=["--wave-limit", f"'{value}'", "MiB"])

    def test_all_problems_are_listed(self):
        self.refused("--wave-depth", "x", "--wave-window", "2us:1us", "--wave-limit", "x", says=["--wave-depth", "--wave-window", "--wave-limit"],
                     problems=3)


class Ends(CliTest):
    """What cuts a wave short without ending the run."""

    def test_a_trigger_that_never_fires(self):
        for extension in READ:
            name = f"w.{extension}"
            for arguments, trigger in (((), f"{TENSOR}.matmuls==999"), ((), "fault"), (SMALL_LOCKSTEP[-2:], "mismatch")):
                done = self.call(*GEMM, *arguments, "--wave", name, "--wave-trigger", trigger, "--report", "r.json")
                self.assertEqual(done.returncode, 0, done.stderr)
                line, = done.stderr.splitlines()
                for word in ("--wave-trigger", trigger, "never"):
                    self.assertIn(word, line)
                self.assertTrue((self.dir / "r.json").exists())
                if (self.dir / name).exists():   # then whole, and empty
                    wave = READ[extension](self.dir / name)
                    self.assertFalse(wave.changed())
                    (self.dir / name).unlink()

    def test_a_run_that_ends_before_the_window(self):
        for extension in READ:
            done = self.call(*GEMM, "--wave", f"w.{extension}", "--wave-window", "1 s:2 s")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("--wave-window", done.stderr)
            if (self.dir / f"w.{extension}").exists():
                self.assertFalse(READ[extension](self.dir / f"w.{extension}").changed())

    def test_the_limit_is_reached(self):
        for extension, limit, arguments in (("vcd", 500_000, ("gemm", *size(1024), "--data", "none")), ("fst", 5_000_000, BIG)):
            done = self.call("run", TRN1, *arguments, "--wave", f"w.{extension}", "--wave-limit", f"{limit}B", "--report", "r.json")
            self.assertEqual(done.returncode, 0, done.stderr)
            line, = done.stderr.splitlines()
            for word in ("--wave-limit", f"w.{extension}"):
                self.assertIn(word, line)
            self.assertRegex(line, r"\d (fs|ns|us|ms)\b")   # up to where
            self.assertIn('"status": "finished"', (self.dir / "r.json").read_text())
            wave = READ[extension](self.dir / f"w.{extension}")
            self.assertTrue(wave.changed())
            bytes_ = (self.dir / f"w.{extension}").stat().st_size
            self.assertTrue(0.9 * limit < bytes_ < limit + 2 ** 20, bytes_)   # to within a buffer

    def test_a_full_disk(self):
        def fill():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        for extension, limit, arguments in (("vcd", 300_000, ("gemm", *size(1024), "--data", "none")), ("fst", 3_000_000, BIG)):
            done = subprocess.run([tool(), "run", TRN1, *arguments, "--wave", f"w.{extension}", "--report", "r.json", "--quiet"], cwd=self.dir,
                                  capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120, preexec_fn=fill)
            self.assertEqual(done.returncode, 3, done.stderr)
            line, = done.stderr.splitlines()
            self.assertIn(f"w.{extension}", line)
            self.assertRegex(line, "File too large|No space left")
            self.assertRegex((self.dir / "r.json").read_text(), '"status": "finished"')   # the run went on to its end
            path = self.dir / f"w.{extension}"
            self.assertTrue(limit / 20 < path.stat().st_size <= limit, path.stat().st_size)
            wave = READ[extension](path)
            self.assertTrue(wave.changed())
            self.assertGreater(wave.end, 0)
            if extension == "fst":
                self.assertTrue(read_with_gtkwave(path).changed())
            self.assertEqual(sorted(os.listdir(self.dir)), ["r.json", path.name])
            path.unlink()

    def test_a_wave_changes_nothing(self):
        for arguments in (("gemm", *size(200)), SMALL_LOCKSTEP):
            plain = self.run_report(*arguments)["result"]
            for options in (("--wave", "w.vcd"), ("--wave", "w.fst"), ("--wave", "w.vcd", "--wave-window", "1us:2us", "--wave-depth", "2"),
                            ("--wave", "w.fst", "--wave-trigger", f"{TENSOR}.matmuls==1", "--wave-after", "100ns")):
                seen = self.run_report(*arguments, *options)["result"]
                for key in ("hash", "simulated_time_fs", "check", "status"):
                    self.assertEqual(seen[key], plain[key], (arguments, options))
        named = self.run_report(*SMALL_LOCKSTEP, "--wave", "w.vcd", "--wave-scope", "*.tile_0_*", "--wave-scope", "*.drain_*")["result"]
        self.assertEqual(named["hash"], plain["hash"])

    def test_a_wave_changes_no_difference(self):
        for fault in ("encode_never_up", "multiply_exponent_off_by_one@pe_3_17"):
            arguments = ("gemm", *size(128, 256, 48), "--pe", "lockstep", "--rtl-fault", fault)
            plain = self.run_report(*arguments, status=1)
            for options in (("--wave", "w.fst"), ("--wave", "w.fst", "--wave-trigger", "mismatch")):
                seen = self.run_report(*arguments, *options, status=1)
                for key in ("hash", "simulated_time_fs", "check"):
                    self.assertEqual(seen["result"][key], plain["result"][key], (fault, options))
                self.assertEqual(seen["rtl"]["lockstep"], plain["rtl"]["lockstep"], (fault, options))
            self.assertEqual(seen["wave"]["trigger"]["time_fs"], plain["result"]["simulated_time_fs"] - 1)
            self.assertEqual(seen["wave"]["last_fs"], plain["result"]["simulated_time_fs"])

    def test_equal_runs_write_equal_files(self):
        for extension in READ:
            for name in ("a", "b"):
                self.good("run", TRN1, *SMALL_LOCKSTEP, "--wave", f"{name}.{extension}", "--quiet")
            self.assertEqual((self.dir / f"a.{extension}").read_bytes(), (self.dir / f"b.{extension}").read_bytes(), extension)


class Signals(CliTest):
    def interrupt(self, number, extension, *more):
        """Ends a long run in the middle. Its status."""
        process = subprocess.Popen([tool(), "--log", "info", "run", TRN1, *LONG, "--report", "r.json", "--wave", f"w.{extension}", "--quiet", *more],
                                   cwd=self.dir, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        said = b""
        while b"info: running" not in said:
            self.assertTrue(select.select([process.stderr], [], [], 60)[0], said)
            piece = os.read(process.stderr.fileno(), 4096)
            self.assertTrue(piece, said)
            said += piece
        time.sleep(0.7)
        self.assertIsNone(process.poll(), "the run is too short to be interrupted")
        process.send_signal(number)
        return process.wait(60)

    def test_termination_closes_the_wave(self):
        for extension, read in READ.items():
            for number in (signal.SIGTERM, signal.SIGINT):
                self.assertEqual(self.interrupt(number, extension), 3)
                report = self.read_report()
                self.assertEqual((report["result"]["status"], report["result"]["partial"]), ("interrupted", True))
                end = (read_header if extension == "fst" else read)(self.dir / f"w.{extension}").end
                self.assertEqual(end, report["result"]["simulated_time_fs"])

    def test_a_killed_run_leaves_a_valid_vcd(self):
        self.assertEqual(self.interrupt(signal.SIGKILL, "vcd"), -signal.SIGKILL)
        path = self.dir / "w.vcd"
        with open(path, "r+b") as file:   # the last line may be cut: the system gives up in the middle of a write
            end = file.seek(max(0, path.stat().st_size - 4096))
            file.truncate(end + file.read().rindex(b"\n") + 1)
        wave = read_vcd(path)
        self.assertGreater(wave.end, 0)
        self.assertTrue(wave.changed())

    def test_a_killed_run_leaves_a_valid_fst(self):
        """A process of its own completes the file, in a second or two."""
        self.assertEqual(self.interrupt(signal.SIGKILL, "fst"), -signal.SIGKILL)
        path, wave = self.dir / "w.fst", None
        deadline = time.monotonic() + 10
        while wave is None and time.monotonic() < deadline:
            time.sleep(0.1)
            try:
                read_header(path)
                wave = read_fst(path)
            except (OSError, VcdError):
                pass
        self.assertIsNotNone(wave, "not completed")
        self.assertGreater(wave.end, 0)
        self.assertTrue(wave.changed())
        self.assertEqual(read_with_gtkwave(path).end, wave.end)
        self.assertEqual(os.listdir(self.dir), ["w.fst"])

    def read_report(self):
        report = json.loads((self.dir / "r.json").read_text())
        self.check_report(report)
        return report


if __name__ == "__main__":
    main()
