# SPDX-License-Identifier: Apache-2.0
"""Do the timeline and the waveform say the same as the report, to the femtosecond?"""
import collections
import json
import re
from decimal import Decimal

from cli_support import CliTest, DATA, Vcd, main, size

FEMTO = Decimal(10) ** 9   # femtoseconds in a microsecond, the unit of ts and dur


class Trace(CliTest):
    def spans(self, *arguments, **keywords):
        """The report, and the spans of every track: {path: [(start, end, event)]} in femtoseconds."""
        report = self.run_report(*arguments, "--trace", "t.json", **keywords)
        text = (self.dir / "t.json").read_text()
        trace = json.loads(text, parse_float=Decimal)
        self.assertEqual(set(trace), {"displayTimeUnit", "traceEvents"})
        names, threads, tracks = {}, {}, collections.defaultdict(list)
        for event in trace["traceEvents"]:
            if event["ph"] == "M" and event["name"] == "process_name":
                names[event["pid"]] = event["args"]["name"]
            elif event["ph"] == "M" and event["name"] == "thread_name":
                threads[event["pid"], event["tid"]] = f"{names[event['pid']]}.{event['args']['name']}"
        self.assertEqual(len(set(threads.values())), len(threads))
        for event in trace["traceEvents"]:
            self.assertIn(event["ph"], ("M", "X", "C"))
            if event["ph"] != "X":
                continue
            start, length = event["ts"] * FEMTO, event["dur"] * FEMTO
            self.assertEqual((start, length), (int(start), int(length)))
            tracks[threads[event["pid"], event["tid"]]].append((int(start), int(start + length), event))
        for ts in re.findall(r'"(?:ts|dur)":([^,}]+)', text):
            self.assertRegex(ts, r"^\d+\.\d{9}$")
        for path, spans in tracks.items():
            spans.sort(key=lambda span: span[:2])
            for before, after in zip(spans, spans[1:]):
                self.assertLessEqual(before[1], after[0], f"{path}: {before[2]} and {after[2]}")
            self.assertLessEqual(spans[-1][1], report["result"]["simulated_time_fs"], path)
        return report, tracks

    def check_engines(self, report, tracks):
        """Every femtosecond of an engine's track has the cause that the report has.

        After its last instruction an engine drains its pipeline: compute, with or without a span of its own.
        """
        for engine in report["engines"]:
            if engine["kind"] != "engine":
                continue
            spent = collections.Counter()
            active = {cause: time for cause, time in engine["attribution"].items() if cause not in ("not_started", "finished")}
            spans = tracks[engine["path"]]
            drain = sum(active.values()) - sum(end - start for start, end, _ in spans)
            for before, after in zip(spans, spans[1:]):
                self.assertEqual(before[1], after[0], f"{engine['path']}: a gap before {after[2]}")
            self.assertTrue(0 <= drain < 300_000_000, engine["path"])   # at most 258 cycles of the slowest engine's clock
            spent["data path"] += drain
            for start, end, event in spans:
                arguments = event.get("args", {})
                if event["name"] == "drain":
                    spent["data path"] += end - start
                    continue
                # A span with a detail is the data path's, one with a cause a wait, any other the sequencer's.
                spent[arguments.get("cause") or ("data path" if "detail" in arguments else "issue")] += end - start
            expected = collections.Counter()
            for cause, time in active.items():
                expected["data path" if cause in ("compute", "matmul_start") else cause] += time
            self.assertEqual(+spent, expected, engine["path"])

    def test_engines_of_a_gemm(self):
        for options in (["--tiling", "full"], ["--tiling", "basic", "--cores", "2"], ["--data", "none", "--dtype", "fp32"]):
            report, tracks = self.spans("gemm", *size(300, 260, 1100), *options)
            self.check_engines(report, tracks)
            tensor = report["engines"][0]
            busy = sum(end - start for start, end, event in tracks[tensor["path"]] if "detail" in event.get("args", {}))
            attribution = tensor["attribution"]
            drained = attribution["compute"] + attribution["matmul_start"] - busy
            self.assertTrue(0 <= drained < 100_000_000, drained)   # of the last matmul: 258 cycles of 2.8 GHz
            matmuls = [e for _, _, e in tracks[tensor["path"]] if e["name"] == "nc_matmul" and "detail" in e.get("args", {})]
            self.assertTrue(all(e["args"]["detail"].startswith("nc_matmul dst=psum[") for e in matmuls))

    def test_queues_and_channels_of_a_gemm(self):
        report, tracks = self.spans("gemm", *size(300, 260, 1100))
        self.assertLessEqual({q["path"] for q in report["queues"]}, set(tracks))
        for memory in report["memories"]:
            if memory["kind"] == "hbm":
                busy = sum(end - start for start, end, _ in tracks.get(memory["path"], []))
                self.assertEqual(busy, memory["attribution"].get("transfer", 0), memory["path"])
                self.assertEqual(len(tracks.get(memory["path"], [])), memory["reads"] + memory["writes"])

    def test_programs(self):
        self.check_engines(*self.spans("program", DATA / "good.s"))
        self.check_engines(*self.spans("program", DATA / "fault.s", status=1))
        report, tracks = self.spans("program", DATA / "empty.s")
        self.assertEqual((len(tracks), report["result"]["simulated_time_fs"]), (0, 0))


class Wave(CliTest):
    def wave(self, *arguments, **keywords):
        report = self.run_report(*arguments, "--wave", "w.vcd", **keywords)
        wave = Vcd(self.dir / "w.vcd")
        self.assertEqual(wave.timescale, "1fs")
        self.assertEqual(wave.times[0], 0)
        self.assertEqual(wave.times[-1], report["result"]["simulated_time_fs"])
        return report, wave

    def test_every_listed_signal_is_there(self):
        _, wave = self.wave("gemm", *size(64))
        listed = [line.split()[0] for line in self.good("list", "signals", "trn1.2xlarge").splitlines()[1:]]
        self.assertEqual(sorted(wave.signals), sorted(listed))
        self.assertGreater(len(listed), 500)

    def test_signals_end_at_the_report_s_values(self):
        report, wave = self.wave("gemm", *size(300, 260, 1100), "--cores", "2")
        for memory in report["memories"]:
            names = ("read_bytes", "written_bytes") if memory["kind"] == "hbm" else ("tile_requests", "dma_read_bytes", "dma_written_bytes")
            for name in names:
                self.assertEqual(wave.last(f"{memory['path']}.{name}"), memory[name], f"{memory['path']}.{name}")
        for engine in report["engines"]:
            if engine["kind"] == "dma":
                self.assertEqual(wave.last(f"{engine['path']}.bytes_moved"), engine["bytes"])
                self.assertEqual(wave.last(f"{engine['path']}.bytes_in_flight"), 0)
        # 3 x 3 tiles of K and N; of the 3 M tiles one for core 0 and two for core 1.
        self.assertEqual(wave.last("chip0.nc0.tensor_engine.matmuls"), 3 * 3 * 1)
        self.assertEqual(wave.last("chip0.nc1.tensor_engine.matmuls"), 3 * 3 * 2)

    def test_busy_is_high_while_an_engine_works(self):
        report, wave = self.wave("gemm", *size(300, 260, 1100), "--cores", "2")
        for engine in report["engines"]:
            if engine["kind"] != "engine" or engine["busy_fs"] == 0:
                continue
            high = wave.high_time(f"{engine['path']}.busy")
            # All but the drain after the last instruction and waits for a clock edge.
            self.assertLessEqual(high, engine["busy_fs"], engine["path"])
            self.assertGreaterEqual(high, engine["busy_fs"] - 300_000_000, engine["path"])

    def test_scopes(self):
        _, wave = self.wave("gemm", *size(64), "--wave-scope", "chip0.nc0.tensor_engine", "--wave-scope", "!*_initiator",
                            "--wave-scope", "*.vector_engine.busy")
        self.assertEqual(sorted(wave.signals), [
            "chip0.nc0.tensor_engine.busy", "chip0.nc0.tensor_engine.instruction", "chip0.nc0.tensor_engine.load_busy",
            "chip0.nc0.tensor_engine.matmuls", "chip0.nc0.tensor_engine.opcode", "chip0.nc0.tensor_engine.stall_cause",
            "chip0.nc0.tensor_engine.state", "chip0.nc0.tensor_engine.streaming", "chip0.nc0.vector_engine.busy",
            "chip0.nc1.vector_engine.busy"])
        _, wave = self.wave("gemm", *size(64), "--wave-scope", "chip0.nc0.*engine", "--wave-scope", "!*.instruction")
        self.assertEqual({name.split(".")[2] for name in wave.signals}, {f"{e}_engine" for e in ("tensor", "vector", "scalar", "gpsimd", "sync")})
        self.assertFalse([name for name in wave.signals if name.endswith("instruction")])
        _, wave = self.wave("gemm", *size(64), "--wave-scope", "!chip0.nc*")
        self.assertEqual({name.split(".")[1] for name in wave.signals}, {"hbm0", "hbm1"})

    def test_a_scope_does_not_change_what_a_signal_shows(self):
        _, whole = self.wave("gemm", *size(200))
        _, part = self.wave("gemm", *size(200), "--wave-scope", "*.tensor_engine.*")
        for name, code in part.signals.items():
            self.assertEqual(part.changes[code], whole.changes[whole.signals[name]], name)

    def test_runs_without_time(self):
        _, wave = self.wave("program", DATA / "empty.s")
        self.assertEqual(wave.times, [0])
        report, wave = self.wave("program", DATA / "deadlock.s", status=1)
        self.assertEqual(report["result"]["status"], "deadlock")
        self.wave("program", DATA / "fault.s", "--stop-on", "fault", status=1)
        self.wave("gemm", *size(256), "--until", "5 us")


if __name__ == "__main__":
    main()
