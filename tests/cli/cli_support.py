# SPDX-License-Identifier: Apache-2.0
"""What the command-line tests share: running the tool in a directory of its own, reports, and bad input.

Every test file is run as `python3 FILE TOOL [--wave DIRECTORY] [unittest arguments]`. With --wave, commands that run RTL leave
their waves there. Where AZULEJO_FAILED_WAVES names a directory, a test that fails leaves one of the last such command there, of
the time around its first mismatch if it has one.
"""
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

try:
    import jsonschema
    import numpy  # noqa: F401
except ImportError as error:
    sys.exit(f"{error}; these tests need Debian's python3-numpy and python3-jsonschema, run by {sys.executable}")

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = pathlib.Path(__file__).resolve().parent / "data"
SCHEMA = ROOT / "platforms" / "cli" / "report.schema.json"
TRN1 = "trn1.2xlarge"
HOST_FIELDS = ("host_seconds", "host_seconds_simulation", "peak_rss_bytes")

_tool = ""
_waves = None   # directory of --wave


def main():
    """Takes the tool's path and --wave off the command line and runs the file's tests."""
    global _tool, _waves
    if len(sys.argv) < 2 or not os.access(sys.argv[1], os.X_OK):
        sys.exit(f"usage: {sys.argv[0]} TOOL [--wave DIRECTORY] [unittest arguments]")
    _tool = os.path.abspath(sys.argv.pop(1))
    if sys.argv[1:2] == ["--wave"]:
        _waves = pathlib.Path(sys.argv[2]).resolve()
        _waves.mkdir(parents=True, exist_ok=True)
        del sys.argv[1:3]
    unittest.main(module="__main__")


def tool():
    return _tool


@functools.lru_cache(maxsize=None)
def schema():
    return json.loads(SCHEMA.read_text())


@functools.lru_cache(maxsize=None)
def validator():
    jsonschema.Draft202012Validator.check_schema(schema())
    return jsonschema.Draft202012Validator(schema())


@functools.lru_cache(maxsize=None)
def causes():
    listed = subprocess.run([_tool, "list", "causes"], capture_output=True, text=True, check=True, timeout=60)
    return frozenset(listed.stdout.split())


def accounts(report):
    """(path, attribution) of everything that keeps an account of its time."""
    return [(part["path"], part["attribution"])
            for part in report["engines"] + report["queues"] + report["memories"] if "attribution" in part]


def without_host(report):
    """The report without what may differ between two equal runs."""
    result = {k: v for k, v in report["result"].items() if k not in HOST_FIELDS}
    return {**report, "result": result}


def size(m, k=None, n=None):
    return ["--m", str(m), "--k", str(k or m), "--n", str(n or m)]


class CliTest(unittest.TestCase):
    maxDiff = 4000

    _last_rtl = None   # the last command that ran RTL: (arguments, directory)
    _wave_number = 0

    def _callTestMethod(self, method):
        try:
            super()._callTestMethod(method)
        except unittest.SkipTest:
            raise
        except Exception:
            self.leave_wave()
            raise

    def leave_wave(self):
        directory = os.environ.get("AZULEJO_FAILED_WAVES")
        if not directory or not self._last_rtl:
            return
        pathlib.Path(directory).mkdir(parents=True, exist_ok=True)
        arguments, where = self._last_rtl
        wave = pathlib.Path(directory).resolve() / f"{self.id()}.fst"
        for more in (["--wave-trigger", "mismatch"], ["--wave-limit", "64MiB"]):
            subprocess.run([_tool, *arguments, "--wave", str(wave), *more, "--quiet"], cwd=where, stdin=subprocess.DEVNULL,
                           capture_output=True, timeout=300)
            if wave.exists():
                break

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="azulejo_cli_")
        self.addCleanup(temporary.cleanup)
        self.dir = pathlib.Path(temporary.name)

    def call(self, *arguments, cwd=None, timeout=120):
        words = [*map(str, arguments)]
        if words and (words[0] == "cosim" or any(word in ("rtl", "lockstep") or word.endswith(("=rtl", "=lockstep")) for word in words)) \
                and words[0] in ("run", "cosim") and "--wave" not in words and "--coverage" not in words:
            self._last_rtl = (words, cwd or self.dir)
            if _waves:
                self._wave_number += 1
                arguments += ("--wave", _waves / f"{self.id()}-{self._wave_number}.fst")
        return subprocess.run([_tool, *map(str, arguments)], cwd=cwd or self.dir, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=timeout)

    def good(self, *arguments, cwd=None):
        """Runs and expects success without a word on stderr. The output."""
        done = self.call(*arguments, cwd=cwd)
        self.assertEqual((done.returncode, done.stderr), (0, ""), arguments)
        return done.stdout

    def run_report(self, *arguments, platform=TRN1, status=0, cwd=None):
        """Runs a workload and gives its report, checked for what every report promises."""
        done = self.call("run", platform, *arguments, "--report", "report.json", "--quiet", cwd=cwd)
        self.assertEqual(done.returncode, status, (arguments, done.stderr))
        self.assertEqual(done.stdout, "")
        report = json.loads(((cwd or self.dir) / "report.json").read_text())
        self.check_report(report)
        return report

    def check_report(self, report):
        problems = [f"{'/'.join(map(str, e.absolute_path))}: {e.message[:300]}" for e in validator().iter_errors(report)]
        self.assertEqual(problems, [])
        time = report["result"]["simulated_time_fs"]
        self.assertEqual(report["result"]["simulated_time_ps"], time // 1000)
        for path, attribution in accounts(report):
            self.assertEqual(sum(attribution.values()), time, path)
            self.assertLessEqual(attribution.keys(), causes(), path)
        for part in report["engines"]:
            self.assertLessEqual(part["busy_fs"], time, part["path"])
        paths = [part["path"] for part in report["engines"] + report["queues"] + report["memories"]]
        self.assertEqual(len(paths), len(set(paths)))

    def snapshot(self):
        return {str(path.relative_to(self.dir)): (path.stat().st_size, path.stat().st_mtime_ns)
                for path in sorted(self.dir.rglob("*"))}

    def bad(self, *arguments, says=(), problems=1):
        """Runs what must be refused: status 2, a line per problem with all words of `says`, no file touched."""
        before = self.snapshot()
        done = self.call(*arguments)
        self.assertEqual(done.returncode, 2, (arguments, done.stdout, done.stderr))
        self.assertEqual(done.stdout, "", arguments)
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), problems, (arguments, done.stderr))
        for line in lines:
            self.assertRegex(line, r"^azulejo: \S", arguments)
            self.assertNotIn("internal error", line)
            self.assertLess(len(line), 1000)
        for word in says:
            self.assertIn(word, done.stderr, arguments)
        self.assertEqual(self.snapshot(), before, arguments)
        return lines

    def program(self, text, name="program.s"):
        path = self.dir / name
        path.write_text(text)
        return path


class Vcd:
    """A VCD file, checked while it is read: header, scopes, and changes of declared signals in order of time."""

    def __init__(self, path):
        self.signals = {}     # "chip0.nc0.tensor_engine.busy" -> code
        self.changes = {}     # code -> [(time, bits)]
        self.times = []
        widths = {}
        scopes = []
        lines = iter(path.read_text(encoding="ascii").splitlines())
        header = []
        for line in lines:
            words = line.split()
            if not words:
                continue
            if words[0] == "$enddefinitions":
                break
            if words[0] == "$scope":
                assert words[1] == "module" and words[3] == "$end", line
                scopes.append(words[2])
            elif words[0] == "$upscope":
                scopes.pop()
            elif words[0] == "$var":
                width, code, name = int(words[2]), words[3], words[4]
                full = ".".join(scopes + [name])
                assert full not in self.signals and code not in widths, line
                self.signals[full] = code
                widths[code] = width
                self.changes[code] = []
            else:
                header.append(line)
        else:
            raise AssertionError("no $enddefinitions")
        assert not scopes, scopes
        self.timescale = re.search(r"\$timescale\s+(\S+)\s+\$end", "\n".join(header)).group(1)
        now = None
        for line in lines:
            if not line or line.startswith("$"):
                continue
            if line[0] == "#":
                now = int(line[1:])
                assert not self.times or now > self.times[-1], line
                self.times.append(now)
                continue
            assert now is not None, "a value before the first time"
            bits, code = (line[1:].split() if line[0] == "b" else (line[0], line[1:]))
            assert set(bits) <= {"0", "1"} and len(bits) <= widths[code], line
            self.changes[code].append((now, bits))

    def last(self, name):
        return int(self.changes[self.signals[name]][-1][1], 2)

    def high_time(self, name):
        """How long a one-bit signal was 1."""
        total, since = 0, None
        for time, bits in self.changes[self.signals[name]]:
            if bits == "1" and since is None:
                since = time
            elif bits == "0" and since is not None:
                total, since = total + time - since, None
        return total + (self.times[-1] - since if since is not None else 0)
