# SPDX-License-Identifier: Apache-2.0
"""What a wave costs: processor time of a gemm with and without one, and sizes of the files.

Run as `python3 FILE TOOL`. Fails when a wave of the default scopes takes as long again as the run, or an FST more than a tenth
of the VCD.
"""
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

REACH_TIME = 2.0    # with a wave : without
REACH_SIZE = 0.1    # FST : VCD
TRIES = 7           # the best counts: other work on the machine only adds
CASES = [
    ("gemm 1024^3, data full", ["--m", "1024", "--k", "1024", "--n", "1024"], True),
    ("gemm 256 x 256 x 1024, lockstep", ["--m", "256", "--k", "256", "--n", "1024", "--pe", "lockstep"], True),
    ("gemm 2048^3, data none", ["--m", "2048", "--k", "2048", "--n", "2048", "--data", "none"], False),
]


def seconds(tool, directory, arguments):
    """Processor time of the run and of all its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([tool, "run", "trn1.2xlarge", "gemm", *arguments, "--quiet"], cwd=directory, check=True, timeout=300)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    if len(sys.argv) != 2 or not os.access(sys.argv[1], os.X_OK):
        sys.exit(f"usage: {sys.argv[0]} TOOL")
    tool = os.path.abspath(sys.argv[1])
    failed = False
    with tempfile.TemporaryDirectory(prefix="azulejo_wave_bench_") as temporary:
        directory = pathlib.Path(temporary)
        for name, arguments, counts in CASES:
            variants = {"none": [], "vcd": ["--wave", "w.vcd"], "fst": ["--wave", "w.fst"]}
            best = {variant: float("inf") for variant in variants}
            for _ in range(TRIES if "lockstep" not in arguments else 2):
                for variant, more in variants.items():   # in turn, so that all meet the same other work
                    best[variant] = min(best[variant], seconds(tool, directory, arguments + more))
            vcd, fst = ((directory / f"w.{extension}").stat().st_size for extension in ("vcd", "fst"))
            times = {variant: best[variant] / best["none"] for variant in ("vcd", "fst")}
            print(f"{name}: {times['vcd']:.2f} x the time with a VCD, {times['fst']:.2f} x with an FST "
                  f"({'reach' if counts else 'no reach;'} {f'< {REACH_TIME}' if counts else 'without data there is little else to do'}); "
                  f"FST {fst / vcd:.3f} of the VCD's {vcd / 1e6:.1f} MB (reach <= {REACH_SIZE})")
            failed = failed or (counts and max(times.values()) >= REACH_TIME) or fst > REACH_SIZE * vcd
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
