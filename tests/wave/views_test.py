# SPDX-License-Identifier: Apache-2.0
"""Do the saved views fit the waves that the tool writes, as VCD and as FST? The runs are those that waves/README.md names.

Run as `python3 FILE TOOL [unittest arguments]`. Needs Debian's gtkwave and xvfb; without them the tests fail.
"""
import concurrent.futures
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

WAVES = pathlib.Path(__file__).resolve().parents[2] / "waves"
FORMATS = ("vcd", "fst")
# What GTKWave shows in some rows of a view at a time, in fs, of README's run: text and enumerations as words, FP32 as decimal.
SHOWN = {
    "trn1.2xlarge": (1_350_000_000, {
        "tensor state": "wait", "tensor waits for": "data", "vector opcode": '""', "engine0 descriptors": "128",
        "engine0 transaction": "RD 0x200000 8 x 512 B nc0.dma.engine0", "hbm0 phase": "END_REQ", "engine1 descriptors": "128"}),
    "trn2.3xlarge": (17_000_000_000, {"tensor state": "compute", "tensor opcode": "nc_matmul", "hbm0 outstanding": "0"}),
    "lockstep": (6_600_000_000, {
        "tensor state": "compute", "columns entering": "2: bf16", "weight format": "Bf16", "weight part": "Whole",
        "activation format": "Bf16", "activation part": "Whole", "to format": "Bf16", "array mismatches": "0"}),
    "systolic": (6_481_500_000, {
        "streaming": "1", "columns entering": "2: bf16", "act_valid (0,0)": "1", "act_valid (0,1)": "0", "active": "0AF4EB0",
        "psum (0,0)": "0.882111"}),
    "mismatch": (3_946_800_000, {
        "activation": "08F3BA0", "sum to the south": "1.364093", "array mismatches": "0", "columns entering": "0: bf16"}),
    "cosim_pe": (427_200_000, {
        "what differs": "psum", "group": "directed", "activation enters": "1.5", "sum bits, RTL": "400FFFFF",
        "sum bits, model": "40100000"}),
    "cosim_array": (2_928_000_000, {
        "phase": "handshakes", "act_format_i": "Bf16", "act_part_i": "Whole", "act_ready_o, RTL": "0", "column 0, model": "0.231671"}),
    "cosim_rounding": (10_400_000, {"what differs": "code", "to format": "bf16", "code, RTL": "000080E9", "code, model": "000080E8"}),
}
TEXT, FOLDED = 0x800, 0x400000   # bits of GTKWave's flags
ASK = """\
gtkwave::setMarker {time}
set n [gtkwave::getTotalNumTraces]
for {{set i 0}} {{$i < $n}} {{incr i}} {{
  puts "trace:[gtkwave::getTraceValueAtMarkerFromIndex $i]\t[gtkwave::getTraceNameFromIndex $i]"
}}
puts "start:[gtkwave::getWindowStartTime]"
exit
"""
EXPECTED = re.compile(r"trace:|start:|GTKWave Analyzer|\[\d+\] (start|end) time\.$|GTKWAVE \| Executing Tcl script|FSTLOAD \| ")

_tool = ""


def at_once(function, items):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(function, items))


def commands():
    """{view: (arguments of the tool without those that say where the wave goes, arguments of gtkwave)}, from the README."""
    found = {}
    for section in re.split(r"^## ", (WAVES / "README.md").read_text(encoding="utf-8"), flags=re.M):
        lines = re.findall(r"^    (azulejo|gtkwave) (.*)$", section, flags=re.M)
        view = section.partition("\n")[0]
        if [program for program, _ in lines] == ["azulejo", "gtkwave"]:
            run, show = (shlex.split(arguments) for _, arguments in lines)
            place = run.index("--wave")
            found[view] = (run[:place] + run[place + 2:], [run[place + 1], *show])
    return found


def wave_names(path):
    """The signals of a VCD file as GTKWave names them, a vector with its range."""
    names, scopes = set(), []
    with open(path, encoding="ascii") as file:
        for line in file:
            words = line.split()
            if not words:
                continue
            if words[0] == "$enddefinitions":
                return names
            if words[0] == "$scope":
                scopes.append(words[2])
            elif words[0] == "$upscope":
                scopes.pop()
            elif words[0] == "$var":
                names.add(".".join(scopes + [words[4]]) + "".join(words[5:-1]))
    raise AssertionError(f"{path}: no $enddefinitions")


def view_rows(text):
    """(shown name, signal or None) of every row of a view: signals, groups and the rows that add height."""
    rows = []
    for line in text.splitlines():
        signal = re.fullmatch(r"\+\{(.+)\} (\S+)", line)
        if signal:
            rows.append((signal[1], signal[2]))
        elif line.startswith("-"):
            rows.append((line[1:], None))
    return rows


def signals_of(text):
    return [signal for _, signal in view_rows(text) if signal]


def make_views(*arguments):
    return subprocess.run([sys.executable, "-B", WAVES / "make_views.py", *arguments], capture_output=True, text=True, timeout=60)


class WaveTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="azulejo_views_")
        cls.addClassCleanup(temporary.cleanup)
        cls.dir = pathlib.Path(temporary.name)

    def view(self, name):
        return (WAVES / f"{name}.gtkw").read_text(encoding="ascii")


class Files(WaveTest):
    def test_every_view_has_its_section_and_its_surfer_file(self):
        found = commands()
        self.assertEqual(set(found), set(SHOWN))
        for suffix in (".gtkw", ".sucl"):
            self.assertEqual({path.stem for path in WAVES.glob("*" + suffix)}, set(SHOWN))
        for view, (_, show) in found.items():
            self.assertEqual(show, [show[0], show[0], f"waves/{view}.gtkw"])

    def test_script_reproduces_the_files(self):
        self.assertEqual(make_views("--directory", self.dir).returncode, 0)
        made = {path.name for path in self.dir.iterdir()}
        self.assertEqual(made, {path.name for suffix in ("gtkw", "sucl", "txt") for path in WAVES.glob("*." + suffix)})
        for name in made:
            self.assertEqual((self.dir / name).read_text(), (WAVES / name).read_text(), name)

    def test_enumerations_are_those_of_the_rtl(self):
        package = (WAVES.parent / "rtl" / "pkg" / "azulejo_pkg.sv").read_text(encoding="utf-8")
        for path in WAVES.glob("*_e.txt"):
            values = re.findall(r"^(\d+) (\w+)$", path.read_text(), flags=re.M)
            self.assertGreater(len(values), 2, path)
            for value, word in values:
                self.assertRegex(package, rf"\b{word}\s*= \d'd{value}\b", path.name)

    def test_pictures(self):
        shown = re.findall(r"!\[[^]]+\]\(([^)]+)\)", (WAVES / "README.md").read_text())
        self.assertEqual(sorted(shown), sorted(path.name for path in WAVES.glob("*.png")))
        self.assertLessEqual({f"{view}.png" for view in SHOWN}, set(shown))
        for name in shown:
            self.assertLess((WAVES / name).stat().st_size, 250_000, name)

    def test_surfer_commands_are_of_the_same_list(self):
        for view in SHOWN:
            text = (WAVES / f"{view}.sucl").read_text(encoding="ascii")
            self.assertIn("NOT TRIED", text)
            lines = [line for line in text.splitlines() if not line.startswith("#")]
            self.assertFalse([line for line in lines if re.search("[#;]", line)], view)   # they end a command
            items = [line.split(" ", 1) for line in lines if line.startswith(("divider_add ", "variable_add "))]
            rows = [(name, signal) for name, signal in view_rows(self.view(view)) if signal]
            added = [path.replace(".[", "[") for command, path in items if command == "variable_add"]
            self.assertEqual(added, [re.sub(r"\[\d+:\d+\]$", "", signal) for _, signal in rows], view)
            # item_focus counts the items in hexadecimal with the digits a to p.
            focused = [int("".join("0123456789abcdef"[ord(letter) - ord("a")] for letter in index), 16)
                       for index in re.findall(r"^item_focus ([a-p]+)_$", text, flags=re.M)]
            self.assertEqual(focused, [i for i, (command, _) in enumerate(items) if command == "variable_add"], view)
            self.assertEqual(re.findall(r"^item_rename (.*)$", text, flags=re.M), [name for name, _ in rows], view)

    def test_options(self):
        other = signals_of(make_views("trn2.3xlarge", "--cores", "5", "--stacks", "1,2").stdout)
        self.assertTrue(all(re.match(r"chip0\.(nc5|hbm[12])\.", signal) for signal in other))
        other = "\n".join(signals_of(make_views("mismatch", "--pe", "64,9").stdout))
        self.assertIn("tile_16_2.pe_tile.gen_rows[0].gen_cols[1].u_pe.weight", other)
        self.assertNotIn("drain_4", other)
        marked = make_views("lockstep", "--from", "1us", "--to", "2us", "--mark", "1.5us").stdout
        self.assertRegex(marked, r"(?m)^\[timestart\] 1000000000$")
        self.assertRegex(marked, r"(?m)^\*-\d+\.\d+ -1 1500000000 -1")
        for wrong in (["--cores", "1"], ["lockstep", "--from", "2us", "--to", "1us"], ["mismatch", "--pe", "3"], ["nothing"]):
            self.assertEqual(make_views(*wrong).returncode, 2, wrong)


class Gtkwave(WaveTest):
    """With GTKWave itself, on a display of its own."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        read, write = os.pipe()
        cls.server = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", "1600x900x24", "-nolisten", "tcp"],
                                      pass_fds=[write], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(write)
        cls.addClassCleanup(cls.stop)
        with os.fdopen(read) as numbers:   # it writes the number of a free display when it is ready
            number = numbers.readline().strip()
        assert number, "Xvfb does not start"
        cls.environment = {**os.environ, "DISPLAY": f":{number}", "HOME": str(cls.dir), "NO_AT_BRIDGE": "1"}
        (cls.dir / "gtkwaverc").write_text("")
        cls.waves = {}   # {(view, format): file}; views of the same run share it
        runs = {}
        for view, (arguments, _) in commands().items():
            for form in FORMATS:
                cls.waves[view, form] = runs.setdefault((*arguments, form), f"{view}.{form}")
        at_once(cls.run_tool, runs.items())
        asked = [(view, form) for view in SHOWN for form in FORMATS]
        cls.shown = dict(zip(asked, at_once(lambda one: cls.load(cls.waves[one], WAVES / f"{one[0]}.gtkw", SHOWN[one[0]][0]), asked)))

    @classmethod
    def run_tool(cls, run):
        (*arguments, _), wave = run
        reproducer = ["--reproducer", f"{wave}.json"] if "--rtl-fault" in arguments else []
        done = subprocess.run([_tool, *arguments, "--wave", wave, *reproducer, "--quiet"], cwd=cls.dir, capture_output=True, text=True,
                              timeout=120)
        assert done.returncode == (1 if "--rtl-fault" in arguments else 0), (arguments, done.stdout, done.stderr)

    @classmethod
    def stop(cls):
        cls.server.terminate()
        cls.server.wait(30)

    @classmethod
    def load(cls, wave, view, time):
        """([(row, value at that time)], first time shown, what it says besides its banner)."""
        with tempfile.NamedTemporaryFile("w", suffix=".tcl", dir=cls.dir) as script:
            script.write(ASK.format(time=time))
            script.flush()
            done = subprocess.run(["gtkwave", "--nomenus", "--rcfile", "gtkwaverc", "--script", script.name, wave, view], cwd=cls.dir,
                                  env=cls.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        lines = [line for line in (done.stdout + "\n" + done.stderr).splitlines() if line]
        rows = [line[len("trace:"):].split("\t")[::-1] for line in lines if line.startswith("trace:")]
        start = int(next(line for line in lines if line.startswith("start:"))[len("start:"):])
        return rows, start, [line for line in lines if not EXPECTED.match(line)]

    def test_every_name_is_in_the_wave(self):
        for view in SHOWN:
            signals = signals_of(self.view(view))
            self.assertGreater(len(signals), 20)
            self.assertEqual(set(signals) - wave_names(self.dir / self.waves[view, "vcd"]), set(), view)

    def test_loads_without_a_warning(self):
        for (view, form), (rows, _, said) in self.shown.items():
            self.assertEqual(said, [], (view, form))
            self.assertEqual([name for name, _ in rows], [name for name, _ in view_rows(self.view(view))], (view, form))

    def test_opens_at_its_time(self):
        for (view, form), (_, start, _) in self.shown.items():
            self.assertEqual(start, int(re.search(r"^\[timestart\] (\d+)$", self.view(view), flags=re.M)[1]), (view, form))

    def test_shows_what_the_readme_says(self):
        for (view, form), (rows, _, _) in self.shown.items():
            for name, expected in SHOWN[view][1].items():
                values = [value for shown, value in rows if shown == name]
                self.assertTrue(values, (view, form, name))
                # Rows of a group that is folded up have no value.
                self.assertIn(values[0], (expected, "") if self.is_folded(view, name) else (expected,), (view, form, name))

    def is_folded(self, view, name):
        folded = False
        for line in self.view(view).splitlines():
            if re.fullmatch("@[0-9a-f]+", line):
                flags = int(line[1:], 16)
                folded = folded if not flags & 0x1800000 else bool(flags & FOLDED and flags & 0x800000)
            if line.startswith(f"+{{{name}}}"):
                return folded
        return False

    def test_text_is_shown_as_text_and_only_text(self):
        """Words of 8 bits a character are text, and no number has such a name."""
        word = re.compile(r"\.(state|stall_cause|opcode|port0_owner|lane\d|lane\d_phase|completed|dmi|rtl_load|rtl_stream|what|group|"
                          r"act|weight|psum|value|format|rounding|phase|shape)\[\d+:0\]$")
        numbers = re.compile(r"u_pe\.weight\[|state_o|gen_cols\[\d\]\.(psum|weight)\[|state\[\d\]\[")
        for view in SHOWN:
            flags = 0
            for line in self.view(view).splitlines():
                if re.fullmatch("@[0-9a-f]+", line):
                    flags = int(line[1:], 16)
                elif line.startswith("+"):
                    self.assertEqual(bool(flags & TEXT), bool(word.search(line) and not numbers.search(line)), line)

    def test_a_view_made_elsewhere_has_the_enumerations(self):
        other = self.dir / "elsewhere" / "mine.gtkw"
        other.parent.mkdir()
        self.assertEqual(make_views("lockstep", "--out", other).returncode, 0)
        rows, _, said = self.load(self.waves["lockstep", "fst"], other, SHOWN["lockstep"][0])
        self.assertEqual(said, [])
        self.assertIn("Bf16", [value for name, value in rows if name == "weight format"])

    def test_a_wrong_name_would_be_seen(self):
        """GTKWave leaves a row that it cannot resolve out without a word."""
        bad = self.view("trn1.2xlarge").replace("tensor_engine.state", "tensor_engine.stat")
        (self.dir / "bad.gtkw").write_text(bad)
        rows, _, _ = self.load(self.waves["trn1.2xlarge", "vcd"], self.dir / "bad.gtkw", 0)
        shown = [name for name, _ in rows]
        self.assertEqual([name for name, _ in view_rows(bad) if name not in shown], ["tensor state"])


if __name__ == "__main__":
    if len(sys.argv) < 2 or not os.access(sys.argv[1], os.X_OK):
        sys.exit(f"usage: {sys.argv[0]} TOOL [unittest arguments]")
    _tool = os.path.abspath(sys.argv.pop(1))
    unittest.main()
