# SPDX-License-Identifier: Apache-2.0
"""Is wrong input refused in one line per problem that says where, what, and what would be right, with no file touched?"""
import os
import pathlib
import shutil
import unittest

import numpy as np

from cli_support import CliTest, DATA, TRN1, main

GEMM = ("run", TRN1, "gemm")
SMALL = ("--m", "8", "--k", "8", "--n", "8")
OUTPUTS = ("--report", "r.json", "--trace", "t.json", "--wave", "w.vcd")


class CommandLine(CliTest):
    def test_unknown_words(self):
        self.bad("rn", TRN1, "gemm", says=["'rn'", "did you mean 'run'?"])
        self.bad("run", TRN1, "gem", *SMALL, says=["run: ", "'gem'", "did you mean 'gemm'?"])
        self.bad(*GEMM, "--tilin", "full", says=["gemm: ", "'--tilin'", "did you mean '--tiling'?"])
        self.bad(*GEMM, "--dtyp=bf16", says=["'--dtyp'", "did you mean '--dtype'?"])
        self.bad(*GEMM, "--reprot", "r.json", says=["'--reprot'", "did you mean '--report'?"])
        self.bad(*GEMM, "--reprot", "r.json", "--sede=5", says=["'--reprot'", "'--sede'", "did you mean '--seed'?"], problems=2)
        self.bad(*GEMM, "-x", says=["'-x'"])
        self.bad(*GEMM, "more", says=["'more'"])
        self.bad("config", TRN1, "--data", "none", says=["config: ", "'--data'"])
        self.bad("list", "platfroms", says=["'platfroms'", "allowed: platforms", "did you mean 'platforms'?"])
        self.bad("list", "keys", "hbm", says=["list keys", "'hbm'"])

    def test_missing_words(self):
        self.bad(says=["which command?", "run, cosim, list, config, asm or disasm"])
        self.bad("run", says=["run: platform is missing"])
        self.bad("run", TRN1, says=["which workload? gemm or program"])
        self.bad("run", TRN1, "program", says=["program: file is missing"])
        self.bad("list", says=["list: what?", "platforms", "causes"])
        self.bad("list", "signals", says=["which platform?"])
        self.bad("config", says=["config: platform is missing"])
        self.bad("asm", says=["asm: file is missing"])
        self.bad("disasm", says=["disasm: file is missing"])
        self.bad(*GEMM, "--seed", says=["--seed"])

    def test_an_empty_value_is_refused(self):
        for option in ("--m", "--dtype", "--tiling", "--report", "--until", "--inject", "--out", "--seed", "--data", "--set"):
            self.bad(*GEMM, option, "", says=[option])
        self.bad("asm", str(DATA / "good.s"), "-o", "", says=["--output"])

    def test_common_options(self):
        self.bad(*GEMM, "--data", "ful", says=["--data", "'ful'", "full, none", "did you mean 'full'?"])
        self.bad(*GEMM, "--until", "5 parsecs", says=["--until", "'5 parsecs'", "allowed units: fs, ps, ns, us, ms, s"])
        self.bad(*GEMM, "--until", "5", says=["--until", "no unit", "us"])
        self.bad(*GEMM, "--until", "0 us", says=["--until", "'0 us'", "above zero"])
        self.bad(*GEMM, "--until=-5 us", says=["--until", "negative"])
        self.bad(*GEMM, "--until", "6 h", says=["--until", "'h'"])
        self.bad(*GEMM, "--until", "99999 s", says=["--until", "too large"])
        for seed in ("abc", "-1", "1.5", "18446744073709551616"):
            self.bad(*GEMM, f"--seed={seed}", says=["--seed", seed, "2^64 - 1"])
        self.bad(*GEMM, "--stop-on", "error", says=["--stop-on", "'error'", "allowed: fault, mismatch, never"])
        self.bad(*GEMM, "--log", "loud", says=["--log", "'loud'", "error, warning, info, debug"])
        self.bad("--log", "inf", "list", "keys", says=["--log", "did you mean 'info'?"])
        self.bad(*GEMM, "--inject", "nonsense", says=["--inject", "'nonsense'", "bitflip:psum:BIT"])
        self.bad(*GEMM, "--inject", "bitflp:psum", says=["did you mean 'bitflip:psum'?"])
        for word in ("bitflip:psum:32", "bitflip:psum:", "bitflip:psum:x", "bitflip:psum:-1", "bitflip:psum5", "bitflip:sbuf"):
            self.bad(*GEMM, "--inject", word, says=["--inject", word, "from 0 to 31"])
        self.bad(*GEMM, "--inject", "bitflip:psum", "--data", "none", says=["--inject", "--data full"])

    def test_gemm_options(self):
        for name in ("--m", "--k", "--n"):
            for value in ("0", "-1", "1.5", "2147483649", "99999999999999999999999999", "1e3", "0x10", "12 ", "many"):
                self.bad(*GEMM, f"{name}={value}", says=[f"{name}: '{value}'", "whole number from 1 to 2147483648"])
        self.bad(*GEMM, "--m=0", "--k=-1", "--n=x", says=["--m: '0'", "--k: '-1'", "--n: 'x'"], problems=3)
        self.bad(*GEMM, "--tiling", "hoits", says=["--tiling", "'hoits'", "basic, hoist, block_free, full", "did you mean 'hoist'?"])
        self.bad(*GEMM, "--dtype", "bf61", says=["--dtype", "'bf61'", "int8", "did you mean 'bf16'?"])
        self.bad(*GEMM, "--out-dtype", "int8", says=["--out-dtype", "'int8'", "allowed: bf16"])
        self.bad(*GEMM, "--partials", "fp16", says=["--partials", "'fp16'", "fp32, bf16"])
        for cores in ("3", "0", "-1", "1.5", "two", "99999999999999999999"):
            self.bad(*GEMM, f"--cores={cores}", says=[f"--cores: '{cores}'", "whole number from 1 to 2"])
        self.bad(*GEMM, "--m", "3", "--m", "4", says=["--m"])

    def test_problems_that_need_no_platform_are_listed_together(self):
        self.bad("run", "trn1.2xlrge", "gemm", "--data", "ful", "--seed", "x", "--wave", "w.txt", "--until", "soon",
                 says=["--data", "--seed", "--wave", "--until", "trn1.2xlrge"], problems=5)
        self.bad(*GEMM, "--seed", "x", "--cores", "9", "--tiling", "best", "--report", "none/r.json", "--out", "none/c.npy",
                 says=["--seed", "--cores", "--tiling", "--report", "--out"], problems=5)

    def test_what_does_not_fit(self):
        self.bad(*GEMM, *OUTPUTS, "--set", "sbuf.partition_size=256 B", says=["SBUF partition", "256", "tiling full", "sbuf.partition_size"])
        self.bad(*GEMM, *OUTPUTS, "--tiling", "block_free", "--k", "65536", "--data", "none",
                 says=["block_free", "196608", "tiling full has no such limit"])
        huge = "16777216"
        self.bad(*GEMM, *OUTPUTS, "--m", huge, "--k", huge, "--n", huge, "--data", "none",
                 says=[huge, "bf16", "HBM stack 0", "16.0 GiB", "hbm.capacity"])
        self.bad(*GEMM, "--m", "64", "--k", "64", "--n", "64", "--set", "hbm.capacity=20 KiB", says=["tensor C", "20.0 KiB"])


class Platforms(CliTest):
    def test_unknown_platforms(self):
        self.bad("run", "trn1.2xlrge", "gemm", *OUTPUTS, says=["'trn1.2xlrge'", "trn2.3xlarge", "did you mean 'trn1.2xlarge'?"])
        self.bad("config", "Trn2.3xlarge", says=["did you mean 'trn2.3xlarge'?"])
        self.bad("list", "signals", "tpu", says=["'tpu'", "trn1.2xlarge"])
        self.bad("run", "./none.yaml", "gemm", says=["./none.yaml", "no such file"])
        self.bad("run", ".", "gemm", says=["'.'"])
        self.bad("run", "./", "gemm", says=["./", "directory"])

    def test_settings(self):
        for command in (GEMM, ("config", TRN1), ("list", "signals", TRN1)):
            self.bad(*command, "--set", "hbm.bandwith=5 GB/s", says=["--set", "hbm.bandwith", "did you mean 'hbm.bandwidth'?"])
        self.bad(*GEMM, "--set", "hbm.bandwidth=5 GHz", says=["hbm.bandwidth", "'5 GHz'", "'GHz'", "allowed units: B/s", "GB/s"])
        self.bad(*GEMM, "--set", "hbm.bandwidth=5 GBps", says=["did you mean 'GB/s'?"])
        self.bad(*GEMM, "--set", "hbm.bandwidth=5", says=["no unit", "GB/s"])
        self.bad(*GEMM, "--set", "hbm.bandwidth", says=["--set hbm.bandwidth", "KEY=VALUE"])
        self.bad(*GEMM, "--set", "=5", says=["KEY=VALUE"])
        self.bad(*GEMM, "--set", "clock=1 GHz", says=["clock", "several keys", "tensor_engine.clock"])
        self.bad(*GEMM, "--set", "hbm=1", says=["group of keys", "hbm.capacity"])
        self.bad(*GEMM, "--set", "chips=0", says=["--set chips=0", "0", "1 to 1024"])
        self.bad(*GEMM, "--set", "cores=1.5", says=["cores", "'1.5'", "whole number"])
        self.bad(*GEMM, "--set", "vector_engine.rounding=nearest", says=["'nearest'", "nearest_even", "stochastic"])
        self.bad(*GEMM, "--set", "chip0.nc7.tensor_engine.clock=1 GHz", says=["chip0.nc7", "nc0 to nc1"])
        self.bad(*GEMM, "--set", "chip1.hbm0.latency=1 ns", says=["chip1.hbm0", "only chip0"])
        self.bad(*GEMM, "--set", "a=1", "--set", "hbm.latency=x", "--set", "nothing",
                 says=["--set a=1", "--set hbm.latency=x", "--set nothing"], problems=3)

    def test_files(self):
        lines = self.bad("run", DATA / "errors.yaml", "gemm", *OUTPUTS, problems=5,
                         says=["'two'", "'GHz'", "did you mean 'bandwidth'?", "did you mean 'hbm'?", "1 to 1024"])
        for place in (":3:10:", ":5:5:", ":6:14:", ":7:3:", ":8:8:"):
            self.assertEqual(sum(f"errors.yaml{place}" in line for line in lines), 1, place)
        self.bad("config", DATA / "errors.yaml", "--set", "hbm.bandwidth=1", problems=6)
        self.bad("run", DATA / "broken.yaml", "gemm", *OUTPUTS, says=["broken.yaml:4:2", "not YAML"])
        for name, text, words in (("empty.yaml", "", ["empty"]), ("list.yaml", "- 1\n", ["map of keys"]),
                                  ("tab.yaml", "chip:\n\tcores: 2\n", ["tab.yaml:2:", "spaces, not tabs"]),
                                  ("twice.yaml", "chips: 1\nchips: 2\n", ["twice.yaml:2:1", "given twice"]),
                                  ("self.yaml", "base: ./self.yaml\n", ["its own base"]),
                                  ("base.yaml", "base: trn1.2xlarg\n", ["base.yaml:1:7", "did you mean 'trn1.2xlarge'?"]),
                                  ("bytes.yaml", "\x00\x01", ["bytes.yaml"])):
            (self.dir / name).write_text(text)
            self.bad("run", f"./{name}", "gemm", says=words)


class Matrices(CliTest):
    def setUp(self):
        super().setUp()
        self.a = np.arange(12, dtype=np.float32).reshape(3, 4)
        np.save(self.dir / "a.npy", self.a)
        np.save(self.dir / "b.npy", np.ones((4, 5), np.float32))
        self.bytes = (self.dir / "a.npy").read_bytes()

    def refuse(self, content, *words):
        path = self.dir / "x.npy"
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            np.save(path, content)
        self.bad(*GEMM, *OUTPUTS, "--out", "c.npy", "--a", "x.npy", "--b", "b.npy", says=["--a x.npy", *words])

    def test_arrays_that_are_no_matrix_of_floats(self):
        self.refuse(self.a.astype(">f4"), "big-endian", "'>f4'", "astype('<f4')")
        self.refuse(np.asfortranarray(self.a), "Fortran order", "np.ascontiguousarray")
        self.refuse(self.a.astype(np.int32), "'<i4'", "float32", "astype('<f4')")
        self.refuse(self.a.astype(np.float64), "'<f8'", "astype('<f4')")
        self.refuse(self.a.astype(np.complex64), "'<c8'")
        self.refuse(np.zeros((3, 4), [("x", "<f4")]), "structured")
        self.refuse(self.a[0], "two dimensions", "reshape")
        self.refuse(self.a[None], "(1, 3, 4)", "two dimensions", "reshape")
        self.refuse(np.float32(1), "two dimensions")
        self.refuse(self.a[:0], "(0, 4)", "no dimension may be 0")

    def test_damaged_files(self):
        self.refuse(b"", "no .npy file")
        self.refuse(b"hello, this is text\n", "no .npy file", "numpy.save")
        self.refuse(self.bytes[:-1], "truncated", "48 bytes", "47")
        self.refuse(self.bytes + b"x", "too long", "49")
        self.refuse(self.bytes[:20], "truncated")
        self.refuse(self.bytes.replace(b"'<f4'", b"<f4'  "), "header is damaged")
        self.refuse(self.bytes.replace(b"(3, 4)", b"(3,-4)"), "header is damaged")
        self.refuse(self.bytes[:6] + b"\x09" + self.bytes[7:], "version 9.0")

    def test_files_that_cannot_be_read(self):
        self.bad(*GEMM, "--a", "none.npy", "--b", "b.npy", says=["--a none.npy", "no such file"])
        self.bad(*GEMM, "--a", ".", "--b", "b.npy", says=["--a .", "not a regular file"])
        self.bad(*GEMM, "--a", "none.npy", "--b", "nor.npy", says=["--a none.npy", "--b nor.npy"], problems=2)

    def test_matrices_that_do_not_fit_together(self):
        np.save(self.dir / "half.npy", np.ones((4, 5), np.float16))
        self.bad(*GEMM, "--a", "a.npy", "--b", "a.npy", says=["[3, 4]", "A's columns must be B's rows"])
        self.bad(*GEMM, "--a", "a.npy", "--b", "half.npy", says=["fp32", "fp16", "--dtype"])
        self.bad(*GEMM, "--a", "a.npy", says=["--a needs --b"])
        self.bad(*GEMM, "--b", "b.npy", says=["--b needs --a"])
        self.bad(*GEMM, "--a", "a.npy", "--b", "b.npy", "--data", "none", says=["--data full"])
        files = ("--a", "a.npy", "--b", "b.npy")
        self.bad(*GEMM, *files, "--m", "4", says=["--m: 4 contradicts the files' 3"])
        self.bad(*GEMM, *files, "--m", "3", "--k", "3", "--n", "4", says=["--k: 3", "4", "--n: 4", "5"], problems=2)


class Programs(CliTest):
    def test_every_assembler_error_is_listed_with_its_place(self):
        source = DATA / "errors.s"
        for command in (("run", TRN1, "program", source, *OUTPUTS), ("asm", source, "-o", "p.bin"), ("disasm", source)):
            lines = self.bad(*command, problems=5, says=["did you mean 'dma_copy'?", "did you mean 'tensor'?", "r0 to r63", "'nowhere'"])
            for place in (":2:3:", ":3:7:", ":4:9:", ":7:21:", ":8:34:"):
                self.assertEqual(sum(f"errors.s{place}" in line for line in lines), 1, place)

    def test_damaged_binary_programs(self):
        self.good("asm", DATA / "good.s", "-o", "p.bin")
        data = (self.dir / "p.bin").read_bytes()
        for cut in (8, 15, 18, 300, len(data) - 1):
            (self.dir / "cut.bin").write_bytes(data[:cut])
            self.bad("run", TRN1, "program", "cut.bin", *OUTPUTS, says=["cut.bin: damaged program: byte ", "assemble it again"])
        for at, value in ((8, 9), (12, 4), (16, 255), (20, 250)):
            (self.dir / "bad.bin").write_bytes(data[:at] + bytes([value]) + data[at + 1:])
            self.bad("disasm", "bad.bin", says=["bad.bin: damaged program: byte "])
        (self.dir / "long.bin").write_bytes(data + b"x")
        self.bad("disasm", "long.bin", says=["long.bin: damaged program: byte "])

    def test_files_that_cannot_be_read(self):
        for command in (("run", TRN1, "program"), ("asm",), ("disasm",)):
            self.bad(*command, "none.s", says=["none.s", "No such file"])
            self.bad(*command, str(self.dir), says=[str(self.dir), "is a directory"])

    def test_text_that_is_no_program(self):
        (self.dir / "noise.s").write_bytes(bytes(range(256)))
        done = self.call("asm", "noise.s")
        self.assertEqual(done.returncode, 2)
        for line in done.stderr.splitlines():
            self.assertRegex(line, r"^azulejo: noise\.s:\d+:\d+: ")


class Outputs(CliTest):
    def test_outputs_that_cannot_be_written(self):
        (self.dir / "folder").mkdir()
        for option in ("--report", "--trace", "--out"):
            self.bad(*GEMM, *SMALL, option, "none/file", says=[f"{option} none/file", "no directory none", "mkdir -p"])
            self.bad(*GEMM, *SMALL, option, "folder", says=[f"{option} folder", "is a directory"])
            self.bad(*GEMM, *SMALL, option, "new/", says=[f"{option} new/", "is a directory"])
        self.bad(*GEMM, *SMALL, "--wave", "none/w.vcd", says=["--wave none/w.vcd", "no directory none"])
        (self.dir / "dir.vcd").mkdir()
        self.bad(*GEMM, *SMALL, "--wave", "dir.vcd", says=["--wave dir.vcd", "is a directory"])
        self.bad("asm", DATA / "good.s", "-o", "none/p", says=["none/p", "no directory none"])
        self.bad("disasm", DATA / "good.s", "-o", "folder", says=["folder", "is a directory"])
        self.bad(*GEMM, *SMALL, "--report", "none/r", "--trace", "none/t", "--wave", "none/w.vcd", "--out", "none/c", problems=4)

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_missing_permission(self):
        (self.dir / "shut").mkdir(mode=0o500)
        self.bad(*GEMM, *SMALL, "--report", "shut/r", says=["shut/r", "Permission denied"])

    def test_one_file_is_not_given_twice(self):
        self.bad(*GEMM, *SMALL, "--report", "x.json", "--trace", "./x.json", says=["--report and --trace", "'x.json'", "each its own"])
        np.save(self.dir / "a.npy", np.ones((2, 2), np.float32))
        self.bad(*GEMM, "--a", "a.npy", "--b", "a.npy", "--out", "a.npy", says=["--out", "would overwrite --a"], problems=2)
        shutil.copy(DATA / "good.s", self.dir / "p.s")
        self.bad("run", TRN1, "program", "p.s", "--report", "p.s", says=["--report", "would overwrite the program"])
        self.bad("asm", "p.s", "-o", "p.s", says=["p.s"])
        (self.dir / "p.yaml").write_text("base: trn1.2xlarge\n")
        self.bad("run", "./p.yaml", "gemm", "--trace", "p.yaml", says=["would overwrite the platform"])
        self.good("run", TRN1, "gemm", *SMALL, "--report", "/dev/null", "--trace", "/dev/null", "--quiet")

    def test_waves(self):
        self.bad(*GEMM, "--wave", "x.lxt", says=["--wave", "'x.lxt'", ".vcd", ".fst"])
        self.bad(*GEMM, "--wave", ".vcd", says=["--wave", "'.vcd'"])
        self.bad(*GEMM, "--wave-scope", "chip0*", says=["--wave-scope needs --wave"])
        wave = ("--wave", "w.vcd", "--report", "r.json", "--trace", "t.json")
        self.bad(*GEMM, *wave, "--wave-scope", "nothing*", says=["--wave-scope", "'nothing*'", "azulejo list signals"])
        self.bad(*GEMM, *wave, "--wave-scope", "chip0.nc0.tensor_engin", says=["did you mean 'chip0.nc0.tensor_engine'?"])
        self.bad(*GEMM, *wave, "--wave-scope", "*busy", "--wave-scope", "!nope", "--wave-scope", "chip7", says=["'!nope'", "'chip7'"], problems=2)
        self.bad("list", "signals", TRN1, "chip0.nc0.tensor_engine.bsy", "zzz",
                 says=["list signals", "did you mean 'chip0.nc0.tensor_engine.busy'?", "'zzz'"], problems=2)

    def test_a_full_disk_is_said_and_leaves_status_3(self):
        if not pathlib.Path("/dev/full").exists():
            self.skipTest("no /dev/full")
        for option in ("--report", "--trace", "--out"):
            done = self.call(*GEMM, *SMALL, option, "/dev/full", "--quiet")
            self.assertEqual(done.returncode, 3)
            self.assertRegex(done.stderr, r"^azulejo: error: /dev/full: .*No space left on device\n$")
        # The other outputs are whole.
        done = self.call(*GEMM, *SMALL, "--out", "/dev/full", "--report", "r.json", "--quiet")
        self.assertEqual(done.returncode, 3)
        self.assertIn('"elements": 64', (self.dir / "r.json").read_text())


if __name__ == "__main__":
    main()
