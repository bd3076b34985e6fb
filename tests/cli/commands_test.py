# SPDX-License-Identifier: Apache-2.0
"""Do the commands that simulate nothing print what can be used again, and does every command explain itself?"""
import os
import pty
import re
import select
import signal
import subprocess

from cli_support import CliTest, DATA, ROOT, TRN1, causes, main, size, tool

PLATFORMS = ("trn1.2xlarge", "trn2.3xlarge")
SETTINGS = ["--set", "hbm.bandwidth=100 GB/s", "--set", "nc.flush_denormals=true", "--set",
            "chip0.nc1.tensor_engine.clock=1 GHz", "--set", "chip0.hbm1.latency=7.5 ns", "--set",
            "psum.shared_ports=[[tensor, vector], [scalar, gpsimd]]"]


class Config(CliTest):
    def test_what_config_prints_reads_back(self):
        for platform in PLATFORMS:
            for settings in ([], SETTINGS):
                text = self.good("config", platform, *settings)
                (self.dir / "mine.yaml").write_text(text)
                self.assertEqual(self.good("config", "./mine.yaml"), text)
                self.assertIn(f"name: {platform}\n", text)

    def test_settings_show_and_later_ones_win(self):
        text = self.good("config", TRN1, *SETTINGS)
        for line in ("bandwidth: 100 GB/s", "chip0.nc1.tensor_engine.clock: 1 GHz", "chip0.hbm1.latency: 7.5 ns",
                     "shared_ports: [[tensor, vector], [scalar, gpsimd]]", "flush_denormals: true"):
            self.assertRegex(text, rf"(?m)^ *{re.escape(line)}$")
        twice = self.good("config", TRN1, "--set", "hbm.bandwidth=1 GB/s", "--set", "chip.hbm.bandwidth=2 GB/s")
        self.assertIn("bandwidth: 2 GB/s", twice)
        self.assertNotIn("bandwidth: 1 GB/s", twice)

    def test_a_file_with_a_base_gives_only_what_differs(self):
        (self.dir / "fast.yaml").write_text("base: trn1.2xlarge\nchip:\n  hbm:\n    latency: 1 ns\n")
        mine, base = self.good("config", "fast.yaml").splitlines(), self.good("config", TRN1).splitlines()
        self.assertEqual([(a, b) for a, b in zip(mine, base) if a != b],
                         [("name: fast", f"name: {TRN1}"), ("    latency: 1 ns", "    latency: 120 ns")])

    def test_settings_change_the_run(self):
        slow = self.run_report("gemm", *size(256), "--set", "dma.bandwidth=1 GB/s")
        fast = self.run_report("gemm", *size(256))
        self.assertGreater(slow["result"]["simulated_time_fs"], fast["result"]["simulated_time_fs"])
        one = self.run_report("gemm", *size(256), "--cores", "2", "--set", "chip0.nc1.dma.bandwidth=1 GB/s")
        both = self.run_report("gemm", *size(256), "--cores", "2", "--set", "dma.bandwidth=1 GB/s")
        finished = [[e["attribution"].get("finished", 0) for e in r["engines"] if e["path"] == "chip0.nc0.tensor_engine"] for r in (one, both)]
        self.assertGreater(finished[0][0], finished[1][0])   # core 0 keeps its speed


class Lists(CliTest):
    def table(self, *arguments):
        """Rows of a table; columns are two blanks or more apart."""
        lines = self.good("list", *arguments).splitlines()
        self.assertTrue(all(line == line.rstrip() for line in lines))
        return [re.split(r" {2,}", line) for line in lines]

    def test_every_word(self):
        presets = sorted(path.stem for path in (ROOT / "platforms" / "presets").glob("*.yaml"))
        self.assertLessEqual(set(PLATFORMS), set(presets))
        self.assertEqual([row[0] for row in self.table("platforms")], ["PLATFORM", *presets])
        self.assertEqual([row[0] for row in self.table("workloads")], ["WORKLOAD", "gemm", "program"])
        formats = [row[0] for row in self.table("formats")]
        self.assertLessEqual({"FORMAT", "fp32", "tf32", "bf16", "fp16", "e4m3", "e5m2", "e3m4", "int8"}, set(formats))
        self.assertGreaterEqual(len(causes()), 20)
        instructions = self.table("instructions")
        self.assertEqual(instructions[0], ["INSTRUCTION", "ENGINES", "OPERANDS", "COST (CYCLES)", "STATUS", "SOURCE"])
        self.assertLessEqual({"nc_matmul", "dma_copy", "tensor_copy", "halt"}, {row[0] for row in instructions})

    def test_every_key_can_be_set_to_what_config_prints(self):
        keys = {row[0] for row in self.table("keys")[1:]}
        self.assertLessEqual({"chips", "chip.cores", "chip.hbm.bandwidth", "chip.nc.tensor_engine.clock"}, keys)
        path, settings = [], []
        for line in self.good("config", TRN1).splitlines():
            depth = (len(line) - len(line.lstrip())) // 2
            name, _, value = line.strip().partition(":")
            path[depth:] = [name]
            if value.strip():
                self.assertIn(".".join(path), keys)
                settings += ["--set", f"{'.'.join(path)}={value.strip()}"]
        self.assertGreater(len(settings), 80)
        self.assertEqual(self.good("config", TRN1, *settings), self.good("config", TRN1))

    def test_signals(self):
        rows = self.table("signals", TRN1)
        self.assertEqual(rows[0], ["SIGNAL", "TYPE"])
        self.assertTrue(all(re.fullmatch(r"\d+ bit|text\[\d+\]", row[1]) for row in rows[1:]))
        self.assertEqual(self.table("signals", TRN1, "chip0.hbm*", "!*.target"),
                         [["SIGNAL", "TYPE"]] + [[f"chip0.hbm{i}.{n}_bytes", "48 bit"] for i in (0, 1) for n in ("read", "written")])
        busy = self.table("signals", "trn2.3xlarge", "*_engine.busy", "!chip0.nc7.*")
        self.assertEqual(len(busy), 1 + 7 * 5)
        self.assertEqual(len(self.table("signals", TRN1, "chip0.hbm*", "!*.target", "--set", "hbm_stacks=4")), 1 + 8)


class Programs(CliTest):
    def test_assembling_what_was_disassembled_gives_the_same(self):
        for source in sorted(DATA.glob("*.s")):
            if source.name == "errors.s":
                continue
            self.assertEqual(self.good("asm", source, "-o", "1.bin"), "")
            text = self.good("disasm", "1.bin")
            (self.dir / "2.s").write_text(text)
            self.good("asm", "2.s", "-o", "2.bin")
            self.assertEqual((self.dir / "1.bin").read_bytes(), (self.dir / "2.bin").read_bytes(), source.name)
            self.assertEqual(self.good("disasm", "2.s"), text)
            self.assertEqual(self.good("disasm", "2.bin", "-o", "3.s"), "")
            self.assertEqual((self.dir / "3.s").read_text(), text)

    def test_text_and_binary_run_the_same(self):
        self.good("asm", DATA / "good.s", "-o", "good.bin")
        text, binary = self.run_report("program", DATA / "good.s"), self.run_report("program", "good.bin")
        self.assertEqual((text["result"]["simulated_time_fs"], text["engines"]), (binary["result"]["simulated_time_fs"], binary["engines"]))

    def test_asm_without_an_output_only_checks(self):
        self.assertEqual(self.good("asm", DATA / "good.s"), "")
        self.assertEqual(self.snapshot(), {})


class Words(CliTest):
    def test_help_of_every_command(self):
        commands = {(): ["run", "cosim", "list", "config", "asm", "disasm", "--log", "--version"],
                    ("run",): ["gemm", "program", "--set", "--data", "--seed", "--until", "--pe", "--rtl", "--rtl-fault",
                               "--stop-on", "--reproducer", "--capture", "--capture-count", "--inject", "--report",
                               "--trace", "--wave", "--wave-scope", "--quiet", "azulejo list platforms", "azulejo list faults"],
                    ("run", TRN1, "gemm"): ["--m", "--k", "--n", "--dtype", "--out-dtype", "--partials", "--tiling", "--cores",
                                            "--a", "--b", "--out", "bf16", "default 1024"],
                    ("run", TRN1, "program"): ["file"], ("list",): ["platforms | workloads", "--set"], ("config",): ["platform"],
                    ("asm",): ["--output"], ("disasm",): ["--output"]}
        for command, words in commands.items():
            for flag in ("--help", "-h"):
                text = self.good(*command, flag)
                for word in (*words, "Examples:", "Exit status"):
                    self.assertIn(word, text, command)
                for option in re.findall(r"(?m)^  (-\S+.*(?:\n {10,}.*)?)$", text):   # each has a description
                    self.assertRegex(option, r"\s{2,}\S+ \S+")

    def test_examples_of_the_help_are_right(self):
        lines = [re.split(r" {2,}", line.strip())[0] for line in self.good("--help").splitlines() if line.startswith("  azulejo run ")]
        self.assertGreaterEqual(len(lines), 5)
        for line in lines:
            if ".npy" in line or "8192" in line or "--rtl-fault" in line:
                continue
            line = line.replace(" --view", "")   # there is no display
            done = subprocess.run(["sh", "-c", line.replace("azulejo", '"$0"', 1), tool()], cwd=self.dir, capture_output=True, text=True, timeout=120)
            self.assertEqual((done.returncode, done.stderr), (0, ""), line)

    def test_version(self):
        version = re.search(r"VERSION (\S+)", re.search(r"project\(([^)]*)\)", (ROOT / "CMakeLists.txt").read_text()).group(1)).group(1)
        self.assertEqual(self.good("--version"), f"azulejo {version}\n")
        self.assertEqual(self.run_report("gemm", *size(16))["tool"], {"name": "azulejo", "version": version})

    def test_the_summary_carries_units_and_no_control_characters(self):
        done = self.call("run", TRN1, "gemm", *size(512))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertNotRegex(done.stdout, r"[\x00-\x09\x0b-\x1f\x7f]")
        for pattern in (r"simulated time +[\d.]+ us$", r"achieved +[\d.]+ TFLOP/s of 91.8 TFLOP/s peak: [\d.]+ %$",
                        r"bound by +\w+$", r"check +262144 elements, 0 mismatches", r"host +[\d.]+ s, [\d.]+ MiB peak memory$"):
            self.assertRegex(done.stdout, f"(?m)^{pattern}")

    def test_quiet_prints_nothing(self):
        self.assertEqual(self.good("run", TRN1, "gemm", *size(64), "--quiet"), "")

    def test_log_levels_go_to_stderr(self):
        done = self.call("--log", "debug", "run", TRN1, "gemm", *size(64), "--quiet")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertTrue(done.stderr)
        self.assertTrue(all(re.match(r"azulejo: (info|debug): ", line) for line in done.stderr.splitlines()))
        self.good("--log", "error", "run", TRN1, "gemm", *size(64))

    def test_progress_is_for_terminals(self):
        endless = ["run", TRN1, "program", str(DATA / "endless.s")]
        silent = self.call(*endless, "--until", "2 ms")
        self.assertEqual((silent.returncode, silent.stderr), (0, ""))

        leader, follower = pty.openpty()
        self.addCleanup(os.close, leader)
        self.addCleanup(os.close, follower)

        def start(*arguments):
            process = subprocess.Popen([tool(), *arguments], cwd=self.dir, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=follower)
            self.addCleanup(lambda: process.poll() is None and process.kill())
            return process

        def said(seconds):
            return os.read(leader, 65536).decode() if select.select([leader], [], [], seconds)[0] else ""

        process = start(*endless)
        self.assertRegex(said(60), r"^\r\x1b\[Ksimulated [\d.]+ \w+  [\d.]+ \w+ per second")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(60), 3)
        self.assertTrue(said(1).endswith("\r\x1b[K"))   # and is wiped away
        self.assertEqual(start(*endless, "--until", "2 ms", "--quiet").wait(60), 0)
        self.assertEqual(said(0), "")


if __name__ == "__main__":
    main()
