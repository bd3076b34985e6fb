# SPDX-License-Identifier: Apache-2.0
"""Are the waves of every kind of run valid, readable by others, small, and right to the femtosecond?

Run as `python3 FILE TOOL [unittest arguments]`. Needs Debian's gtkwave; without it the tests fail.
"""
import dataclasses
import functools
import pathlib
import re
import subprocess
import sys
import tempfile

import fst
import vcd
from fst import read_fst, read_with_gtkwave
from vcd import differences, read_vcd

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from cli_support import CliTest, DATA, TRN1, main, size, tool   # noqa: E402

TENSOR = "chip0.nc0.tensor_engine"
GEMM = ("run", TRN1, "gemm", "--m", "256", "--k", "256", "--n", "1024", "--dtype", "bf16")
SHORT = ("run", TRN1, "gemm", *size(32, 400, 64), "--pe", "lockstep")
RUNS = {   # one of every kind that writes waves
    "gemm": GEMM,
    "lockstep": (*GEMM, "--pe", "lockstep"),
    "short": SHORT,
    "no_data": (*GEMM, "--data", "none", "--cores", "2"),
    "program": ("run", TRN1, "program", DATA / "good.s"),
    "faults": ("run", TRN1, "program", DATA / "fault.s"),
    "deadlock": ("run", TRN1, "program", DATA / "deadlock.s"),
    "empty": ("run", TRN1, "program", DATA / "empty.s"),
    "until": (*GEMM, "--until", "5 us"),
    "mismatch": ("run", TRN1, "gemm", *size(16, 40, 24), "--pe", "lockstep", "--rtl-fault", "round_truncates"),
    "pe": ("cosim", "pe", "--format", "bf16,e4m3", "--macs", "2000"),
    "array": ("cosim", "array", "--rows", "8", "--cols", "8", "--n", "24", "--matmuls", "2", "--format", "bf16,fp32", "--stalls",
              "--wave-window", "16.8 us:"),   # the end of the handshakes' campaign, and the matmuls
    "rounding": ("cosim", "rounding", "--format", "bf16", "--values", "500", "--wave-window", ":5 us"),
    "replay": ("cosim", "replay", "cases.json"),
}
STATUS = {"faults": 1, "deadlock": 1, "mismatch": 1}
START = {"array": 16_800_000_000}
IDLE = {"empty"}   # nothing happens in them
RTL = re.compile(re.escape(TENSOR) + r"\.(?:tile|west|north|drain)_[\d_]+|chip\d\.nc\d\.vector_engine\.\w*lane_\d+")

_temporary = tempfile.TemporaryDirectory(prefix="azulejo_formats_")
DIRECTORY = pathlib.Path(_temporary.name)


def run(name, *arguments, status=0):
    """Runs the tool with a wave of that name, in the directory that all tests share."""
    done = subprocess.run([tool(), *map(str, arguments), "--quiet", "--wave", name], cwd=DIRECTORY, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=120)
    assert done.returncode == status, (arguments, done.returncode, done.stdout, done.stderr)
    return DIRECTORY / name


@functools.lru_cache(maxsize=None)
def wave_file(name, extension):
    if name == "replay" and not (DIRECTORY / "cases.json").exists():
        run("capture.vcd", "run", TRN1, "gemm", *size(16, 40, 24), "--pe", "lockstep", "--capture", "cases.json")
    return run(f"{name}.{extension}", *RUNS[name], status=STATUS.get(name, 0))


@functools.lru_cache(maxsize=None)
def whole(name):
    return read_vcd(wave_file(name, "vcd"))


@functools.lru_cache(maxsize=None)
def part(name, *arguments, base=SHORT, extension="vcd"):
    """The wave of the run `base` with wave options."""
    path = run(f"{name}.{extension}", *base, *arguments)
    return read_vcd(path) if extension == "vcd" else read_fst(path)


def gtkwave_tool(*arguments, output=None):
    done = subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    said = done.stderr + done.stdout if output is None else done.stderr
    assert done.returncode == 0 and not re.search(r"(?i)error|warning|unknown|duplicate|malformed", said), (arguments, said)
    if output is not None:
        output.write_text(done.stdout)


def selected(paths, *globs):
    """What the globs select: the last that matches a path or a scope above it counts."""
    def matches(glob, path):
        pattern = re.compile("".join({"*": ".*", "?": "."}.get(c, re.escape(c)) for c in glob))
        return any(pattern.fullmatch(path, 0, end) for end in [m.start() for m in re.finditer(r"\.", path)] + [len(path)])

    def chosen(path):
        result = globs[0].startswith("!")
        for glob in globs:
            if matches(glob.lstrip("!"), path):
                result = not glob.startswith("!")
        return result
    return {path for path in paths if chosen(path)}


class FormatsTest(CliTest):
    def same(self, one, other, what):
        self.assertEqual(differences(one, other), [], what)

    def is_cut_of(self, piece, wave, what):
        """`piece` has the values of `wave` between its start and end, and begins with those of its start."""
        self.assertLessEqual(set(wave.variables), set(piece.variables), what)
        for path in wave.variables:
            variable = piece[path]
            history = wave[path].history()
            expected = [(piece.start, wave[path].at(piece.start))] + [c for c in history if piece.start < c[0] <= piece.end]
            self.assertEqual(variable.changes, expected, f"{what}: {path}")


class Formats(FormatsTest):
    def test_every_vcd_is_valid_and_says_nothing_twice(self):
        for name in RUNS:
            with self.subTest(run=name):
                wave = whole(name)
                self.assertEqual((wave.timescale, wave.start), ("1fs", START.get(name, 0)))
                self.assertGreater(len(wave.variables), 10)
                self.assertEqual(bool(wave.changed()), name not in IDLE)
                for path, variable in wave.variables.items():
                    self.assertEqual(variable.times[:1], [wave.start], path)   # a value from the beginning
                    self.assertEqual(variable.changes, variable.history(), path)
                    self.assertIn(variable.range, (None, (variable.size - 1, 0)), path)

    def test_fst_holds_what_vcd_holds(self):
        for name in RUNS:
            with self.subTest(run=name):
                path = wave_file(name, "fst")
                self.same(whole(name), read_fst(path), "the tests' own reader")
                self.same(whole(name), read_with_gtkwave(path), "fst2vcd")

    def test_fst_blocks(self):
        for name in RUNS:
            with self.subTest(run=name):
                path, wave = wave_file(name, "fst"), whole(name)
                header = fst.read_header(path)
                self.assertEqual((header.start, header.end, header.exponent), (wave.start, wave.end, -15))
                scopes = {path.rsplit(".", depth)[0] for path in wave.variables for depth in range(1, path.count(".") + 1)}
                self.assertEqual((header.scopes, header.variables), (len(scopes), len(wave.variables)))
                self.assertEqual(header.handles, len({id(variable.times) for variable in wave.variables.values()}))
                kinds = [kind for kind, _ in fst.split_blocks(path.read_bytes())]
                self.assertEqual(kinds[0], fst.HEADER)
                self.assertEqual((kinds.count(fst.GEOMETRY), sum(kind in fst.HIERARCHIES for kind in kinds)), (1, 1))
        self.assertEqual([path.name for path in DIRECTORY.iterdir() if path.suffix not in (".vcd", ".fst", ".json")], [])

    def test_gtkwave_s_tools_round_trip(self):
        for name in RUNS:
            with self.subTest(run=name):
                source, packed = wave_file(name, "vcd"), DIRECTORY / f"{name}.again.fst"
                gtkwave_tool("vcd2fst", source, packed)
                self.same(whole(name), read_with_gtkwave(packed), "vcd2fst, fst2vcd")

    def test_another_vcd_reader_agrees(self):
        """vcd2lxt2 reads VCD with code of its own, and lxt2vcd shows what it read, a vector of one bit as that bit."""
        for name in RUNS:
            if name in IDLE:
                continue   # vcd2lxt2 wants more than one time
            with self.subTest(run=name):
                packed, shown = DIRECTORY / f"{name}.lxt2", DIRECTORY / f"{name}.lxt2.vcd"
                gtkwave_tool("vcd2lxt2", wave_file(name, "vcd"), packed)
                gtkwave_tool("lxt2vcd", packed, output=shown)
                packed.unlink()
                wave = whole(name)
                bits = {path: path if v.range != (0, 0) else path + "[0]" for path, v in wave.variables.items()}
                variables = {bits[path]: dataclasses.replace(v, range=v.range if v.size > 1 else None) for path, v in wave.variables.items()}
                self.same(dataclasses.replace(wave, variables=variables), read_vcd(shown), "vcd2lxt2, lxt2vcd")
                shown.unlink()

    def test_text_is_packed_ascii(self):
        wave = whole("gemm")
        opcodes = {vcd.text(value) for value in wave[f"{TENSOR}.opcode"].values}
        self.assertLessEqual({"", "load_stationary", "nc_matmul"}, opcodes)
        self.assertTrue(all(re.fullmatch(r"[a-z_0-9]*", opcode) for opcode in opcodes))
        self.assertEqual(wave[f"{TENSOR}.opcode"].size % 8, 0)
        self.assertLessEqual({"issue", "compute", "finished"}, {vcd.text(value) for value in wave[f"{TENSOR}.state"].values})


class Sizes(FormatsTest):
    def test_fst_is_a_tenth_of_vcd(self):
        for name in ("gemm", "lockstep"):
            sizes = [wave_file(name, extension).stat().st_size for extension in ("fst", "vcd")]
            self.assertLessEqual(10 * sizes[0], sizes[1], name)

    def test_one_file_is_no_larger_than_one_a_domain(self):
        units = sorted({RTL.match(path)[0] for path in whole("short").variables if RTL.match(path)})
        self.assertGreater(len(units), 3)
        only_rtl = [word for unit in units for word in ("--wave-scope", unit)]
        no_rtl = [word for unit in units for word in ("--wave-scope", "!" + unit)]
        for extension in ("vcd", "fst"):
            rtl, tlm = (part(name, *scopes, extension=extension) for name, scopes in (("rtl", only_rtl), ("tlm", no_rtl)))
            self.assertEqual(sorted([*rtl.variables, *tlm.variables]), sorted(whole("short").variables))
            two = sum((DIRECTORY / f"{name}.{extension}").stat().st_size for name in ("rtl", "tlm"))
            self.assertLessEqual(wave_file("short", extension).stat().st_size, 1.2 * two, extension)
            for piece in (rtl, tlm):
                for path, variable in piece.variables.items():
                    self.assertEqual(variable.changes, whole("short")[path].changes, path)

    def test_a_millisecond_of_two_cores(self):
        scopes = [word for scope in ("chip0.nc?.*engine", "chip0.nc?.dma", "chip0.nc?.semaphores", "chip0.hbm*")
                  for word in ("--wave-scope", scope)]
        path = run("millisecond.fst", "run", "trn2.3xlarge", "gemm", "--m", "4096", "--k", "8192", "--n", "8192", "--cores", "2",
                   "--data", "none", "--until", "1 ms", *scopes)
        self.assertLess(path.stat().st_size, 50_000_000)
        header = fst.read_header(path)
        self.assertEqual((header.start, header.end), (0, 10 ** 12))
        self.assertGreater(header.variables, 500)
        wave = read_fst(path)
        for core in ("nc0", "nc1"):
            for scope in ("tensor_engine", "vector_engine", "dma.engine0", "semaphores"):
                paths = wave.below(f"chip0.{core}.{scope}")
                self.assertTrue(any(wave[path].times[-1] > 0.9 * 10 ** 12 for path in paths), (core, scope))
        self.assertTrue(any(len(wave[path].times) > 1000 for path in wave.variables if path.startswith("chip0.hbm")))


class Domains(FormatsTest):
    def test_models_and_rtl_change(self):
        changed = set(whole("lockstep").changed())
        for scope in ("chip0.nc0.dma", "chip0.hbm0", "chip0.nc0.semaphores", "chip0.nc0.vector_engine"):
            self.assertTrue([path for path in changed if path.startswith(scope + ".")], scope)
        for unit in ("tile_0_0", "west_0", "north_0", "drain_0"):
            paths = whole("lockstep").below(f"{TENSOR}.{unit}")
            self.assertGreater(len(changed.intersection(paths)), 0.3 * len(paths), unit)

    def test_the_same_femtosecond_in_both(self):
        wave = whole("lockstep")
        streaming = wave[f"{TENSOR}.streaming"].rises()
        self.assertEqual(len(streaming), wave[f"{TENSOR}.matmuls"].values[-1])
        self.assertEqual(wave[f"{TENSOR}.west_0.valid_i"].rises(), streaming)
        loads, arrivals = wave[f"{TENSOR}.load_busy"].rises(), wave[f"{TENSOR}.north_0.valid_i"].rises()
        self.assertEqual(len(loads), len(arrivals))
        self.assertEqual(loads[0], arrivals[0])
        for load, arrival in zip(loads, arrivals):
            self.assertLessEqual(load, arrival)

    def test_rtl_follows_its_clock(self):
        """2.8 GHz: edge n is at floor(n * 10^15 / f) fs, and what a flip-flop drives changes at edges only."""
        wave = whole("lockstep")
        rises = wave[f"{TENSOR}.tile_0_0.clk_i"].rises()
        self.assertGreater(len(rises), 1000)
        cycles = [-(-rise * 28 // 10 ** 7) for rise in rises]
        self.assertEqual(rises, [cycle * 10 ** 7 // 28 for cycle in cycles])
        outputs = wave[f"{TENSOR}.tile_0_0.act_valid_o[0]"]
        self.assertGreater(len(outputs.times), 2)
        self.assertLessEqual(set(outputs.times[1:]), set(rises))


class Options(FormatsTest):
    def test_scopes(self):
        paths = whole("short").variables
        for i, globs in enumerate([(TENSOR,), ("chip0.nc0.*engine", "!*.instruction"), ("*.vector_engine.busy", "chip0.hbm?"),
                                   ("!chip0.nc*",), ("*.tile_0_0", "!*.clk_i"), ("chip0", "!*.dma.*", "*.dma.engine3")]):
            wave = part(f"scope{i}", *[word for glob in globs for word in ("--wave-scope", glob)])
            self.assertEqual(set(wave.variables), selected(paths, *globs), globs)
            for path, variable in wave.variables.items():
                self.assertEqual(variable.changes, paths[path].changes, path)

    def test_a_named_tile(self):
        wave = part("tile", "--wave-scope", "*.nc0.*.tile_31_31")
        self.assertTrue(wave.variables)
        self.assertTrue(all(path.startswith(f"{TENSOR}.tile_31_31.") for path in wave.variables))
        self.assertGreater(len(wave.changed()), 0.3 * len(wave.variables))

    def test_depth(self):
        paths = whole("short").variables
        for depth in (2, 3, 4, 5):
            wave = part(f"depth{depth}", "--wave-depth", depth)
            self.assertEqual(set(wave.variables), {path for path in paths if path.count(".") <= depth}, depth)
        wave = part("both", "--wave-depth", "3", "--wave-scope", TENSOR)
        self.assertEqual(set(wave.variables), {path for path in paths if re.fullmatch(re.escape(TENSOR) + r"\.\w+", path)})

    def test_window(self):
        wave = whole("short")
        for i, (text, start, end) in enumerate([("3us:5us", 3 * 10 ** 9, 5 * 10 ** 9), (":2.5 us", 0, 25 * 10 ** 8),
                                                ("9000 ns:", 9 * 10 ** 9, wave.end), ("4us:1s", 4 * 10 ** 9, wave.end)]):
            for extension in ("vcd", "fst"):
                window = part(f"window{i}", "--wave-window", text, extension=extension)
                self.assertEqual((window.start, window.end), (start, end), text)
                self.is_cut_of(window, wave, text)

    def test_trigger_on_a_value(self):
        wave = whole("short")
        for i, (path, value, number) in enumerate([("matmuls", "3", 3), ("opcode", "nc_matmul", int.from_bytes(b"nc_matmul", "big")),
                                                   ("streaming", "1", 1), ("matmuls", "0x2", 2),
                                                   ("west_0.valid_i", "1", 1)]):
            path = f"{TENSOR}.{path}"
            when = next(time for time, found in wave[path].changes if found == number)
            cut = part(f"trigger{i}", "--wave-trigger", f"{path}=={value}", "--wave-before", "100 ns", "--wave-after", "200ns")
            self.assertEqual((cut.start, cut.end), (when - 10 ** 8, when + 2 * 10 ** 8), path)
            self.is_cut_of(cut, wave, path)

    def test_trigger_on_a_mismatch(self):
        fault = (*RUNS["mismatch"], "--stop-on", "never")
        path = run("differing.vcd", *fault, status=1)
        wave = read_vcd(path)
        when = next(time for time, count in wave[f"{TENSOR}.lockstep_mismatches"].changes if count)
        for extension, read in (("vcd", read_vcd), ("fst", read_fst)):
            cut = read(run(f"around.{extension}", *fault, "--wave-trigger", "mismatch", "--wave-before", "50 ns", "--wave-after", "20 ns",
                           status=1))
            self.assertEqual((cut.start, cut.end), (when - 5 * 10 ** 7, when + 2 * 10 ** 7))
            self.is_cut_of(cut, wave, extension)

    def test_trigger_on_a_fault(self):
        wave = whole("faults")
        cut = read_vcd(run("fault.vcd", *RUNS["faults"], "--wave-trigger", "fault", "--wave-before", "500 ps", "--wave-after", "100 ns",
                           status=1))
        self.assertEqual((cut.start, cut.end), (892857 - 500_000, 892857 + 10 ** 8))   # after a nop of 1.12 GHz
        self.is_cut_of(cut, wave, "fault")

    def test_limit(self):
        """What is there is right up to a time. How much that is: tests/cli/wave_options_test.py."""
        wave = whole("lockstep")
        for extension, limit in (("vcd", "10 MiB"), ("fst", "500 kB")):
            cut = part("limited", "--wave-limit", limit, base=RUNS["lockstep"], extension=extension)
            self.assertTrue(0 < cut.end < wave.end)
            self.is_cut_of(cut, wave, extension)


if __name__ == "__main__":
    main()
