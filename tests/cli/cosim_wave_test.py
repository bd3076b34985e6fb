# SPDX-License-Identifier: Apache-2.0
"""Do the waves of co-verification campaigns show RTL and model beside each other, at the same times, and what differs, without
changing a result?"""
import json
import pathlib
import re
import resource
import signal
import subprocess
import sys
import time

from cli_support import CliTest, TRN1, main, size, tool

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "wave"))
from fst import read_fst   # noqa: E402
from vcd import read_vcd, text   # noqa: E402

PE = ("pe", "--format", "bf16,e4m3", "--macs", "2000")
ROUNDING = ("rounding", "--format", "bf16", "--values", "300")
ARRAY = ("array", "--rows", "8", "--cols", "8", "--n", "24", "--matmuls", "2", "--format", "bf16,fp32", "--stalls")
FAULTY_PE = (*PE, "--rtl-fault", "round_tie_away")
FAULTS = {   # a campaign that shows a fault, and the signal that counts it
    FAULTY_PE: "compare.mismatches",
    (*PE, "--rtl-fault", "pe_ignores_stall"): "compare.mismatches",
    (*ROUNDING, "--rtl-fault", "encode_tie_away"): "compare.lfsr.mismatches",
    (*ROUNDING, "--rtl-fault", "xorwow_shift_wrong"): "compare.xorwow.mismatches",
    (*ARRAY, "--rtl-fault", "pe_stale_weight@pe_5_6"): "compare.mismatches",
    (*ARRAY, "--rtl-fault", "drain_never_accumulates"): "compare.mismatches",
}
PERIOD = 10 ** 15 / 2.8e9   # of the nominal clock
READ = {"vcd": read_vcd, "fst": read_fst}


def scopes(*globs):
    return [word for glob in globs for word in ("--wave-scope", glob)]


class CosimWaveTest(CliTest):
    def wave(self, *arguments, extension="vcd", status=0):
        """The wave of a campaign."""
        done = self.call("cosim", *arguments, "--quiet", "--wave", f"w.{extension}")
        self.assertEqual((done.returncode, done.stderr), (status, ""), arguments)
        return READ[extension](self.dir / f"w.{extension}")

    def changes_in(self, wave, *scopes):
        changed = wave.changed()
        for scope in scopes:
            self.assertTrue([path for path in changed if path.startswith(scope)], scope)

    def same_while(self, wave, valid, model, rtl):
        """The two signals are equal whenever `valid` is 1, and that is at several times."""
        times = sorted({time for path in (valid, model, rtl) for time in wave[path].times})
        shown = [time for time in times if wave[valid].at(time) == 1]
        self.assertGreater(len(shown), 20, model)
        self.assertEqual([time for time in shown if wave[model].at(time) != wave[rtl].at(time)], [], model)

    def texts(self, wave, path):
        return [text(value) for _, value in wave[path].history()]


class Contents(CosimWaveTest):
    def test_pe(self):
        for extension in READ:
            wave = self.wave(*PE, extension=extension)
            self.assertEqual(wave.timescale, "1fs")
            self.changes_in(wave, "pe.pe.psum_q", "pe.pe.active_q", "model.psum_o", "model.act_o", "model.weight_o", "stimulus.block",
                            "stimulus.act", "stimulus.weight")
            # Registers that hold what they had, in both: equal at all times.
            for name in ("psum_valid_o", "psum_o", "act_valid_o", "act_o", "act_swap_o", "weight_valid_o"):
                self.assertEqual(wave["model." + name].history(), wave["pe." + name].history(), name)
            self.same_while(wave, "model.weight_valid_o", "model.weight_row_o", "pe.weight_row_o")
            self.assertEqual(wave["compare.mismatches"].history(), [(0, 0)])
            self.assertEqual(self.texts(wave, "stimulus.group")[:2], ["directed", "bf16 x bf16"])
            self.assertEqual(self.texts(wave, "stimulus.group")[-1], "e4m3 x e4m3")
            self.assertIn("-1.5", self.texts(wave, "stimulus.act") + self.texts(wave, "stimulus.weight"))

    def test_pe_of_several_stages(self):
        """The RTL's latency is the model's in the wave too; the first use compiles a library."""
        wave = self.wave("pe", "--format", "bf16", "--macs", "100", "--pe-stages", "3")
        self.assertEqual(wave["model.psum_valid_o"].history(), wave["pe.psum_valid_o"].history())
        self.same_while(wave, "model.psum_valid_o", "model.psum_o", "pe.psum_o")

    def test_time_is_rtl_cycles_and_resets(self):
        output = self.good("cosim", *PE, "--wave", "w.vcd")
        wave = read_vcd(self.dir / "w.vcd")
        cycles = int(re.search(r"(?m)^RTL cycles in all +(\d+)$", output)[1])
        blocks = wave["stimulus.block"].history()[-1][1] + 1
        self.assertEqual(wave.end, int((cycles + blocks) * 10 ** 15 // 2_800_000_000))
        self.assertEqual(len(wave["pe.clk_i"].rises()), cycles + blocks)   # without the one at 0
        self.assertRegex(output, r"(?m)^wave +w\.vcd, [\d.]+ MiB, \d+ signals, 0 s to [\d.]+ us$")

    def test_rounding(self):
        for extension in READ:
            wave = self.wave(*ROUNDING, *scopes("rounding_unit.*_o", "*.clk_i", "*.u_encode.up", "model", "stimulus", "compare"), extension=extension)
            for source, words in (("lfsr", 1), ("xorwow", 6)):
                unit, model = f"rounding_unit.{source}", f"model.{source}"
                self.changes_in(wave, unit + ".stochastic_rounding_unit", model, f"stimulus.{source}")
                self.assertEqual(wave[model + ".valid_o"].history(), wave[unit + ".valid_o"].history())
                rises = wave[unit + ".clk_i"].rises()
                for at in rises[2:-1]:   # the RTL's state as one number, word 0 lowest; after the reset
                    state = sum(wave[f"{model}.state[{i}]"].at(at) << (32 * i) for i in range(words))
                    self.assertEqual(state, wave[unit + ".state_o"].at(at), (source, at))
                    self.assertEqual(wave[model + ".ready_o"].at(at), wave[unit + ".ready_o"].at(at), (source, at))
                self.assertEqual(wave[f"compare.{source}.mismatches"].history(), [(0, 0)])
                self.assertEqual(set(self.texts(wave, f"stimulus.{source}.rounding")), {"", "nearest", "stochastic"})
                self.assertEqual(set(self.texts(wave, f"stimulus.{source}.format")), {"", "bf16"})
            both = set(wave["rounding_unit.lfsr.clk_i"].rises()) & set(wave["rounding_unit.xorwow.clk_i"].rises())
            self.assertLess(len(both), 40)   # one lane's block after the other's

    def test_array(self):
        for extension in READ:
            wave = self.wave(*ARRAY, *scopes("pe_array.psum*_o*", "pe_array.*_ready_o", "pe_array.act_valid_i", "pe_array.pe_array.enable",
                                             "array", "model", "stimulus"), extension=extension)
            self.changes_in(wave, "pe_array.pe_array", "array.tile_0_0", "array.drain_0", "array.west_0", "array.north_0", "model.psum_o[3]")
            self.assertEqual(wave["model.psum_valid_o"].history(), wave["pe_array.psum_valid_o"].history())
            for name in ("act_ready_o", "weight_ready_o"):
                self.same_while(wave, "pe_array.act_valid_i", "model." + name, "pe_array." + name)
            for column in range(4):
                self.same_while(wave, "model.psum_valid_o", f"model.psum_o[{column}]", f"pe_array.psum_o[{column}]")
            self.assertEqual(self.texts(wave, "stimulus.phase")[-2:], ["handshakes", "matmuls"])
            begin = wave["stimulus.phase"].history()[-1][0]
            self.assertEqual([value for at, value in wave["stimulus.matmul"].history() if at >= begin], [0, 1, 2, 3])
            self.assertFalse([at for at in wave["array.tile_0_0.clk_i"].rises() if at < begin])

    def test_mutants(self):
        for extension in READ:
            # From the first fault that shows to the last.
            wave = self.wave("mutants", "round_tie_away", "lfsr_tap_wrong", "drain_never_accumulates", "--wave-trigger", "mismatch",
                             "--wave-before", "500ns", "--wave-after", "10us", "--wave-scope", "mutants", "--wave-scope", "*.compare*",
                             "--wave-scope", "cosim_pe", extension=extension)
            self.assertEqual(self.texts(wave, "mutants.fault"), ["none", "round_tie_away", "lfsr_tap_wrong", "drain_never_accumulates"])
            self.assertEqual(self.texts(wave, "mutants.campaign")[-4:], ["rounding", "pe", "rounding", "array"])
            detections = wave["mutants.detections"].history()
            self.assertEqual([value for _, value in detections], [0, 1, 2, 3])
            for number, counter in enumerate(("pe.compare", "rounding.compare.lfsr", "array.compare"), 1):
                first = wave[f"cosim_{counter}.mismatches"].history()[1][0]
                self.assertLess(wave["mutants.fault"].history()[number][0], first, counter)
                self.assertLessEqual(first, detections[number][0], counter)
            first = wave["cosim_pe.compare.mismatches"].history()[1][0]
            self.assertNotEqual(wave["cosim_pe.model.psum_o"].at(first), wave["cosim_pe.pe.psum_o"].at(first))

    def test_replay(self):
        cases = []
        for arguments in (FAULTY_PE, (*ROUNDING, "--rtl-fault", "encode_tie_away")):
            self.assertEqual(self.call("cosim", *arguments, "--reproducer", "r.json").returncode, 1)
            cases += json.loads((self.dir / "r.json").read_text())["cases"]
        self.good("run", TRN1, "gemm", *size(16, 40, 24), "--pe", "lockstep", "--capture", "m.json")
        matmuls = json.loads((self.dir / "m.json").read_text())["cases"]

        def replay(cases, status, extension):
            (self.dir / "c.json").write_text(json.dumps({"azulejo_cosim": 1, "cases": cases}))
            return self.wave("replay", "c.json", status=status, extension=extension)
        for extension in READ:
            # One kind of unit: the names of its campaign.
            wave = replay([cases[0], {**cases[0], "fault": ""}, cases[0]], 1, extension)
            self.assertEqual([value for _, value in wave["replay.case"].history()], [0, 1, 2])
            self.assertEqual(wave["compare.mismatches"].history()[-1][1], 2)
            # The good one is of another library, and so another unit.
            self.assertEqual(wave["compare_2.mismatches"].history(), [(0, 0)])
            self.assertEqual(wave["pe_2.psum_o"].history()[-1][1], wave["model_2.psum_o"].history()[-1][1])
            self.assertEqual(self.texts(wave, "replay.note"), [cases[0]["note"]])
            wave = replay(cases + matmuls, 1, extension)
            self.changes_in(wave, "cosim_pe.pe", "cosim_rounding.rounding_unit.lfsr", "cosim_array.array.tile_0_0", "cosim_array.stimulus")
            self.assertEqual([value for _, value in wave["replay.case"].history()], list(range(2 + len(matmuls))))


class Mismatches(CosimWaveTest):
    def test_the_pes_part_at_the_mismatch(self):
        for extension in READ:
            wave = self.wave(*FAULTY_PE, extension=extension, status=1)
            first = wave["compare.mismatches"].history()[1][0]
            model, rtl = wave["model.psum_o"], wave["pe.psum_o"]
            times = sorted(set(model.times) | set(rtl.times))
            self.assertEqual([at for at in times if at < first and model.at(at) != rtl.at(at)], [])
            self.assertNotEqual(model.at(first), rtl.at(first))
            self.assertEqual(text(wave["compare.what"].at(first)), "psum")

    def test_a_trigger_keeps_the_mismatch_and_little_else(self):
        for number, (arguments, counter) in enumerate(FAULTS.items()):
            extension = list(READ)[number % 2]
            with self.subTest(arguments=arguments):
                wave = self.wave(*arguments, "--wave-trigger", "mismatch", "--wave-before", "30ns", "--wave-after", "20ns",
                                 extension=extension, status=1)
                self.assertLessEqual(wave.end - wave.start, 50_000_000)
                changes = wave[counter].history()
                self.assertEqual(changes[0][1], 0)
                first = changes[1][0]
                self.assertEqual(wave.start, max(0, first - 30_000_000))
                if arguments[0] == "array":
                    self.assertNotEqual(wave["compare.expected"].at(first), wave["compare.found"].at(first))
                if "pe_stale_weight@pe_5_6" in arguments:   # of the column that differs, too
                    self.changes_in(wave, "array.tile_0_1", "array.tile_1_1", "array.drain_1")

    def test_a_trigger_on_a_value(self):
        whole = self.wave(*PE)
        at = next(at for at, value in whole["stimulus.block"].history() if value == 12)
        wave = self.wave(*PE, "--wave-trigger", "stimulus.block==12", "--wave-before", "10ns", "--wave-after", "10ns", extension="fst")
        self.assertEqual((wave.start, wave.end), (at - 10_000_000, at + 10_000_000))

    def test_a_trigger_that_never_fires(self):
        for trigger in ("mismatch", "compare.mismatches==1"):
            done = self.call("cosim", *PE, "--wave", "w.vcd", "--wave-trigger", trigger)
            self.assertEqual(done.returncode, 0)
            line, = done.stderr.splitlines()
            self.assertIn(f"--wave-trigger {trigger} never fired in ", line)
            self.assertFalse((self.dir / "w.vcd").exists())


class NothingElseChanges(CosimWaveTest):
    def result(self, *arguments):
        """Status, what is printed without what is measured on the host, and the reproducer."""
        done = self.call("cosim", *arguments)
        lines = [line for line in done.stdout.splitlines() if not re.search(r"^wave[ :]|^time in|M/s|cycles/s|^host time", line)]
        path = self.dir / "azulejo-mismatch.json"
        reproducer = path.read_text() if path.exists() else ""
        path.unlink(missing_ok=True)
        return done.returncode, lines, reproducer

    def test_results(self):
        for arguments in (PE, ROUNDING, ARRAY, *FAULTS, (*ARRAY, "--rtl-fault", "pe_valid_stuck"),
                          ("mutants", "pe_lost_valid", "xorwow_shift_wrong", "edge_skew_short")):
            plain = self.result(*arguments)
            for options in (("--wave", "w.vcd", "--wave-window", "2us:3us"), ("--wave", "w.fst", "--wave-limit", "2MiB")):
                self.assertEqual(self.result(*arguments, *options), plain, (arguments, options))

    def test_a_window_shows_what_the_whole_shows(self):
        """What lies before it was not evaluated step by step."""
        for arguments, start, end in ((PE, 3_100_000_000, 3_300_000_000), (ROUNDING, 11_000_000_000, 11_200_000_000)):
            whole = self.wave(*arguments)
            part = self.wave(*arguments, "--wave-window", f"{start} fs:{end} fs")
            self.assertEqual((part.start, part.end), (start, end))
            self.assertEqual(part.variables.keys(), whole.variables.keys())
            for path, variable in part.variables.items():
                shown = [(at, value) for at, value in whole[path].history() if start < at <= end]
                self.assertEqual(variable.history(), [(start, whole[path].at(start)), *shown], path)

    def test_equal_campaigns_write_equal_files(self):
        for name in ("a.vcd", "b.vcd"):
            self.good("cosim", *ROUNDING, "--quiet", "--wave", name)
        self.assertEqual((self.dir / "a.vcd").read_bytes(), (self.dir / "b.vcd").read_bytes())


class Ends(CosimWaveTest):
    def test_a_full_disk(self):
        def fill():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
        done = subprocess.run([tool(), "cosim", *PE, "--wave", "w.vcd", "--quiet"], cwd=self.dir, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=60, preexec_fn=fill)
        self.assertEqual(done.returncode, 3, done.stderr)
        line, = done.stderr.splitlines()
        self.assertIn("w.vcd", line)
        self.assertTrue(done.stdout.startswith("PASS pe "), done.stdout)
        self.assertTrue(read_vcd(self.dir / "w.vcd").changed())

    def test_an_interrupt_closes_the_wave(self):
        process = subprocess.Popen([tool(), "cosim", "pe", "--macs", "1000000000", "--wave", "w.vcd", "--wave-limit", "3MiB", "--quiet"],
                                   cwd=self.dir, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(0.7)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 3, said)
        self.assertIn("interrupted", said)
        self.assertTrue(read_vcd(self.dir / "w.vcd").changed())


class BadInput(CosimWaveTest):
    def test_words(self):
        self.bad("cosim", *PE, "--wave", "w.vcd", "--wave-scope", "model.psum", says=["--wave-scope", "'model.psum'", "did you mean 'model.psum_o'?"])
        self.bad("cosim", *ROUNDING, "--wave", "w.vcd", "--wave-scope", "pe", says=["--wave-scope", "'pe'"])
        self.bad("cosim", *PE, "--wave", "w.vcd", "--wave-trigger", "model.psum==1",
                 says=["--wave-trigger", "'model.psum'", "did you mean 'model.psum_o'?"])
        self.bad("cosim", *PE, "--wave", "w.vcd", "--wave-trigger", "fault", says=["--wave-trigger", "fault", "mismatch", "PATH==VALUE"])
        self.bad("cosim", "mutants", "--wave", "w.vcd", "--wave-scope", "nothing", says=["--wave-scope", "'nothing'"])

    def test_a_replays_scope_is_no_fault_of_its_file(self):
        self.assertEqual(self.call("cosim", *FAULTY_PE).returncode, 1)
        line, = self.bad("cosim", "replay", "azulejo-mismatch.json", "--wave", "w.vcd", "--wave-scope", "modle",
                         says=["did you mean 'model'?"])
        self.assertTrue(line.startswith("azulejo: --wave-scope: "), line)

    def test_files(self):
        self.bad("cosim", *PE, "--wave", "w.vcd", "--coverage", "c.dat", says=["--wave", "--coverage", "leave out one"])
        self.bad("cosim", *PE, "--wave", "w.vcd", "--reproducer", "./w.vcd", says=["--wave and --reproducer", "same file"])
        self.bad("cosim", "mutants", "--wave", "none/w.vcd", says=["--wave none/w.vcd", "no directory none"])

    def test_help(self):
        for campaign in ("pe", "rounding", "array", "mutants", "replay"):
            said = self.good("cosim", campaign, "--help")
            for words in ("--wave ", "--wave-trigger", "2.8 GHz"):
                self.assertIn(words, said, campaign)


if __name__ == "__main__":
    main()
