# SPDX-License-Identifier: Apache-2.0
"""Published measurements against the simulation, and against a rival explanation of the same measurements.

Run as `python3 FILE TOOL [unittest arguments]`. Prints the tables; with AZULEJO_VALIDATION_OUT=FILE writes them there too,
as Markdown.
"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TRN1, TRN2 = "trn1.2xlarge", "trn2.3xlarge"
TUTORIAL = "Neuron SDK 2.20 to 2.26, NKI matmul tutorial"
# (row, gemm arguments, measured seconds, source, whether it set a parameter, tolerance or None: reported only, remark)
# One NeuronCore of Trainium1, bf16. No parameter of the preset comes from any of these rows.
GEMMS = [
    ("full", ["--m", "4096", "--k", "8192", "--n", "8192", "--tiling", "full"], 6.931e-3,
     "aws-neuron-sdk issue 1005: p50 of the tutorial's best kernel (6.97 ms in the tutorial)", "no", 0.05, ""),
    ("block_free", ["--m", "4096", "--k", "8192", "--n", "8192", "--tiling", "block_free"], 22.07e-3, TUTORIAL, "no", 0.10, ""),
    ("hoist", ["--m", "4096", "--k", "8192", "--n", "8192", "--tiling", "hoist"], 42.96e-3, TUTORIAL, "no", 0.10, ""),
    ("basic", ["--m", "4096", "--k", "8192", "--n", "8192", "--tiling", "basic"], 51.80e-3, TUTORIAL, "no", None,
     "known miss: the measured time leaves 195 ns for each pair of descriptors of 256 B and 1 KiB, the model charges 2 x 146 ns"),
    ("8192^3", ["--m", "8192", "--k", "8192", "--n", "8192"], 14.72e-3, "awslabs/nki-autotune issue 25", "no", 0.12,
     "another kernel than the one that is simulated"),
    ("4096^3", ["--m", "4096", "--k", "4096", "--n", "4096"], 2.694e-3, "awslabs/nki-autotune issue 25", "no", None,
     "contradicts its own sweep: an eighth of the work of 8192^3 in more than a sixth of its time"),
]
# The rival: DMA moves bytes at one rate whatever the size of its descriptors, and a matmul starts for nothing.
FLAT_RATE = ["--set", "dma.bandwidth=6375MB/s", "--set", "dma.descriptor_time=1fs", "--set", "tensor_engine.matmul_start_cycles=0"]

# Trainium2, rate of DMA loads relative to the one at 32 KiB, against the contiguous bytes of a descriptor. It is the curve
# that dma.descriptor_time = 108 ns was fitted to; one parameter for ten points.
DMA_SOURCE = "Neuron SDK, nki-dma-overview, figure nki-dma-intro-1 (digitised)"
DMA_EFFICIENCY = {32: 0.014, 64: 0.026, 128: 0.050, 256: 0.103, 512: 0.206, 1024: 0.424, 2048: 0.813, 4096: 0.966, 8192: 0.983,
                  16384: 0.990, 32768: 1.0}
DMA_TOLERANCE = 0.10
# One descriptor of 32 KiB on one engine with its semaphore write; it set dma.bandwidth = 23 GB/s. Simulated: from the end
# of the start latency, 1.3 us, to the last byte in SBUF.
DMA_ONE = 1.416e-6
DMA_START_FS = 1_300_000_000

_tool = ""


def simulate(directory, name, platform, *arguments):
    """The report of one run; every run has a name of its own."""
    report = pathlib.Path(directory) / f"{name}.json"
    done = subprocess.run([_tool, "run", platform, *map(str, arguments), "--data", "none", "--quiet", "--report", str(report)],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
    if done.returncode != 0 or done.stderr:
        raise RuntimeError(f"{name}: status {done.returncode}: {done.stderr}")
    return json.loads(report.read_text())


def seconds(report):
    return report["result"]["simulated_time_fs"] * 1e-15


def load_program(directory, size, transfers):
    """A file of `transfers` loads of 128 rows of `size` contiguous bytes, 8 rows for each of the 16 DMA engines."""
    path = pathlib.Path(directory) / f"load_{size}_{transfers}.asm"
    line = f"  dma_copy dst=sbuf(0, 0, 0) <128:0x40000>, src=hbm(0, 0x0) <128:{size:#x}>, bytes={size}\n"
    path.write_text(".engine sync\n" + line * transfers)
    return path


def load_rate(directory, size):
    """Bytes a second once loads run, without their start: from the difference of two programs."""
    few, many = (seconds(simulate(directory, f"load_{size}_{n}", TRN2, "program", load_program(directory, size, n))) for n in (16, 32))
    return 16 * 128 * size / (many - few)


def one_load(directory):
    path = pathlib.Path(directory) / "one.asm"
    path.write_text(".engine sync\n  dma_copy dst=sbuf(0, 0, 0), src=hbm(0, 0x0), bytes=32768  inc s0\n")
    return simulate(directory, "one", TRN2, "program", path)["result"]["simulated_time_fs"] - DMA_START_FS


def time_text(value):
    return f"{value * 1e9:,.0f} ns" if value < 1e-5 else f"{value * 1e3:.3f} ms"


def percent(error):
    return f"{error * 100:+.1f} %"


def table(header, rows):
    """Markdown that is also readable as text; the first column to the left, numbers to the right."""
    widths = [max(len(str(row[i])) for row in [header, *rows]) for i in range(len(header))]

    def line(row):
        cells = [str(v).ljust(w) if i == 0 else str(v).rjust(w) for i, (v, w) in enumerate(zip(row, widths))]
        return "| " + " | ".join(cells) + " |"

    rule = "|" + "|".join(("-" * (w + 2)) if i == 0 else "-" * (w + 1) + ":" for i, w in enumerate(widths)) + "|"
    return "\n".join([line(header), rule, *map(line, rows)])


class Published(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory(prefix="azulejo_validation_") as directory, \
                concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
            model = {row[0]: pool.submit(simulate, directory, row[0], TRN1, "gemm", *row[1]) for row in GEMMS}
            rival = {row[0]: pool.submit(simulate, directory, "flat_" + row[0], TRN1, "gemm", *row[1], *FLAT_RATE) for row in GEMMS}
            rates = {size: pool.submit(load_rate, directory, size) for size in DMA_EFFICIENCY}
            one = pool.submit(one_load, directory)
            cls.model = {name: run.result() for name, run in model.items()}
            cls.rival = {name: run.result() for name, run in rival.items()}
            cls.rates = {size: run.result() for size, run in rates.items()}
            cls.one = one.result() * 1e-15
        cls.efficiency = {size: rate / cls.rates[32768] for size, rate in cls.rates.items()}
        text = cls.tables()
        print("\n" + text, flush=True)
        out = os.environ.get("AZULEJO_VALIDATION_OUT")
        if out:
            pathlib.Path(out).write_text(text)

    @classmethod
    def error(cls, reports, name):
        measured = next(row[2] for row in GEMMS if row[0] == name)
        return seconds(reports[name]) / measured - 1

    @classmethod
    def tables(cls):
        gemms = [(row[0], time_text(row[2]), time_text(seconds(cls.model[row[0]])), percent(cls.error(cls.model, row[0])),
                  "reported" if row[5] is None else f"{row[5]:.0%}", cls.model[row[0]]["result"]["bound"],
                  time_text(seconds(cls.rival[row[0]])), percent(cls.error(cls.rival, row[0])), cls.rival[row[0]]["result"]["bound"])
                 for row in GEMMS]
        sources = [f"- {name}: {' '.join(arguments)}; {source}; set a parameter: {used}" + (f"; {remark}" if remark else "")
                   for name, arguments, _, source, used, _, remark in GEMMS]
        loads = [(f"{size:,} B", f"{measured:.3f}", f"{cls.efficiency[size]:.3f}", percent(cls.efficiency[size] / measured - 1),
                  f"{DMA_TOLERANCE:.0%}" if size != 32768 else "reference", f"{cls.rates[size] * 1e-9:.1f} GB/s")
                 for size, measured in DMA_EFFICIENCY.items()]
        return "\n".join([
            "GEMM in bf16 on one NeuronCore of Trainium1 (trn1.2xlarge):", "",
            table(("row", "measured", "simulated", "error", "tolerance", "bound by", "flat rate", "error", "bound by"), gemms), "",
            "Flat rate, the rival explanation: " + " ".join(FLAT_RATE[1::2]), "", *sources, "",
            "DMA loads of one NeuronCore of Trainium2 (trn2.3xlarge), relative to descriptors of 32 KiB:", "",
            table(("descriptor", "measured", "simulated", "error", "tolerance", "rate"), loads), "",
            f"- {DMA_SOURCE}; set a parameter: yes, dma.descriptor_time",
            f"- one descriptor of 32 KiB on one engine: measured {time_text(DMA_ONE)} (same page), simulated {time_text(cls.one)}, "
            f"{percent(cls.one / DMA_ONE - 1)}; reported; set a parameter: yes, dma.bandwidth", ""])

    def test_gemm(self):
        for name, _, _, _, _, tolerance, _ in GEMMS:
            with self.subTest(name):
                self.assertEqual(self.model[name]["result"]["status"], "finished")
                if tolerance is not None:
                    self.assertLessEqual(abs(self.error(self.model, name)), tolerance)

    def test_basic_is_bound_by_its_descriptors(self):
        self.assertEqual(self.model["basic"]["result"]["bound"], "dma_descriptor")

    def test_a_flat_rate_does_not_explain_the_best_kernel(self):
        self.assertGreater(abs(self.error(self.rival, "full")), 0.05)

    def test_dma_efficiency(self):
        for size, measured in DMA_EFFICIENCY.items():
            with self.subTest(size):
                self.assertLessEqual(abs(self.efficiency[size] / measured - 1), DMA_TOLERANCE)


if __name__ == "__main__":
    if len(sys.argv) < 2 or not os.access(sys.argv[1], os.X_OK):
        sys.exit(f"usage: {sys.argv[0]} TOOL [unittest arguments]")
    _tool = os.path.abspath(sys.argv.pop(1))
    unittest.main()
