# SPDX-License-Identifier: Apache-2.0
"""Does cost grow as it should? Ratios of CPU time and memory only, so that any host will do."""
import os

from cli_support import CliTest, TRN1, main, size


class Ratios(CliTest):
    def cpu(self, *arguments, best_of=3):
        """Least CPU time of a few runs, in seconds."""
        times = []
        for _ in range(best_of):
            before = os.times()
            self.good("run", TRN1, *arguments, "--quiet")
            after = os.times()
            times.append(after.children_user + after.children_system - before.children_user - before.children_system)
        return min(times)

    def test_time_grows_with_the_work_and_no_faster(self):
        small = self.cpu("gemm", *size(2048, 4096, 4096), "--data", "none")
        large = self.cpu("gemm", *size(4096, 8192, 4096), "--data", "none")
        self.assertLess(large, 4 * 2 * small)

    def test_no_data_costs_less_time_and_memory(self):
        none, full = ("gemm", *size(1536), "--data", "none"), ("gemm", *size(1536))
        self.assertLess(self.cpu(*none), self.cpu(*full))
        rss = [self.run_report(*arguments)["result"]["peak_rss_bytes"] for arguments in (none, full)]
        self.assertLess(2 * rss[0], rss[1])

    def test_the_peak_memory_is_the_tool_s_own(self):
        ballast = bytearray(os.urandom(1) * 200_000_000)   # what starts the tool is large
        peak = self.run_report("gemm", *size(16))["result"]["peak_rss_bytes"]
        self.assertLess(1_000_000, peak)
        self.assertLess(peak, len(ballast) // 2)

    def test_a_timeline_and_a_few_signals_cost_little(self):
        plain = self.cpu("gemm", *size(1024, 2048, 2048))
        seen = self.cpu("gemm", *size(1024, 2048, 2048), "--trace", "t.json", "--wave", "w.vcd", "--wave-scope", "*.tensor_engine.*")
        self.assertLess(seen, 4 * plain + 0.1)

    def test_starting_is_cheap_beside_a_run(self):
        start = self.cpu("gemm", *size(1), "--data", "none")
        run = self.cpu("gemm", *size(1024))
        self.assertLess(start, run)


if __name__ == "__main__":
    main()
