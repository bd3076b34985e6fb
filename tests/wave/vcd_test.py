# SPDX-License-Identifier: Apache-2.0
"""Do the readers of the wave tests take what the standard allows, and find every single error?

Needs Debian's gtkwave; without it the tests fail.
"""
import gzip
import pathlib
import struct
import subprocess
import tempfile
import unittest

import fst
import vcd
from vcd import VcdError

GOOD = r"""$date today $end
$version tool 1.0 $dumpfile("x") $end
$timescale
  1 fs $end
$comment anything $end
$scope module top $end
 $var wire 1 ! clk $end
 $var reg 8 " count [7:0] $end
 $scope begin gen_rows[3] $end
  $var wire 8 " alias [7:0] $end
  $var wire 4 # word[2] [3:0] $end
  $var wire 1 $ bit [5] $end
  $var wire 1 % one [0:0] $end
  $var wire 16 & up[0:15] $end
  $var real 64 ' level $end
  $var integer 32 ( number $end
  $var wire 1 ) \odd+name [2] $end
 $upscope $end
$upscope $end
$enddefinitions $end
$comment values $end
#0
$dumpvars
x! bX " b0 # 0$ b1 % b1 &
r-1.5e3 '
b101 ( z)
$end
#10 1! 1%
b10000001 "
bz1 #
$dumpoff
x! bx "
$end
#12
$dumpon
0! b11 "
$end
#18446744073709551615
"""

BAD = [   # (what is replaced, by what, a piece of the message, how many lines later it is found: 0)
    ("$date today $end", "today", "outside every section"),
    ("$date today $end", "$end", "$end of no section"),
    ("$date today $end", "$dates today $end", "$dates is no declaration"),
    ("$date today $end", "$dumpvars $end", "$dumpvars is no declaration"),
    ("today $end", "today", "$version inside a text", 1),
    ("anything $end", "anything", "$scope inside a text", 1),
    ("1 fs", "1 as", "time scale"),
    ("1 fs", "2 fs", "time scale"),
    ("1 fs", "1 fs fs", "time scale"),
    ("$comment anything", "$timescale 1fs", "second $timescale"),
    ("$timescale\n  1 fs $end\n", "", "no $timescale", 15),
    ("module top", "top", "$scope has"),
    ("module top", "chip top", "scope type 'chip'"),
    ("module top", "module 1top", "no identifier"),
    ("module top", "module a.b", "no identifier"),
    ("wire 1 ! clk", "wire 1 !", "$var has"),
    ("wire 1 ! clk", "bit 1 ! clk", "variable type 'bit'"),
    ("wire 1 ! clk", "wire 0 ! clk", "size '0'"),
    ("wire 1 ! clk", "wire -1 ! clk", "size '-1'"),
    ("wire 1 ! clk", "wire 1 \x7f clk", "not printable"),
    ("wire 1 ! clk", "wire 1 \xe9 clk", "not printable"),
    ("wire 1 ! clk", "wire 1 ! c.lk", "no reference"),
    ("wire 1 ! clk", "wire 1 ! clk clock", "no reference"),
    ("count [7:0]", "count [6:0]", "not of 8 bits"),
    ("count [7:0]", "count [7:-0]", "no reference"),
    ("count [7:0]", "count [7:0", "no reference"),
    ("count [7:0]", "count [7]", "bit-select of 8 bits"),
    ("up[0:15]", "up[0:16]", "not of 16 bits"),
    ("gen_rows[3] $end", "gen_rows[3] extra $end", "$scope has"),
    ('wire 8 " alias [7:0]', 'wire 7 " alias [6:0]', "8 and 7 bits"),
    ('wire 8 " alias [7:0]', "wire 64 ' alias [63:0]", "real and not real", 5),
    ("wire 4 # word[2]", 'wire 4 # alias', "declared twice"),
    ("$scope module top $end\n", "", "outside every scope"),
    ("$upscope $end\n$upscope", "$upscope top $end\n$upscope", "text in $upscope"),
    ("$upscope $end\n$upscope $end", "$upscope $end", "scope top is not closed", 1),
    ("$upscope $end\n$enddefinitions $end", "$upscope $end\n$upscope $end\n$enddefinitions $end", "$upscope without $scope", 1),
    ("$enddefinitions $end", "$enddefinitions now $end", "text in $enddefinitions"),
    ("$enddefinitions $end", "", "outside every section", 2),
    ("$comment values $end", "values", "no value change"),
    ("$comment values $end", "$version 2 $end", "among the value changes"),
    ("$comment values $end", "1!", "before the first time"),
    ("$comment values $end", "$end", "$end of nothing"),
    ("$comment values $end", "$dumpon", "while dumping is on"),
    ("#0\n", "", "before the first time", 1),
    ("#0\n", "#-1\n", "time '#-1'"),
    ("#0\n", "# 0\n", "time '#'"),
    ("#0\n", "#10\n", "time 10 after 10", 6),
    ("#0\n", "#11\n", "time 10 after 11", 6),
    ("18446744073709551615", "18446744073709551616", "time '#18446744073709551616'"),
    ("x! bX", "x? bX", "'?' is not declared"),
    ("x! bX", "x bX", "without an identifier code"),
    ("x! bX", "w! bX", "no value change"),
    ("x! bX", "x! b2", "binary number"),
    ("x! bX", "x! b", "binary number"),
    ("x! bX", "bx ! bX", "! is a scalar"),
    ("b0 #", "0#", "# is a vector"),
    ("b0 #", "b00000 #", "5 bits for #, which has 4"),
    ("b0 #", "b0 #0", "'#0' is not declared"),
    ("0$ b1 %", "b0 $ b1 %", "$ is a scalar"),
    ("r-1.5e3 '", "b1 '", "' is real"),
    ("r-1.5e3 '", "r-1.5e3 (", "( is not real"),
    ("r-1.5e3 '", "r1.5.3 '", "real number"),
    ("r-1.5e3 '", "rnan '", "real number"),
    ("z)\n$end", "z)", "a time inside $dumpvars", 1),
    ("z)\n$end", "z)\n$dumpall $end\n$end", "$dumpall inside $dumpvars", 1),
    ("1! 1%\n", "1! 1% 1\n", "without an identifier code"),
    ("1! 1%\n", "2!\n", "no value change"),
    ('b10000001 "', 'b110000001 "', '9 bits for ", which has 8'),
    ('b10000001 "', 'b10000001 "+', "'\"+' is not declared"),
    ('b10000001 "', 'b1000_0001 "', "binary number"),
    ('x! bx "\n$end', '1! bx "\n$end', "! is not x in $dumpoff"),
    ("#12\n", "#12\n1!\n", "after $dumpoff", 1),
    ("#12\n$dumpon", "#12\n$dumpall", "while dumping is off", 1),
    ("\n#18446744073709551615\n", "\nb1\n", "without an identifier code", 1),
    ("$end\n#18446744073709551615\n", "#18446744073709551615\n", "a time inside $dumpon"),
    ("$end\n#18446744073709551615\n", "", "$dumpon without $end", -1),
    (GOOD[GOOD.index("$enddefinitions"):], "", "no $enddefinitions", -1),
    ("#18446744073709551615\n", "#18446744073709551615", "not complete"),
    ("#18446744073709551615\n", "#100\n1!x", "not complete", 1),   # and `!` is declared
    ("#18446744073709551615\n", "#100\n\x001!\n", "no value change", 1),
]


class ReaderTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="azulejo_vcd_")
        self.addCleanup(temporary.cleanup)
        self.dir = pathlib.Path(temporary.name)

    def write(self, text, name="test.vcd"):
        path = self.dir / name
        path.write_text(text, encoding="latin-1")
        return path

    def converted(self, text=GOOD, options=()):
        """An FST made of VCD text by GTKWave."""
        path = self.dir / "test.fst"
        subprocess.run(["vcd2fst", *options, self.write(text), path], check=True, capture_output=True, timeout=60)
        return path


class Vcd(ReaderTest):
    def test_good(self):
        wave = vcd.read_vcd(self.write(GOOD))
        row = "top.gen_rows[3]."
        self.assertEqual((wave.timescale, wave.start, wave.end), ("1fs", 0, 2 ** 64 - 1))
        self.assertEqual({path: (v.type, v.size, v.range, v.changes) for path, v in wave.variables.items()}, {
            "top.clk": ("wire", 1, None, [(0, "x"), (10, 1), (10, "x"), (12, 0)]),
            "top.count": ("reg", 8, (7, 0), [(0, "x" * 8), (10, 129), (10, "x" * 8), (12, 3)]),
            row + "alias": ("wire", 8, (7, 0), [(0, "x" * 8), (10, 129), (10, "x" * 8), (12, 3)]),
            row + "word[2]": ("wire", 4, (3, 0), [(0, 0), (10, "zzz1")]),
            row + "bit[5]": ("wire", 1, None, [(0, 0)]),
            row + "one": ("wire", 1, (0, 0), [(0, 1), (10, 1)]),
            row + "up": ("wire", 16, (0, 15), [(0, 1)]),
            row + "level": ("real", 64, None, [(0, -1500.0)]),
            row + "number": ("integer", 32, None, [(0, 5)]),
            row + r"\odd+name[2]": ("wire", 1, None, [(0, "z")])})
        self.assertEqual(wave["top.count"].history(), [(0, "x" * 8), (12, 3)])
        self.assertEqual([wave["top.count"].at(time) for time in (-1, 9, 10, 11, 99)], [None, "x" * 8, "x" * 8, "x" * 8, 3])
        self.assertEqual(wave.changed(), ["top.clk", "top.count", row + "alias", row + "word[2]"])

    def test_every_error_is_found_in_its_line(self):
        for old, new, message, *later in BAD:
            with self.subTest(old=old, new=new):
                line = GOOD[:GOOD.index(old)].count("\n") + 1 + sum(later)
                path = self.write(GOOD.replace(old, new, 1))
                with self.assertRaises(VcdError) as raised:
                    vcd.read_vcd(path)
                self.assertTrue(str(raised.exception).startswith(f"{path}:{line}: "), raised.exception)
                self.assertIn(message, str(raised.exception))

    def test_a_cut_file_is_an_error_or_shorter(self):
        whole = vcd.read_vcd(self.write(GOOD))
        begin = GOOD.index("#0\n") + 1
        for size in range(len(GOOD)):
            try:
                cut = vcd.read_vcd(self.write(GOOD[:size]))
            except VcdError:
                continue
            self.assertTrue(size >= begin or cut.end is None)
            for path, variable in cut.variables.items():
                self.assertEqual(variable.changes, whole[path].changes[:len(variable.changes)])

    def test_rises(self):
        text = GOOD.split("#0")[0] + "#1\n0!\n#2\n1!\n#3\n1!\n#4\n0!\n1!\n#5\n0!\n#6\n1!\n"
        self.assertEqual(vcd.read_vcd(self.write(text))["top.clk"].rises(), [2, 6])

    def test_text(self):
        self.assertEqual(vcd.text(int.from_bytes(b"\0\0nc_matmul", "big")), "nc_matmul")
        self.assertEqual(vcd.text(0), "")
        with self.assertRaises(ValueError):
            vcd.text(int.from_bytes(b"a\0b", "big"))

    def test_differences(self):
        wave = vcd.read_vcd(self.write(GOOD))
        for old, new, words in (("b101 (", "b100 (", "number: change 0 is [(0, 5)] and [(0, 4)]"), ("#12\n", "#13\n", "top.clk: change 1"),
                                ("1 fs", "1 ps", "timescale 1fs and 1ps"), ("#0\n", "#1\n", "start 0 and 1"),
                                ("clk", "clock", "top.clk only in the first"), ("up[0:15]", "up[15:0]", "16 bits (0, 15)"),
                                ("#18446744073709551615\n", "", "end 18446744073709551615 and 12")):
            found = vcd.differences(wave, vcd.read_vcd(self.write(GOOD.replace(old, new, 1))))
            self.assertIn(words, "\n".join(found))
        again = GOOD.replace("#18446744073709551615\n", "#20\n0! b11 \"\n#18446744073709551615\n")   # no news
        self.assertEqual(vcd.differences(wave, vcd.read_vcd(self.write(again))), [])


# GTKWave's converter wants a change a line, and no $dumpoff.
PLAIN = GOOD[:GOOD.index("#0\n")] + """#0
$dumpvars
x!
bX "
b0 #
0$
b1 %
b1 &
r-1.5e3 '
b101 (
z)
$end
#10
1!
""" + "".join(
    f"#{time}\n{time % 2}!\nb{time * 7 % 251:b} \"\nb{'xz01'[time % 4]}1 #\n" for time in range(100, 3000, 3))




def number(value):
    return value.to_bytes(8, "big")


def block(kind, data):
    return bytes([kind]) + number(len(data) + 8) + data


def make_changes(begin=0, end=8, values=b"00000", signals=2, packing=b"4", index=b"\x03\x07", times=b"\x00\x05\x03",
                 chains=b"\0\x02\x08" + b"\0\x02\x50\x03" b"0101"):
    """A block of changes. Each chain: 0 for not compressed, then (steps of time, value): `a` is 1 at 0 and 0 two steps later."""
    frame = bytes([len(values), len(values), signals]) + values
    return block(8, number(begin) + number(end) + number(0) + frame + bytes([signals]) + packing + chains + index + number(len(index))
                 + times + number(len(times)) * 2 + number(len(times)))


SECOND = {"begin": 8, "end": 20, "values": b"00101", "times": b"\x08\x0c", "chains": b"\0\x06" + b"\0\x03" b"0x01", "index": b"\x03\x05"}


def make_fst(start=0, end=20, test=struct.pack("<d", 2.718281828459045), counts=(1, 3, 2, 2), exponent=b"\xf1",
             hierarchy=b"\xfe\0top\0\0" b"\x10\0a\0\x01\0" b"\x10\0b [3:0]\0\x04\0" b"\x10\0c [3:0]\0\x04\x02" b"\xff",
             sizes=b"\x01\x04", first=b"", second=b"", more=b""):
    header = number(start) + number(end) + test + number(0) + b"".join(map(number, counts)) + exponent + bytes(128 + 119 + 1 + 8)
    return (block(0, header) + (first or make_changes()) + (second or make_changes(**SECOND))
            + block(3, number(len(sizes)) + number(len(sizes)) + sizes)
            + block(4, number(len(hierarchy)) + gzip.compress(hierarchy)) + more)


ROOT = b"\xfe\0top\0\0"
BAD_FST = [   # (an argument of make_fst, its value, a piece of the message)
    ("start", 1, "starts at 0, the header says 1"),
    ("start", 21, "ends before it starts"),
    ("end", 21, "ends at 20, the header says 21"),
    ("test", bytes(8), "no test of the byte order"),
    ("counts", (2, 3, 2, 2), "the header says 2, 3 and 2"),
    ("counts", (1, 2, 2, 2), "the header says 1, 2 and 2"),
    ("counts", (1, 3, 3, 2), "the header says 1, 3 and 3"),
    ("counts", (1, 3, 2, 3), "2 blocks of changes, the header says 3"),
    ("exponent", b"\xf3", "time unit 10^-13 s"),
    ("hierarchy", ROOT + b"\x10\0a\0\x01\0", "top does not end"),
    ("hierarchy", ROOT + b"\xff\xff", "a scope ends that has not begun"),
    ("hierarchy", ROOT + b"\xff" b"\x10\0a\0\x01\0", "a is outside every scope"),
    ("hierarchy", ROOT + b"\x10\0a\0\x01\x01", "an alias of handle 1, which comes later"),
    ("hierarchy", ROOT + b"\x10\0a [3:0]\0\x05\0", "range [3:0] is not of 5 bits"),
    ("hierarchy", ROOT + b"\x10\0a.b\0\x01\0", "no reference"),
    ("hierarchy", ROOT + b"\x10\0a", "a string without its end"),
    ("hierarchy", ROOT + b"\x10\0\xe9\0\x01\0", "ordinal not in range"),
    ("hierarchy", ROOT + b"\x20", "tag 32"),
    ("hierarchy", ROOT + b"\x10\0a\0\x01\0" b"\x10\0b\0\x04\0" b"\x10\0a\0\x04\x02" b"\xff", "top.a is declared twice"),
    ("hierarchy", ROOT + b"\x10\0a\0\x01\0" b"\x10\0b\0\x04\0" b"\x10\0c\0\x03\x02" b"\xff", "3 bits, and 4 as an alias"),
    ("sizes", b"\x01\x05", "other sizes than the hierarchy"),
    ("sizes", b"\x01", "other sizes than the hierarchy"),
    ("first", make_changes(values=b"0000"), "values of 4 bytes for signals of 5"),
    ("first", make_changes(values=b"00002"), "value b'0002'"),
    ("first", make_changes(signals=1, values=b"0"), "2 chains of 1 signals"),
    ("first", make_changes(packing=b"F", chains=b"\1\x02\x08" + b"\0\x02\x50"), "packing 'F'"),
    ("first", make_changes(packing=b"4", chains=b"\2\x10\x02" + b"\0\x02\x50"), "1 bytes, 2 expected"),
    ("first", make_changes(packing=b"4", chains=b"\2\x10\x02\x02\x00" + b"\0\x02\x50", index=b"\x03\x0b"), "2 bytes back, where 1 are"),
    ("first", make_changes(packing=b"Z", chains=b"\3\x02\x08" + b"\0\x02\x50"), "zlib data"),
    ("first", make_changes(index=b"\x03\x7d"), "signal 2 changes as signal 2"),
    ("first", make_changes(chains=b"\0\x02\x10" + b"\0\x02\x50"), "a change at time 4 of 3"),
    ("first", make_changes(chains=b"\0\x02\x08" + b"\0\x02\x51"), "bits behind the last one"),
    ("first", make_changes(chains=b"\0\x02\x08" + b"\0\x02"), "1 bytes expected, 0 left"),
    ("first", make_changes(times=b"\x00\x05\x00"), "times do not grow"),
    ("first", make_changes(end=7), "times do not grow"),
    ("second", make_changes(**{**SECOND, "begin": 7}), "times do not grow"),
    ("second", make_changes(**{**SECOND, "values": b"00100"}), "a signal starts as 4, and was 5"),
    ("second", block(255, bytes(40)), "a block that is not finished"),
    ("second", block(9, bytes(40)), "a block of type 9"),
    ("more", b"\0", "bytes expected"),
    ("more", bytes([2]) + number(7), "a block of 7 bytes"),
    ("more", block(3, number(0) * 2), "not one geometry and one hierarchy"),
]


class Fst(ReaderTest):
    def test_both_readers_agree_with_the_vcd(self):
        wave = vcd.read_vcd(self.write(PLAIN))
        for options in (["-4"], ["-Z"]):
            path = self.converted(PLAIN, options)
            for read in (fst.read_fst, fst.read_with_gtkwave):
                self.assertEqual(vcd.differences(wave, read(path)), [], (options, read))

    def test_header(self):
        header = fst.read_header(self.converted(PLAIN))
        self.assertEqual((header.start, header.end, header.exponent), (0, 2998, -15))
        self.assertEqual((header.scopes, header.variables, header.handles, header.sections), (2, 10, 9, 1))

    def test_good(self):
        path = self.dir / "test.fst"
        path.write_bytes(make_fst())
        for read in (fst.read_fst, fst.read_with_gtkwave):
            wave = read(path)
            self.assertEqual((wave.timescale, wave.start, wave.end), ("1fs", 0, 20))
            self.assertEqual({name: (v.size, v.range, v.history()) for name, v in wave.variables.items()}, {
                "top.a": (1, None, [(0, 1), (8, 0), (20, 1)]), "top.b": (4, (3, 0), [(5, 5), (20, "0x01")]),
                "top.c": (4, (3, 0), [(5, 5), (20, "0x01")])})

    def test_every_error_is_found(self):
        for what, value, message in BAD_FST:
            with self.subTest(what=what, value=value):
                path = self.dir / "test.fst"
                path.write_bytes(make_fst(**{what: value}))
                with self.assertRaises(VcdError) as raised:
                    fst.read_fst(path)
                self.assertIn(message, str(raised.exception))

    def test_what_gtkwave_refuses_is_an_error(self):
        with self.assertRaises(VcdError):
            fst.read_with_gtkwave(self.write("no FST"))

    def test_a_cut_or_longer_file_is_refused(self):
        path = self.converted(PLAIN)
        whole = path.read_bytes()
        for size in [*range(0, len(whole), 7), len(whole) - 1]:
            path.write_bytes(whole[:size])
            with self.assertRaises(VcdError):
                fst.read_fst(path)
        path.write_bytes(whole + b"\0")
        with self.assertRaises(VcdError):
            fst.read_fst(path)

    def test_every_flipped_byte_of_the_changes_is_noticed_or_seen(self):
        """Nothing but an error or another wave may come of damage, and no exception of another kind."""
        path = self.converted(PLAIN)
        whole, same = path.read_bytes(), []
        wave = fst.read_fst(path)
        for offset in range(330, len(whole), 5):
            path.write_bytes(whole[:offset] + bytes([whole[offset] ^ 0x15]) + whole[offset + 1:])
            try:
                if not vcd.differences(wave, fst.read_fst(path)):
                    same.append(offset)
            except VcdError:
                pass
        # The memory that a reader needs, and types of scopes and variables.
        self.assertLess(len(same), 10, same)


if __name__ == "__main__":
    unittest.main()
