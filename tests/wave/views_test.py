# SPDX-License-Identifier: Apache-2.0
"""Do the saved GTKWave views fit the waves that the tool writes?

Run as `python3 FILE TOOL [unittest arguments]`. Needs Debian's gtkwave and xvfb; without them the tests fail.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

WAVES = pathlib.Path(__file__).resolve().parents[2] / "waves"
VIEWS = {   # view: platform and what its gemm needs besides
    "trn1.2xlarge": ("trn1.2xlarge", ["--k", "1024"]),
    "trn2.3xlarge": ("trn2.3xlarge", ["--k", "1024", "--cores", "2"]),
    "lockstep": ("trn1.2xlarge", ["--k", "256", "--pe", "lockstep"]),
}
LIST_TRACES = """\
set n [gtkwave::getTotalNumTraces]
for {set i 0} {$i < $n} {incr i} { puts "trace:[gtkwave::getTraceNameFromIndex $i]" }
exit
"""
EXPECTED = re.compile(r"trace:|GTKWave Analyzer|\[\d+\] (start|end) time\.$|GTKWAVE \| Executing Tcl script")

_tool = ""


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


class WaveTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="azulejo_views_")
        cls.addClassCleanup(temporary.cleanup)
        cls.dir = pathlib.Path(temporary.name)
        for view, (platform, options) in VIEWS.items():
            subprocess.run([_tool, "run", platform, "gemm", "--m", "256", "--n", "1024", *options,
                            "--wave", f"{view}.vcd", "--quiet"], cwd=cls.dir, check=True, timeout=120)

    def view(self, platform):
        return (WAVES / f"{platform}.gtkw").read_text(encoding="ascii")


class Views(WaveTest):
    def test_every_view_is_tested(self):
        self.assertEqual({path.stem for path in WAVES.glob("*.gtkw")}, set(VIEWS))

    def test_every_name_is_in_the_wave(self):
        for platform in VIEWS:
            signals = [signal for _, signal in view_rows(self.view(platform)) if signal]
            self.assertGreater(len(signals), 20)
            self.assertEqual(len(set(signals)), len(signals))
            self.assertEqual(set(signals) - wave_names(self.dir / f"{platform}.vcd"), set(), platform)

    def test_text_is_shown_as_text_and_only_text(self):
        for platform in VIEWS:
            flags = None
            for line in self.view(platform).splitlines():
                if line.startswith("@"):
                    flags = line
                elif line.startswith("+"):
                    self.assertEqual(flags == "@820", bool(re.search(r"\.(state|opcode)\[", line)), line)

    def test_script_reproduces_the_views(self):
        subprocess.run([sys.executable, "-B", WAVES / "make_views.py", "--directory", self.dir], check=True, timeout=60)
        self.assertEqual({path.name for path in self.dir.glob("*.gtkw")}, {f"{platform}.gtkw" for platform in VIEWS})
        for platform in VIEWS:
            self.assertEqual((self.dir / f"{platform}.gtkw").read_text(), self.view(platform), platform)

    def test_pictures(self):
        shown = set(re.findall(r"!\[[^]]+\]\(([^)]+)\)", (WAVES / "README.md").read_text()))
        self.assertEqual(shown, {path.name for path in WAVES.glob("*.png")})
        for name in shown:
            self.assertLess((WAVES / name).stat().st_size, 250_000, name)


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
        (cls.dir / "list.tcl").write_text(LIST_TRACES)
        (cls.dir / "gtkwaverc").write_text("")

    @classmethod
    def stop(cls):
        cls.server.terminate()
        cls.server.wait(30)

    def load(self, platform, view):
        """What GTKWave shows after loading, and what it says besides its banner."""
        done = subprocess.run(["gtkwave", "--nomenus", "--rcfile", "gtkwaverc", "--script", "list.tcl", f"{platform}.vcd", view],
                              cwd=self.dir, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line for line in (done.stdout + "\n" + done.stderr).splitlines() if line]
        traces = [line[len("trace:"):] for line in lines if line.startswith("trace:")]
        said = [line for line in lines if not EXPECTED.match(line)]
        return traces, said

    def test_loads_without_a_warning(self):
        for platform in VIEWS:
            traces, said = self.load(platform, WAVES / f"{platform}.gtkw")
            self.assertEqual(said, [], platform)
            self.assertEqual(traces, [name for name, _ in view_rows(self.view(platform))], platform)

    def test_a_wrong_name_would_be_seen(self):
        """GTKWave leaves a row that it cannot resolve out without a word."""
        bad = self.view("trn1.2xlarge").replace("tensor_engine.state", "tensor_engine.stat")
        (self.dir / "bad.gtkw.txt").write_text(bad)
        traces, _ = self.load("trn1.2xlarge", "bad.gtkw.txt")
        missing = [name for name, _ in view_rows(bad) if name not in traces]
        self.assertEqual(missing, ["tensor state"])


if __name__ == "__main__":
    if len(sys.argv) < 2 or not os.access(sys.argv[1], os.X_OK):
        sys.exit(f"usage: {sys.argv[0]} TOOL [unittest arguments]")
    _tool = os.path.abspath(sys.argv.pop(1))
    unittest.main()
