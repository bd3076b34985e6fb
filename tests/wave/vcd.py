# SPDX-License-Identifier: Apache-2.0
"""A strict reader of four-state value change dumps, IEEE 1364-2005 clause 18, for tests: everything irregular is an error.

Beyond the grammar: a name may have the index of an array's word or of a generate block (`psum[3]`), as all simulators write it;
there is a time scale; no value comes before the first time; times grow; the last line is complete.

Run as `vcd.py FILE` it prints a summary.
"""
import bisect
import dataclasses
import re
import sys

SECTIONS = {"$comment", "$date", "$enddefinitions", "$scope", "$timescale", "$upscope", "$var", "$version"}
SCOPE_TYPES = {"begin", "fork", "function", "module", "task"}
REAL_TYPES = {"real", "realtime"}
VAR_TYPES = REAL_TYPES | {"event", "integer", "parameter", "reg", "supply0", "supply1", "time", "tri", "triand", "trior", "trireg",
                          "tri0", "tri1", "wand", "wire", "wor"}
TIME_SCALE = re.compile(r"(?:1|10|100)(?:s|ms|us|ns|ps|fs)")
CODE = re.compile(r"[!-~]+")
SIMPLE = r"[A-Za-z_][A-Za-z0-9_$]*(?:\[\d+\])*"
ESCAPED = r"\\[!-~]+"
NAME = re.compile(rf"{SIMPLE}|{ESCAPED}")
# A range may touch a simple name, but not an escaped one, which ends at a blank.
REFERENCE = re.compile(rf"(?P<name>{SIMPLE}(?= ?\[\d+:|$| )|{ESCAPED}(?=$| )) ?(?:\[ ?(?P<msb>\d+)(?: ?: ?(?P<lsb>\d+))? ?\])?")
REAL = re.compile(rb"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
MAX_TIME = 2 ** 64 - 1


class VcdError(Exception):
    """Where and why a file is not a VCD."""


@dataclasses.dataclass
class Variable:
    """A value is an int, a float (`real`), or, with an x or z in it, a str of `size` characters of 01xz."""
    type: str
    size: int
    range: tuple | None                               # (msb, lsb)
    times: list = dataclasses.field(default_factory=list)
    values: list = dataclasses.field(default_factory=list)

    @property
    def changes(self):
        return list(zip(self.times, self.values))

    def at(self, time):
        """The value at `time`; None before the first."""
        index = bisect.bisect_right(self.times, time)
        return self.values[index - 1] if index else None

    def history(self):
        """The changes that can be told apart: the last value of every time, where it is new."""
        history = []
        for time, value in zip(self.times, self.values):
            if history and history[-1][0] == time:
                history.pop()
            if not history or history[-1][1] != value:
                history.append((time, value))
        return history

    def rises(self):
        """When a scalar became 1."""
        return [time for (_, before), (time, value) in zip(self.history(), self.history()[1:]) if (before, value) == (0, 1)]


@dataclasses.dataclass
class Wave:
    """What a file of whatever format holds."""
    timescale: str = ""
    start: int | None = None     # the first and the last time; None: there is none
    end: int | None = None
    variables: dict = dataclasses.field(default_factory=dict)   # "chip0.nc0.tensor_engine.busy" -> Variable

    def __getitem__(self, path):
        return self.variables[path]

    def changed(self):
        """The paths of the variables that take more than one value."""
        return [path for path, variable in self.variables.items() if len(variable.history()) > 1]

    def below(self, scope):
        return [path for path in self.variables if path.startswith(scope + ".")]


def text(value):
    """The text of a packed ASCII vector, without the leading NULs."""
    characters = value.to_bytes((value.bit_length() + 7) // 8, "big")
    if b"\0" in characters:
        raise ValueError(f"NUL inside text {characters!r}")
    return characters.decode("ascii")


def differences(one, other, limit=5):
    """What two waves do not agree in, at most `limit` sentences."""
    found = [f"{name} {getattr(one, name)} and {getattr(other, name)}" for name in ("timescale", "start", "end")
             if getattr(one, name) != getattr(other, name)]
    for here, there, which in ((one, other, "first"), (other, one, "second")):
        found += [f"{path} only in the {which}" for path in here.variables if path not in there.variables]
    for path, variable in one.variables.items():
        if len(found) >= limit:
            break
        twin = other.variables.get(path)
        if twin is None:
            continue
        if (variable.size, variable.range) != (twin.size, twin.range):
            found.append(f"{path}: {variable.size} bits {variable.range} and {twin.size} bits {twin.range}")
        elif (variable.times, variable.values) != (twin.times, twin.values):
            left, right = variable.history(), twin.history()
            if left != right:
                first = next((i for i, pair in enumerate(zip(left, right)) if pair[0] != pair[1]), min(len(left), len(right)))
                found.append(f"{path}: change {first} is {left[first:first + 1]} and {right[first:first + 1]}")
    return found[:limit]


def parse_reference(words, size):
    """(name, range or None) of the words of a reference; ValueError if they are none."""
    match = REFERENCE.fullmatch(" ".join(words))
    if not match:
        raise ValueError(f"{' '.join(words)!r} is no reference")
    name, msb, lsb = match["name"], match["msb"], match["lsb"]
    if msb is None:
        return name, None
    if lsb is None:
        if size != 1:
            raise ValueError(f"a bit-select of {size} bits")
        return f"{name}[{msb}]", None
    if abs(int(msb) - int(lsb)) + 1 != size:
        raise ValueError(f"range [{msb}:{lsb}] is not of {size} bits")
    return name, (int(msb), int(lsb))


class _Parser:
    def __init__(self, path):
        self.path = path
        self.wave = Wave()
        self.line = 0
        self.scopes = []
        self.section = None     # the words since a declaration keyword, itself the first
        self.defining = True
        self.by_code = {}       # bytes -> Variable; aliases share the lists of the first
        self.vectors = {}       # those of by_code that are written "b101 code"
        self.scalars = {}       # and those that are written "1code"
        self.now = None
        self.pending = None     # a value whose identifier code is still to come
        self.block = None       # $dumpvars, $dumpall, $dumpon, $dumpoff or $comment, until its $end
        self.off = False        # after $dumpoff

    def fail(self, what):
        raise VcdError(f"{self.path}:{self.line}: {what}")

    def read(self):
        with open(self.path, "rb") as file:
            self.lines(file)
        if self.defining:
            self.fail("no $enddefinitions")
        if self.pending is not None:
            self.fail("a value without an identifier code")
        if self.block is not None:
            self.fail(f"{self.block} without $end")
        self.wave.end = self.now
        return self.wave

    def lines(self, file):
        """Feeds every word of the file; what is spelled as usual takes a short way."""
        vectors, scalars = self.vectors, self.scalars
        plain, line = False, b"\n"
        for self.line, line in enumerate(file, 1):
            if plain:
                first = line[0]
                if first == 0x62:   # b
                    digits, _, code = line[1:-1].partition(b" ")
                    variable = vectors.get(code)
                    if variable is not None and not digits.strip(b"01") and 0 < len(digits) <= variable.size:
                        variable.times.append(self.now)
                        variable.values.append(int(digits, 2))
                        continue
                elif first == 0x30 or first == 0x31:
                    variable = scalars.get(line[1:-1])
                    if variable is not None:
                        variable.times.append(self.now)
                        variable.values.append(first - 0x30)
                        continue
            for word in line.split():
                if self.defining:
                    self.definition(word)
                else:
                    self.command(word)
            plain = (not self.defining and self.now is not None and self.pending is None and not self.off
                     and self.block not in ("$comment", "$dumpoff"))
        if line[-1:] != b"\n":
            self.fail("the last line is not complete")

    # The declarations.

    def definition(self, word):
        word = word.decode("latin-1")
        if self.section is None:
            if not word.startswith("$"):
                self.fail(f"{word!r} outside every section")
            if word == "$end":
                self.fail("$end of no section")
            self.section = [word]
        elif word == "$end":
            keyword, *words = self.section
            self.section = None
            declare = {"$date": self.remark, "$version": self.remark, "$comment": self.remark, "$timescale": self.timescale,
                       "$scope": self.scope, "$upscope": self.upscope, "$var": self.var,
                       "$enddefinitions": self.enddefinitions}.get(keyword)
            if declare is None:
                self.fail(f"{keyword} is no declaration")
            declare(words)
        else:
            self.section.append(word)

    def remark(self, words):
        for word in words:
            if word in SECTIONS:
                self.fail(f"{word} inside a text: an $end is missing")

    def timescale(self, words):
        if self.wave.timescale:
            self.fail("a second $timescale")
        scale = "".join(words)
        if len(words) > 2 or not TIME_SCALE.fullmatch(scale):
            self.fail(f"time scale {' '.join(words)!r}")
        self.wave.timescale = scale

    def scope(self, words):
        if len(words) != 2:
            self.fail("$scope has a type and a name")
        if words[0] not in SCOPE_TYPES:
            self.fail(f"scope type {words[0]!r}")
        if not NAME.fullmatch(words[1]):
            self.fail(f"scope name {words[1]!r} is no identifier")
        self.scopes.append(words[1])

    def upscope(self, words):
        if words:
            self.fail("text in $upscope")
        if not self.scopes:
            self.fail("$upscope without $scope")
        self.scopes.pop()

    def var(self, words):
        if len(words) < 4:
            self.fail("$var has a type, a size, an identifier code and a reference")
        kind, size, code, *reference = words
        if kind not in VAR_TYPES:
            self.fail(f"variable type {kind!r}")
        if not re.fullmatch(r"[0-9]+", size) or int(size) == 0:
            self.fail(f"size {size!r}")
        size = int(size)
        if not CODE.fullmatch(code):
            self.fail(f"identifier code {code!r} is not printable")
        try:
            name, bits = parse_reference(reference, size)
        except ValueError as error:
            self.fail(error)
        if not self.scopes:
            self.fail(f"variable {name} outside every scope")
        path = ".".join(self.scopes + [name])
        if path in self.wave.variables:
            self.fail(f"{path} is declared twice")
        variable = Variable(kind, size, bits)
        first = self.by_code.setdefault(code.encode("ascii"), variable)
        if first.size != size:
            self.fail(f"identifier code {code} has {first.size} and {size} bits")
        if (first.type in REAL_TYPES) != (kind in REAL_TYPES):
            self.fail(f"identifier code {code} is real and not real")
        variable.times, variable.values = first.times, first.values
        self.wave.variables[path] = variable

    def enddefinitions(self, words):
        if words:
            self.fail("text in $enddefinitions")
        if self.scopes:
            self.fail(f"scope {'.'.join(self.scopes)} is not closed")
        if not self.wave.timescale:
            self.fail("no $timescale")
        for code, variable in self.by_code.items():
            if variable.type in REAL_TYPES:
                continue
            if variable.size > 1 or variable.range is not None:
                self.vectors[code] = variable
            if variable.size == 1:
                self.scalars[code] = variable
        self.defining = False

    # The value changes.

    def command(self, word):
        first = word[:1]
        if self.block == "$comment":
            if word == b"$end":
                self.block = None
        elif self.pending is not None:
            self.change(*self.pending, word)
            self.pending = None
        elif first == b"#":
            self.time(word)
        elif first == b"$":
            self.keyword(word.decode("latin-1"))
        elif first in b"bBrR":
            self.pending = (first.lower(), word[1:].lower())
        elif first in b"01xXzZ":
            self.change(b"", first.lower(), word[1:])
        else:
            self.fail(f"{word.decode('latin-1')!r} is no value change")

    def time(self, word):
        if self.block is not None:
            self.fail(f"a time inside {self.block}")
        if not word[1:].isdigit() or int(word[1:]) > MAX_TIME:
            self.fail(f"time {word.decode('latin-1')!r}")
        time = int(word[1:])
        if self.now is None:
            self.wave.start = time
        elif time <= self.now:
            self.fail(f"time {time} after {self.now}")
        self.now = time

    def keyword(self, word):
        if word == "$end":
            if self.block is None:
                self.fail("$end of nothing")
            if self.block == "$dumpoff":
                self.off = True
            self.block = None
        elif self.block is not None:
            self.fail(f"{word} inside {self.block}")
        elif word == "$comment":
            self.block = word
        elif word in ("$dumpvars", "$dumpall", "$dumpon", "$dumpoff"):
            if self.off != (word == "$dumpon"):
                self.fail(f"{word} while dumping is {'off' if self.off else 'on'}")
            self.block = word
            self.off = False
        else:
            self.fail(f"{word} among the value changes")

    def change(self, base, digits, code):
        name = code.decode("latin-1")
        variable = self.by_code.get(code)
        if not code:
            self.fail("a value without an identifier code")
        if variable is None:
            self.fail(f"identifier code {name!r} is not declared")
        if self.now is None:
            self.fail(f"a value of {name} before the first time")
        if self.off:
            self.fail(f"a value of {name} after $dumpoff")
        if base == b"r" or variable.type in REAL_TYPES:
            if base != b"r" or variable.type not in REAL_TYPES:
                self.fail(f"{name} is {'' if variable.type in REAL_TYPES else 'not '}real")
            if not REAL.fullmatch(digits):
                self.fail(f"real number {digits.decode('latin-1')!r}")
            value = float(digits)
        else:
            if base == b"b" and code not in self.vectors:
                self.fail(f"{name} is a scalar")
            if base == b"" and code not in self.scalars:
                self.fail(f"{name} is a vector")
            if not digits or digits.strip(b"01xz"):
                self.fail(f"binary number {digits.decode('latin-1')!r}")
            if len(digits) > variable.size:
                self.fail(f"{len(digits)} bits for {name}, which has {variable.size}")
            if self.block == "$dumpoff" and digits.strip(b"x"):
                self.fail(f"{name} is not x in $dumpoff")
            fill = digits[:1] if digits[:1] in b"xz" else b"0"
            digits = digits.rjust(variable.size, fill)
            value = digits.decode() if digits.strip(b"01") else int(digits, 2)
        variable.times.append(self.now)
        variable.values.append(value)


def read_vcd(path):
    """The Wave in a VCD file. VcdError, with the line's number, if the file is not one."""
    return _Parser(path).read()


def summary(wave):
    changes = {id(variable.times): len(variable.times) for variable in wave.variables.values()}   # an alias counts once
    span = "no time" if wave.start is None else f"{wave.start} to {wave.end}"
    return (f"time unit {wave.timescale}, {span}\n{len(wave.variables)} variables, {len(wave.changed())} of them change; "
            f"{sum(changes.values())} values")


def main(read):
    """The command line of a reader: a summary of each file, exit status 1 if one cannot be read."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FILE")
    try:
        print(summary(read(sys.argv[1])))
    except (OSError, VcdError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(read_vcd)
