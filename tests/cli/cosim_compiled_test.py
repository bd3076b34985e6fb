# SPDX-License-Identifier: Apache-2.0
"""Do campaigns run on RTL that has to be compiled first: with coverage, of other parameters, and a PE of one's own?

Libraries are compiled once, into the build's cache; the first run takes minutes.
"""
import re
import shutil

from cli_support import CliTest, ROOT, main

COMPILE = 900   # seconds


class Compiled(CliTest):
    def passes(self, *arguments):
        done = self.call("cosim", *arguments, timeout=COMPILE)
        self.assertEqual(done.returncode, 0, (arguments, done.stdout, done.stderr))
        self.assertRegex(done.stderr, r"^(azulejo: compiling the RTL of .*\n)?$")
        self.assertRegex(done.stdout.splitlines()[-1], rf"^PASS {arguments[0]} ")
        return done.stdout

    def own_pe(self, *changes):
        """A copy of the shipped PE under another name, with changes."""
        text = (ROOT / "rtl" / "pe" / "pe.sv").read_text()
        for old, new in (("module pe #(", "module my_pe #("), *changes):
            self.assertEqual(text.count(old), 1, old)
            text = text.replace(old, new)
        (self.dir / "mine").mkdir(exist_ok=True)
        (self.dir / "mine" / "my_pe.sv").write_text(text)
        return ("--rtl", "pe=mine:my_pe")

    def test_coverage(self):
        text = self.passes("pe", "--format", "bf16", "--macs", "20000", "--coverage", "c.dat")
        lines, toggles = re.search(r"(?m)^RTL coverage, c.dat \(([\d.]+) % of lines, ([\d.]+) % of toggles\):$", text).groups()
        self.assertGreater(float(lines), 90)
        self.assertGreater(float(toggles), 60)
        data = (self.dir / "c.dat").read_text(encoding="latin-1")
        self.assertTrue(data.startswith("# SystemC::Coverage"))
        row = re.search(r"(?m)^  pe.sv +(\d+) +([\d.]+) % +(\d+) +(\d+) +([\d.]+) % +(\d+)$", text)
        of_lines, covered, missing, bits, toggled, still = (float(word) for word in row.groups())
        self.assertEqual(covered, int(1000 * (of_lines - missing) / of_lines) / 10)
        self.assertEqual(toggled, int(1000 * (bits - still) / bits) / 10)
        # As many bits as the data file has of pe.sv.
        points = set(re.findall(r"\x01f\x02[^\x01]*/pe\.sv(\x01l\x02\d+\x01n\x02\d+)\x01page\x02v_toggle/\w+(\x01o\x02[^\x01']+)", data))
        self.assertEqual(bits, len([point for point in points if "\x02fault_" not in point[1]]))

    def test_two_pipeline_stages_that_flush_denormals(self):
        parameters = ("--pe-stages", "2", "--flush-denormals")
        self.passes("pe", "--format", "bf16,fp16", "--macs", "20000", *parameters)
        self.passes("array", "--rows", "8", "--cols", "8", "--n", "24", "--stalls", *parameters)
        self.passes("rounding", "--values", "5000", *parameters)

    def test_a_pe_of_ones_own(self):
        self.passes("pe", "--format", "bf16", "--macs", "20000", *self.own_pe())
        shutil.rmtree(self.dir / "mine")
        # One that adds the product to the negated sum.
        wrong = self.own_pe(("                psum_i `AZULEJO_FAULT_PASS(fault_i)),\n            FlushDenormals",
                             "                psum_i ^ 32'h8000_0000 `AZULEJO_FAULT_PASS(fault_i)),\n            FlushDenormals"))
        done = self.call("cosim", "pe", "--format", "bf16", "--macs", "20000", *wrong, timeout=COMPILE)
        self.assertEqual(done.returncode, 1, (done.stdout, done.stderr))
        self.assertIn("first difference: pe: ", done.stdout)
        # Its reproducer knows the PE, from anywhere.
        (self.dir / "elsewhere").mkdir()
        done = self.call("cosim", "replay", "../azulejo-mismatch.json", cwd=self.dir / "elsewhere", timeout=COMPILE)
        self.assertEqual(done.returncode, 1, (done.stdout, done.stderr))
        self.assertTrue(done.stdout.splitlines()[-1].startswith("FAIL replay "))

    def test_ports_that_differ_are_named(self):
        rtl = self.own_pe(("  output logic [RowWidth-1:0]   weight_row_o,\n", "  output logic [RowWidth-1:0]   row_o,\n"),
                          ("assign weight_row_o ", "assign row_o "))
        done = self.call("cosim", "pe", *rtl)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        for port in ("weight_row_o", " row_o"):
            self.assertIn(port, done.stderr)


if __name__ == "__main__":
    main()
