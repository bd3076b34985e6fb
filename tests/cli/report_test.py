# SPDX-License-Identifier: Apache-2.0
"""Does every report follow its schema, account for every femtosecond, and repeat?"""
import copy
import re

import numpy as np

from cli_support import CliTest, DATA, causes, main, schema, size, validator, without_host


class Schema(CliTest):
    def walk(self, node, at="schema"):
        if isinstance(node, dict):
            yield at, node
            for key, value in node.items():
                yield from self.walk(value, f"{at}/{key}")
        elif isinstance(node, list):
            for index, value in enumerate(node):
                yield from self.walk(value, f"{at}/{index}")

    def test_every_object_is_closed_and_every_field_described_with_its_unit(self):
        units = {"_fs": "femtosecond", "_ps": "picosecond", "_seconds": "seconds", "_bytes": "byte", "_per_s": "second"}
        fields = 0
        for at, node in self.walk(schema()):
            if node.get("type") == "object":
                self.assertIn("additionalProperties", node, at)
                if "properties" in node:
                    self.assertIs(node["additionalProperties"], False, at)
            if not isinstance(node.get("properties"), dict) or "required" not in node:
                continue
            for name, field in node["properties"].items():
                target = schema()["$defs"][field["$ref"].split("/")[-1]] if "$ref" in field else field
                text = field.get("description", target.get("description", ""))
                self.assertTrue(text, f"{at}/{name} has no description")
                unit = next((word for end, word in units.items() if name.endswith(end)), None)
                if unit:
                    self.assertIn(unit, text.lower(), f"{at}/{name}")
                elif target.get("type") in ("integer", "number"):
                    self.assertRegex(text.lower(), r"count|bytes|seconds|share|steps|index|--seed", f"{at}/{name}")
                fields += 1
        self.assertGreater(fields, 60)

    def test_the_causes_are_those_that_the_tool_lists(self):
        self.assertEqual(set(schema()["$defs"]["attribution"]["propertyNames"]["enum"]), causes())
        self.assertFalse([cause for cause in causes() if "other" in cause or "unknown" in cause])

    def test_the_schema_refuses_what_it_should(self):
        report = self.run_report("gemm", *size(32))
        for change in (lambda r: r.update(extra=1), lambda r: r["result"].pop("check"),
                       lambda r: r["result"]["check"].pop("max_ulp"), lambda r: r["result"].update(partial=True),
                       lambda r: r["engines"][0]["attribution"].update(other=5), lambda r: r.update(schema_version=2),
                       lambda r: r["engines"][0].update(busy_fs=-1), lambda r: r["result"].update(status="ended"),
                       lambda r: r["result"]["check"].update(mismatches=1), lambda r: r["links"].append({})):
            damaged = copy.deepcopy(report)
            change(damaged)
            self.assertFalse(validator().is_valid(damaged))


class Reports(CliTest):
    def test_gemm_with_data(self):
        report = self.run_report("gemm", *size(200, 300, 700))
        result = report["result"]
        self.assertEqual((result["status"], result["partial"], result["passed"]), ("finished", False, True))
        self.assertEqual(result["check"], {"elements": 140000, "mismatches": 0, "max_ulp": 0, "sampled": False})
        self.assertEqual({k: report["workload"][k] for k in ("m", "k", "n", "dtype", "tiling")},
                         {"m": 200, "k": 300, "n": 700, "dtype": "bf16", "tiling": "full"})
        rate = 2 * 200 * 300 * 700 / (result["simulated_time_fs"] * 1e-15)
        self.assertAlmostEqual(result["flops_per_s"] / rate, 1, places=9)
        self.assertAlmostEqual(result["utilization"] * 2 * 128 * 128 * 2.8e9 / rate, 1, places=9)
        # What HBM moved is what the DMA engines moved, and at least the three matrices once.
        dma = sum(e["bytes"] for e in report["engines"] if e["kind"] == "dma")
        hbm = sum(m["read_bytes"] + m["written_bytes"] for m in report["memories"] if m["kind"] == "hbm")
        self.assertEqual(dma, hbm)
        self.assertGreaterEqual(hbm, 2 * (200 * 300 + 300 * 700 + 200 * 700))

    def test_every_tiling_type_and_platform_without_data(self):
        for tiling in ("basic", "hoist", "block_free", "full"):
            report = self.run_report("gemm", *size(260, 300, 600), "--tiling", tiling, "--data", "none")
            self.assertIsNone(report["result"]["check"])
            self.assertTrue(report["result"]["passed"])
            self.assertEqual(report["workload"]["tiling"], tiling)
        for dtype in ("fp16", "fp32", "tf32", "e4m3", "e5m2", "e3m4", "int8"):
            self.assertEqual(self.run_report("gemm", *size(64), "--dtype", dtype)["result"]["check"]["mismatches"], 0)
        report = self.run_report("gemm", *size(1100, 128, 128), "--cores", "8", platform="trn2.3xlarge")
        busy = [e["path"] for e in report["engines"] if e["path"].endswith("tensor_engine") and e["busy_fs"] > 0]
        self.assertEqual(busy, [f"chip0.nc{i}.tensor_engine" for i in range(8)])

    def test_a_program(self):
        report = self.run_report("program", DATA / "good.s")
        self.assertEqual(report["workload"]["instructions"], {"tensor": 5, "vector": 2, "scalar": 0, "gpsimd": 0, "sync": 1})
        self.assertEqual((report["result"]["check"], report["result"]["passed"]), (None, True))
        tensor = report["engines"][0]
        self.assertEqual(tensor["instructions"], 1 + 2 * 10 + 2)

    def test_an_empty_program_takes_no_time(self):
        report = self.run_report("program", DATA / "empty.s")
        self.assertEqual((report["result"]["simulated_time_fs"], report["result"]["status"]), (0, "finished"))

    def test_a_check_that_fails_names_the_first_mismatch(self):
        report = self.run_report("gemm", *size(100), "--inject", "bitflip:psum:30", status=1)
        check = report["result"]["check"]
        self.assertGreater(check["mismatches"], 0)
        self.assertGreater(check["max_ulp"], 0)
        found = re.fullmatch(r"C\[(\d+), (\d+)\]: expected 0x[0-9a-f]+ \(.*\), found 0x[0-9a-f]+ \(.*\)", check["first_mismatch"])
        self.assertTrue(found, check["first_mismatch"])
        self.assertLess(max(map(int, found.groups())), 100)
        self.assertIn("bit 30", report["result"]["injected"])

    def test_the_configuration_in_a_report_can_be_run_again(self):
        first = self.run_report("gemm", *size(130), "--set", "hbm.bandwidth=100 GB/s")
        (self.dir / "again.yaml").write_text(first["config"])
        again = self.run_report("gemm", *size(130), platform="./again.yaml")
        self.assertEqual(again["result"]["hash"], first["result"]["hash"])
        self.assertNotEqual(first["result"]["hash"], self.run_report("gemm", *size(130))["result"]["hash"])


class Determinism(CliTest):
    def twice(self, *arguments, status=0):
        reports = []
        for name in ("one", "two"):
            (self.dir / name).mkdir(exist_ok=True)
            reports.append(without_host(self.run_report(*arguments, status=status, cwd=self.dir / name)))
        self.assertEqual(*reports)
        return reports[0]

    def test_two_runs_are_equal(self):
        self.twice("gemm", *size(300, 200, 1000), "--cores", "2")
        self.twice("gemm", *size(300, 200, 1000), "--tiling", "hoist", "--data", "none")
        self.twice("program", DATA / "fault.s", status=1)
        self.twice("gemm", *size(64), "--inject", "bitflip:psum", "--seed", "7", status=1)

    def test_observing_a_run_does_not_change_it(self):
        plain = self.run_report("gemm", *size(300, 200, 1000))
        seen = self.run_report("gemm", *size(300, 200, 1000), "--trace", "t.json", "--wave", "w.vcd")
        self.assertEqual(plain["result"]["hash"], seen["result"]["hash"])
        self.assertEqual(plain["engines"], seen["engines"])

    def test_time_depends_neither_on_values_nor_on_whether_there_are_any(self):
        shape = size(140, 260, 530)
        full = self.run_report("gemm", *shape, "--out", "one.npy")
        none = self.run_report("gemm", *shape, "--data", "none")
        other = self.run_report("gemm", *shape, "--seed", "18446744073709551615", "--out", "two.npy")
        flipped = self.run_report("gemm", *shape, "--inject", "bitflip:psum", status=1)
        for report in (none, other, flipped):
            self.assertEqual(report["result"]["hash"], full["result"]["hash"])
            self.assertEqual(report["result"]["simulated_time_fs"], full["result"]["simulated_time_fs"])
            self.assertEqual((report["engines"], report["queues"]), (full["engines"], full["queues"]))
        one, two = np.load(self.dir / "one.npy"), np.load(self.dir / "two.npy")
        self.assertGreater(np.count_nonzero(one != two), one.size // 2)
        self.assertEqual(other["seed"], 2**64 - 1)


if __name__ == "__main__":
    main()
