#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the GTKWave views of this directory, one for each entry of VIEWS.

  make_views.py                      all views, here
  make_views.py --directory DIR      all views, there
  make_views.py trn1.2xlarge --from 20us --to 24us --out part.gtkw
                                     one view of another stretch of time
"""
import argparse
import math
import pathlib
import re
import sys

# Which cores and HBM stacks of a platform's chip 0 a view shows, from when to when, which groups are folded up at first, and
# whether the platform's units run in lockstep with their RTL.
VIEWS = {
    "trn1.2xlarge": {"cores": [0], "stacks": [0], "span": ("0us", "30us"), "folded": []},
    "trn2.3xlarge": {"cores": [0, 1], "stacks": [0], "span": ("0us", "22us"),
                     "folded": ["queues", "semaphores", "DMA engines 2 and 3", "SBUF and PSUM"]},
    "lockstep": {"cores": [0], "stacks": [], "span": ("0us", "13us"), "lockstep": True,
                 "folded": ["queues", "DMA", "DMA engines 2 and 3"]},
}
# Semaphores of a kernel: one for each engine that others wait for, then a ring of 48 for the transfers that each engine
# triggers, from 8 on in the order tensor, vector, scalar, gpsimd, sync.
SEMAPHORES = [(0, "tensor done"), (1, "vector done"), (104, "1st store"), (200, "1st load"), (201, "2nd load")]

RED, ORANGE, YELLOW, GREEN = range(1, 5)               # the others are too dark to read
# GTKWave's flags of a trace, right-justified.
TEXT, DECIMAL, BIT = 0x820, 0x24, 0x28
STEPS = 0x88024                                      # decimal, drawn as a curve of steps over its own range
STRETCH = 0x20000                                    # one more row of height for the curve above
GROUP, GROUP_END = 0x800200, 0x1001200               # the end takes no row
FOLDED_GROUP, FOLDED_GROUP_END = 0xC00200, 0x1401200

WIDTH, HEIGHT, NAMES_WIDTH, WAVE_WIDTH = 1600, 900, 260, 1270   # pixels
FEMTO = {"fs": 1, "ps": 10**3, "ns": 10**6, "us": 10**9, "ms": 10**12}


def femtoseconds(text):
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(fs|ps|ns|us|ms)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"'{text}' is no time such as 20.5us")
    return round(float(match[1]) * FEMTO[match[2]])


def core_groups(core):
    """(title, signals) of one core; a signal is (format, colour, bits, path, shown name)."""
    nc = f"chip0.nc{core}"

    def engine(name, colour, *more):
        path = f"{nc}.{name}_engine"
        return [(TEXT, colour, 128, f"{path}.state", f"{name} state"),
                (TEXT, colour, 160, f"{path}.opcode", f"{name} opcode"),
                (BIT, colour, 1, f"{path}.busy", f"{name} busy"),
                *((DECIMAL, colour, 32, f"{path}.{signal}", f"{name} {signal}") for signal in more)]

    def dma_engines(*numbers):
        return [signal for e in numbers for signal in (
            (BIT, ORANGE, 1, f"{nc}.dma.engine{e}.busy", f"engine{e} busy"),
            (DECIMAL, ORANGE, 24, f"{nc}.dma.engine{e}.descriptors_pending", f"engine{e} descriptors"))]

    return [
        ("tensor engine", engine("tensor", GREEN, "instruction", "matmuls")),
        ("vector engine", engine("vector", YELLOW)),
        ("queues", [(TEXT, ORANGE, 128, f"{nc}.sync_engine.state", "sync (loads)"),
                    (TEXT, ORANGE, 128, f"{nc}.scalar_engine.state", "scalar (stores)")]),
        ("DMA", [(DECIMAL, ORANGE, 32, f"{nc}.dma.transfers", "transfers triggered"),
                 (DECIMAL, ORANGE, 8, f"{nc}.dma.waiting_for_ring", "waiting for a ring"), *dma_engines(0, 1)]),
        ("DMA engines 2 and 3", dma_engines(2, 3)),
        ("semaphores", [(DECIMAL, RED, 32, f"{nc}.semaphores.s{s}", f"s{s} {what}") for s, what in SEMAPHORES]),
        ("SBUF and PSUM", [(STEPS, YELLOW, 48, f"{nc}.sbuf.dma_written_bytes", "SBUF bytes loaded"),
                           (DECIMAL, YELLOW, 48, f"{nc}.sbuf.dma_read_bytes", "SBUF bytes stored"),
                           (DECIMAL, YELLOW, 32, f"{nc}.psum.tile_requests", "PSUM tile requests")]),
    ]


def lockstep_groups(core, view):
    if not view.get("lockstep"):
        return []
    return [(f"{unit} in lockstep", [(STEPS, RED, 48, f"chip0.nc{core}.{engine}.rtl_cycles", f"{unit} RTL cycles"),
                                     (DECIMAL, RED, 32, f"chip0.nc{core}.{engine}.lockstep_mismatches", f"{unit} mismatches")])
            for unit, engine in (("PE array", "tensor_engine"), ("rounding unit", "vector_engine"))]


def groups(view):
    """(title, whether folded, signals) of a view."""
    found = [(f"nc{core} {title}", title in view["folded"], signals)
             for core in view["cores"] for title, signals in core_groups(core) + lockstep_groups(core, view)]
    for stack in view["stacks"]:
        found.append((f"HBM stack {stack}", False, [
            (STEPS, GREEN, 48, f"chip0.hbm{stack}.read_bytes", f"hbm{stack} bytes read"),
            (DECIMAL, GREEN, 48, f"chip0.hbm{stack}.written_bytes", f"hbm{stack} bytes written")]))
    return found


def make_view(name, start=None, end=None):
    """The text of one view."""
    view = VIEWS[name]
    start = femtoseconds(view["span"][0]) if start is None else start
    end = femtoseconds(view["span"][1]) if end is None else end
    zoom = math.log2((end - start) / WAVE_WIDTH * 200)   # of the femtoseconds of 200 pixels
    lines = ["[*] SPDX-License-Identifier: Apache-2.0",
             f"[*] GTKWave view of azulejo's {name}, written by make_views.py",
             f"[timestart] {start}",
             f"[size] {WIDTH} {HEIGHT}",
             "[pos] -1 -1",
             f"*-{zoom:.6f}" + " -1" * 27,
             "[sst_width] 1",
             f"[signals_width] {NAMES_WIDTH}",
             "[sst_expanded] 0"]
    for title, folded, signals in groups(view):
        lines += [f"@{FOLDED_GROUP if folded else GROUP:x}", f"-{title}"]
        for flags, colour, bits, path, shown in signals:
            lines += [f"@{flags:x}", f"[color] {colour}", f"+{{{shown}}} {path}" + (f"[{bits - 1}:0]" if bits > 1 else "")]
            if flags == STEPS:
                lines += [f"@{STRETCH:x}", "-"]
        lines += [f"@{FOLDED_GROUP_END if folded else GROUP_END:x}", f"-{title}"]
    return "\n".join(lines + ["[pattern_trace] 1", "[pattern_trace] 0", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("view", nargs="?", choices=sorted(VIEWS))
    parser.add_argument("--directory", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent)
    parser.add_argument("--from", dest="start", type=femtoseconds, metavar="TIME")
    parser.add_argument("--to", dest="end", type=femtoseconds, metavar="TIME")
    parser.add_argument("--out", type=pathlib.Path, metavar="FILE")
    arguments = parser.parse_args()
    if arguments.view is None:
        if arguments.start is not None or arguments.end is not None or arguments.out:
            parser.error("--from, --to and --out need a view")
        for name in VIEWS:
            (arguments.directory / f"{name}.gtkw").write_text(make_view(name), encoding="ascii")
        return 0
    start, end = (0 if arguments.start is None else arguments.start), arguments.end
    if end is not None and end <= start:
        parser.error("--to must be later than --from")
    text = make_view(arguments.view, start, end)
    if arguments.out:
        arguments.out.write_text(text, encoding="ascii")
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
