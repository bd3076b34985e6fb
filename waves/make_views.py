#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the views of this directory, one for each entry of VIEWS: NAME.gtkw for GTKWave and NAME.sucl for Surfer.

  make_views.py                      all views, here, and the names of the RTL's enumerations
  make_views.py --directory DIR      the same, there
  make_views.py trn1.2xlarge --from 20us --to 24us --out part.gtkw
                                     one view of another stretch of time; --out part.sucl: for Surfer
  make_views.py trn2.3xlarge --cores 0,5 --stacks 0,1 --out mine.gtkw
  make_views.py mismatch --pe 64,9 --out mine.gtkw
  make_views.py lockstep --mark 6.48us --mark 6.55us --out marked.gtkw
                                     with GTKWave's named markers A, B, ...
"""
import argparse
import dataclasses
import math
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent

RED, ORANGE, YELLOW, GREEN = range(1, 5)               # GTKWave's numbers; its others are too dark to read
SURFER_COLOURS = {RED: "Red", ORANGE: "Orange", YELLOW: "Yellow", GREEN: "Green"}

# GTKWave's flags of a trace, right-justified.
TEXT, DECIMAL, HEXADECIMAL, BIT, REAL = 0x820, 0x24, 0x22, 0x28, 0x40020
STEPS = 0x88024                                      # decimal, drawn as a curve of steps over its own range
STRETCH = 0x20000                                    # one more row of height for the curve above
NAMED = 0x2024                                       # decimal, each value replaced by the line of a file that begins with it
GROUP, GROUP_END = 0x800200, 0x1001200               # the end takes no row
FOLDED_GROUP, FOLDED_GROUP_END = 0xC00200, 0x1401200
SURFER_FORMATS = {TEXT: "ASCII", DECIMAL: "Unsigned", HEXADECIMAL: "Hexadecimal", REAL: "FP: 32-bit IEEE 754", STEPS: "Unsigned",
                  NAMED: "Unsigned"}

WIDTH, HEIGHT, NAMES_WIDTH, WAVE_WIDTH = 1600, 900, 260, 1277   # pixels
MARKERS = 26
FEMTO = {"fs": 1, "ps": 10**3, "ns": 10**6, "us": 10**9, "ms": 10**12}

PACKAGE = HERE.parent / "rtl" / "pkg" / "azulejo_pkg.sv"
ENUMERATIONS = {"format_e": 4, "part_e": 2}            # bits
ARRAY_ROWS, TILE = 128, 4                              # rows of PEs of an array; rows and columns of a tile


@dataclasses.dataclass(frozen=True)
class Row:
    flags: int
    bits: int
    path: str
    name: str         # shown
    names: str = ""   # the enumeration, where flags are NAMED

    def gtkwave_path(self):
        return self.path + (f"[{self.bits - 1}:0]" if self.bits > 1 else "")

    def surfer_path(self):
        """An element of an array is a variable of that name, "[0]", in a scope that has the array's."""
        scope, _, name = self.path.rpartition(".")
        return f"{scope}." + name.replace("[", ".[")


@dataclasses.dataclass(frozen=True)
class Group:
    title: str
    colour: int
    rows: list
    folded: bool = False


@dataclasses.dataclass(frozen=True)
class Choice:
    """What of a platform a view shows."""
    cores: tuple = (0,)
    stacks: tuple = (0,)
    ports: bool = True    # see memories()
    pe: tuple = (3, 17)   # row and column


def text(characters, path, name):
    return Row(TEXT, 8 * characters, path, name)


def bit(path, name):
    return Row(BIT, 1, path, name)


def decimal(bits, path, name):
    return Row(DECIMAL, bits, path, name)


def hexadecimal(bits, path, name):
    return Row(HEXADECIMAL, bits, path, name)


def fp32(path, name):
    return Row(REAL, 32, path, name)


def curve(bits, path, name):
    return Row(STEPS, bits, path, name)


def enumeration(names, path, name):
    return Row(NAMED, ENUMERATIONS[names], path, name, names)


def femtoseconds(text_of_time):
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(fs|ps|ns|us|ms)", text_of_time)
    if not match:
        raise argparse.ArgumentTypeError(f"'{text_of_time}' is no time such as 20.5us")
    return round(float(match[1]) * FEMTO[match[2]])


def numbers(text_of_list):
    if not re.fullmatch(r"\d+(,\d+)*", text_of_list):
        raise argparse.ArgumentTypeError(f"'{text_of_list}' is no list such as 0,1")
    return tuple(int(word) for word in text_of_list.split(","))


def enumeration_text(name):
    """What GTKWave shows in place of the values of an enumeration, from the RTL's package."""
    body = re.search(r"typedef enum logic \[\d+:0\] \{([^}]*)\} " + name + ";", PACKAGE.read_text(encoding="utf-8"))[1]
    names = re.findall(r"(\w+)\s*=\s*\d+'d(\d+)", body)
    return (f"# SPDX-License-Identifier: Apache-2.0\n# {name} of rtl/pkg/azulejo_pkg.sv, written by make_views.py\n" +
            "".join(f"{value} {word}\n" for word, value in names))


# --- Parts of a platform

def engine(nc, kind, *more):
    path = f"{nc}.{kind}_engine"
    return [text(12, f"{path}.state", f"{kind} state"),
            text(16, f"{path}.stall_cause", f"{kind} waits for"),
            text(20, f"{path}.opcode", f"{kind} opcode"), *more]


def tensor_engine(nc):
    path = f"{nc}.tensor_engine"
    return Group("tensor engine", GREEN, engine(
        nc, "tensor",
        bit(f"{path}.load_busy", "tensor load_busy"),
        bit(f"{path}.streaming", "tensor streaming"),
        decimal(32, f"{path}.matmuls", "tensor matmuls")))


def vector_engine(nc, folded=False):
    return Group("vector engine", YELLOW, engine(nc, "vector"), folded)


def queues(nc, folded=False):
    return Group("queues", ORANGE, [
        text(12, f"{nc}.sync_engine.state", "sync (loads)"),
        text(12, f"{nc}.scalar_engine.state", "scalar (stores)"),
        text(16, f"{nc}.scalar_engine.stall_cause", "scalar waits for"),
        *(decimal(24, f"{nc}.dma.queue{q}_descriptors", f"queue{q} descriptors") for q in range(3))], folded)


def dma_engine(nc, number):
    path = f"{nc}.dma.engine{number}"
    return [bit(f"{path}.busy", f"engine{number} busy"),
            decimal(24, f"{path}.descriptors_pending", f"engine{number} descriptors")]


def dma(nc, folded=False):
    return [
        Group("DMA", ORANGE, [decimal(32, f"{nc}.dma.transfers", "transfers triggered"),
                              decimal(8, f"{nc}.dma.waiting_for_ring", "waiting for a ring"), *dma_engine(nc, 0)], folded),
        Group("DMA engine 0 at memory", ORANGE, [
            decimal(16, f"{nc}.dma.engine0.memory_initiator.outstanding", "engine0 outstanding"),
            text(48, f"{nc}.dma.engine0.memory_initiator.lane0", "engine0 transaction"),
            text(64, f"{nc}.dma.engine0.memory_initiator.completed", "engine0 completed")], folded),
        Group("DMA engines 1 to 3", ORANGE, [row for number in (1, 2, 3) for row in dma_engine(nc, number)], True),
    ]


def semaphores(nc, folded=False):
    """Of a kernel: one for each engine that others wait for, then a ring of 48 for the transfers that each engine triggers,
    from 8 on in the order tensor, vector, scalar, gpsimd, sync."""
    used = [(0, "tensor done"), (1, "vector done"), (104, "1st store"), (200, "1st load"), (201, "2nd load")]
    return Group("semaphores", RED, [decimal(32, f"{nc}.semaphores.s{s}", f"s{s} {what}") for s, what in used], folded)


def memories(nc, ports, folded=False):
    """`ports`: engines share a port of each, as on NeuronCore-v2."""
    names = (("sbuf", "SBUF"), ("psum", "PSUM"))
    return [
        Group("SBUF and PSUM", YELLOW, [
            *(text(8, f"{nc}.{memory}.port0_owner", f"{name} port owner") if ports else
              decimal(32, f"{nc}.{memory}.tile_requests", f"{name} tile requests") for memory, name in names),
            curve(48, f"{nc}.sbuf.dma_written_bytes", "SBUF bytes loaded")], folded),
        Group("engines at PSUM", YELLOW, [
            text(48, f"{nc}.vector_engine.psum_initiator.lane0", "vector access"),
            decimal(32, f"{nc}.tensor_engine.psum_initiator.dmi_accesses", "tensor accesses"),
            text(48, f"{nc}.tensor_engine.psum_initiator.dmi", "tensor DMI")], True),
    ]


def hbm(stack):
    path = f"chip0.hbm{stack}"
    return Group(f"HBM stack {stack}", GREEN, [
        curve(48, f"{path}.read_bytes", f"hbm{stack} bytes read"),
        decimal(48, f"{path}.written_bytes", f"hbm{stack} bytes written"),
        curve(16, f"{path}.target.outstanding", f"hbm{stack} outstanding"),
        text(48, f"{path}.target.lane0", f"hbm{stack} transaction"),
        text(12, f"{path}.target.lane0_phase", f"hbm{stack} phase")])


def folded_last(groups):
    return sorted(groups, key=lambda group: group.folded)


def of_core(core, groups):
    return [dataclasses.replace(group, title=f"nc{core} {group.title}") for group in groups]


# --- The RTL

def pe_cell(tile, row, col):
    """The nets of the PE of that place in a tile."""
    return f"{tile}.pe_tile.gen_rows[{row}].gen_cols[{col}]"


def edge(path, operand):
    """What enters at an edge of the array, before the edge skews it."""
    return [bit(f"{path}.valid_i", f"{operand}s valid"),
            enumeration("format_e", f"{path}.format_i", f"{operand} format"),
            enumeration("part_e", f"{path}.part_i", f"{operand} part"),
            hexadecimal(32, f"{path}.code_i[0]", f"{operand} code, lane 0")]


def west_edge(tensor):
    return edge(f"{tensor}.west_0", "activation")


def north_edge(tensor):
    return [*edge(f"{tensor}.north_0", "weight"), decimal(7, f"{tensor}.north_0.tag_i", "weight's PE row")]


def without_names(rows):
    return [row for row in rows if not row.names]


def array_in_rtl(tensor):
    return Group("PE array in RTL", RED, [
        text(24, f"{tensor}.rtl_load", "weights entering"),
        text(24, f"{tensor}.rtl_stream", "columns entering"),
        decimal(32, f"{tensor}.rtl_lag_cycles", "lag, cycles"),
        decimal(48, f"{tensor}.rtl_cycles", "array RTL cycles"),
        decimal(32, f"{tensor}.lockstep_mismatches", "array mismatches")])


def rounding_lane(vector):
    lane = f"{vector}.lane_0"
    return Group("rounding unit in RTL, lane 0", YELLOW, [
        bit(f"{lane}.valid_i", "value valid"),
        fp32(f"{lane}.value_i", "value"),
        enumeration("format_e", f"{lane}.format_i", "to format"),
        bit(f"{lane}.stochastic_i", "stochastic"),
        bit(f"{lane}.valid_o", "code valid"),
        hexadecimal(32, f"{lane}.code_o", "code"),
        decimal(32, f"{vector}.lockstep_mismatches", "lane mismatches")])


# --- Views

def platform_view(choice):
    """One core with everything; several with some groups folded up."""
    several = len(choice.cores) > 1
    groups = []
    for core in choice.cores:
        nc = f"chip0.nc{core}"
        groups += of_core(core, [tensor_engine(nc), vector_engine(nc, several), queues(nc, several), *dma(nc),
                                 semaphores(nc, several), *memories(nc, choice.ports, several)])
    return folded_last(groups + [hbm(stack) for stack in choice.stacks])


def lockstep_view(choice):
    groups = []
    for core in choice.cores:
        nc = f"chip0.nc{core}"
        tensor = f"{nc}.tensor_engine"
        cell = pe_cell(f"{tensor}.tile_0_0", 0, 0)
        groups += of_core(core, [
            tensor_engine(nc), vector_engine(nc), queues(nc, True), *dma(nc, True), semaphores(nc, True),
            *memories(nc, choice.ports, True),
            array_in_rtl(tensor),
            Group("RTL, north edge", ORANGE, north_edge(tensor)),
            Group("RTL, west edge", ORANGE, west_edge(tensor)),
            Group("RTL, PE (0,0)", GREEN, [
                bit(f"{cell}.west_act_valid", "activation enters"),
                bit(f"{cell}.west_act_swap", "with a swap"),
                hexadecimal(25, f"{cell}.u_pe.active_q", "active weight"),
                fp32(f"{cell}.psum", "sum")]),
            Group("RTL, drain of columns 0 to 3", GREEN, [
                bit(f"{tensor}.drain_0.valid_o", "sums valid"),
                bit(f"{tensor}.drain_0.accumulate_i", "accumulate"),
                fp32(f"{tensor}.drain_0.value_o[0]", "sum of column 0")]),
            rounding_lane(f"{nc}.vector_engine")])
    return folded_last(groups)


def systolic_view(choice):
    groups = []
    for core in choice.cores:
        tensor = f"chip0.nc{core}.tensor_engine"
        tile = f"{tensor}.tile_0_0"
        cells = sorted(((r, c) for r in range(TILE) for c in range(TILE)), key=lambda cell: (sum(cell), cell))
        groups += of_core(core, [
            Group("tensor engine, as modelled", GREEN, [
                bit(f"{tensor}.load_busy", "load_busy"),
                bit(f"{tensor}.streaming", "streaming"),
                decimal(32, f"{tensor}.matmuls", "matmuls")]),
            Group("RTL, edges", ORANGE, [
                bit(f"{tile}.clk_i", "clock"),
                text(24, f"{tensor}.rtl_stream", "columns entering"),
                *without_names(west_edge(tensor)),
                text(24, f"{tensor}.rtl_load", "weights entering"),
                *without_names(north_edge(tensor))]),
            Group("RTL, wave front", YELLOW, [
                bit(f"{pe_cell(tile, r, c)}.act_valid", f"act_valid ({r},{c})") for r, c in cells]),
            Group("RTL, weight of PE (0,0)", RED, [
                bit(f"{pe_cell(tile, 0, 0)}.north_weight_valid", "weight enters"),
                decimal(7, f"{pe_cell(tile, 0, 0)}.north_weight_row", "PEs to pass"),
                bit(f"{pe_cell(tile, 0, 0)}.west_act_swap", "swap"),
                hexadecimal(25, f"{pe_cell(tile, 0, 0)}.u_pe.shadow_q", "shadow"),
                hexadecimal(25, f"{pe_cell(tile, 0, 0)}.u_pe.active_q", "active")]),
            Group("RTL, sums of column 0", GREEN, [
                fp32(f"{pe_cell(tile, r, 0)}.psum", f"psum ({r},0)") for r in range(TILE)]),
            Group("RTL, drain of columns 0 to 3", GREEN, [
                bit(f"{tensor}.drain_0.valid_o", "sums valid"),
                fp32(f"{tensor}.drain_0.value_o[0]", "sum of column 0")])])
    return groups


def mismatch_view(choice):
    """Around one PE, its column down to the drain, and the next column for comparison."""
    pe_row, pe_col = choice.pe
    row, col = pe_row % TILE, pe_col % TILE
    other = col - 1 if col > 0 else col + 1
    first = pe_col - col
    groups = []
    for core in choice.cores:
        nc = f"chip0.nc{core}"
        tensor = f"{nc}.tensor_engine"
        cell = pe_cell(f"{tensor}.tile_{pe_row // TILE}_{pe_col // TILE}", row, col)
        beside = pe_cell(f"{tensor}.tile_{pe_row // TILE}_{pe_col // TILE}", row, other)
        south = f"{tensor}.tile_{ARRAY_ROWS // TILE - 1}_{pe_col // TILE}"
        drain = f"{tensor}.drain_{pe_col // TILE}"
        groups += of_core(core, [
            tensor_engine(nc), array_in_rtl(tensor),
            Group("RTL, edges", ORANGE, [
                bit(f"{tensor}.west_0.valid_i", "activations valid"),
                bit(f"{tensor}.north_0.valid_i", "weights valid")]),
            Group(f"RTL, PE ({pe_row},{pe_col})", RED, [
                bit(f"{cell}.u_pe.clk_i", "clock"),
                bit(f"{cell}.west_act_valid", "activation valid"),
                hexadecimal(25, f"{cell}.west_act", "activation"),
                hexadecimal(25, f"{cell}.u_pe.weight", "weight"),
                fp32(f"{cell}.north_psum", "sum from the north"),
                fp32(f"{cell}.psum", "sum to the south")]),
            Group(f"RTL, PE ({pe_row},{first + other}) beside it", GREEN, [
                hexadecimal(25, f"{beside}.u_pe.weight", "its weight"),
                fp32(f"{beside}.north_psum", "its sum from the north"),
                fp32(f"{beside}.psum", "its sum to the south")]),
            Group("RTL, end of the columns", YELLOW, [
                bit(f"{pe_cell(south, TILE - 1, col)}.psum_valid", f"column {pe_col} valid"),
                *(fp32(f"{pe_cell(south, TILE - 1, c)}.psum", f"column {first + c}") for c in range(TILE))]),
            Group(f"RTL, drain of columns {first} to {first + TILE - 1}", RED, [
                bit(f"{drain}.valid_o", "sums valid"),
                *(fp32(f"{drain}.value_o[{c}]", f"sum of column {first + c}") for c in range(TILE)),
                hexadecimal(32, f"{drain}.value_o[{col}]", f"column {pe_col}, bits")])])
    return groups


def pair(flags, bits, rtl, model, signal, name, what=""):
    """The same output of RTL and model, one below the other."""
    return [Row(flags, bits, f"{rtl}.{signal}", f"{name}{what}, RTL"), Row(flags, bits, f"{model}.{signal}", f"{name}{what}, model")]


def cosim_pe_view(_):
    return [
        Group("stimulus", ORANGE, [
            decimal(32, "stimulus.block", "block"),
            text(48, "stimulus.group", "group"),
            text(16, "stimulus.act", "activation enters"),
            text(16, "stimulus.weight", "weight enters"),
            text(16, "stimulus.psum", "sum enters")]),
        Group("comparison", RED, [
            decimal(32, "compare.mismatches", "mismatches"),
            text(32, "compare.what", "what differs")]),
        Group("sum", GREEN, [
            *pair(BIT, 1, "pe", "model", "psum_valid_o", "valid"),
            *pair(REAL, 32, "pe", "model", "psum_o", "sum"),
            *pair(HEXADECIMAL, 32, "pe", "model", "psum_o", "sum", " bits")]),
        Group("inputs of the RTL", YELLOW, [
            bit("pe.clk_i", "clk_i"),
            bit("pe.rst_ni", "rst_ni"),
            bit("pe.enable_i", "enable_i"),
            bit("pe.act_valid_i", "act_valid_i"),
            bit("pe.act_swap_i", "act_swap_i"),
            hexadecimal(25, "pe.act_i", "act_i"),
            fp32("pe.psum_i", "psum_i"),
            bit("pe.weight_valid_i", "weight_valid_i"),
            decimal(7, "pe.weight_row_i", "weight_row_i"),
            hexadecimal(25, "pe.weight_i", "weight_i")]),
        Group("weights inside", ORANGE, [
            bit("pe.pe.take_weight", "take_weight"),
            hexadecimal(25, "pe.pe.shadow_q", "shadow"),
            bit("pe.pe.swap", "swap"),
            hexadecimal(25, "pe.pe.active_q", "active")]),
        Group("passed on", GREEN, [
            *pair(BIT, 1, "pe", "model", "act_valid_o", "activation"),
            *pair(HEXADECIMAL, 25, "pe", "model", "act_o", "activation", " bits"),
            *pair(BIT, 1, "pe", "model", "weight_valid_o", "weight"),
            *pair(DECIMAL, 7, "pe", "model", "weight_row_o", "weight", " row")]),
    ]


def cosim_rounding_view(_):
    groups = []
    for source in ("xorwow", "lfsr"):
        rtl, model = f"rounding_unit.{source}", f"model.{source}"
        inside = f"{rtl}.stochastic_rounding_unit.gen_lanes[0]"
        groups += [
            Group(f"{source}: stimulus", ORANGE, [
                decimal(32, f"stimulus.{source}.conversion", "conversion"),
                text(28, f"stimulus.{source}.value", "value"),
                text(8, f"stimulus.{source}.format", "to format"),
                text(12, f"stimulus.{source}.rounding", "rounding")]),
            Group(f"{source}: comparison", RED, [
                decimal(32, f"compare.{source}.mismatches", "mismatches"),
                text(32, f"compare.{source}.what", "what differs")]),
            Group(f"{source}: handshakes", YELLOW, [
                bit(f"{rtl}.clk_i", "clk_i"),
                bit(f"{rtl}.valid_i", "valid_i"),
                *pair(BIT, 1, rtl, model, "ready_o", "ready_o"),
                *pair(BIT, 1, rtl, model, "valid_o", "valid_o"),
                bit(f"{rtl}.ready_i", "ready_i")]),
            Group(f"{source}: code", GREEN, [
                *pair(HEXADECIMAL, 32, rtl, model, "code_o", "code"),
                hexadecimal(32, f"{inside}.word", "random word, RTL"),
                hexadecimal(32, f"{model}.random_word", "random word, model"),
                hexadecimal(192, f"{rtl}.state_o", "state, RTL"),
                hexadecimal(32, f"{model}.state[0]", "state, model")]),
        ]
    return groups


def cosim_array_view(_):
    bench = "pe_array"
    tile = f"{bench}.pe_array.u_tile"
    corner = "array.tile_0_0"
    return [
        Group("stimulus", ORANGE, [
            text(10, "stimulus.phase", "phase"),
            decimal(32, "stimulus.matmul", "matmul"),
            text(18, "stimulus.format", "format"),
            text(16, "stimulus.shape", "K x M x N")]),
        Group("comparison", RED, [
            decimal(32, "compare.mismatches", "mismatches"),
            text(48, "compare.what", "what differs")]),
        Group("handshakes: weights", ORANGE, [
            bit(f"{bench}.clk_i", "clk_i"),
            bit(f"{bench}.weight_valid_i", "weight_valid_i"),
            *pair(BIT, 1, bench, "model", "weight_ready_o", "weight_ready_o"),
            decimal(7, f"{bench}.weight_row_i", "weight_row_i"),
            enumeration("format_e", f"{bench}.weight_format_i", "weight_format_i")]),
        Group("handshakes: activations", YELLOW, [
            bit(f"{bench}.act_valid_i", "act_valid_i"),
            *pair(BIT, 1, bench, "model", "act_ready_o", "act_ready_o"),
            bit(f"{bench}.act_swap_i", "act_swap_i"),
            enumeration("format_e", f"{bench}.act_format_i", "act_format_i"),
            enumeration("part_e", f"{bench}.act_part_i", "act_part_i")]),
        Group("handshakes: wave front", YELLOW, [
            bit(f"{tile}.gen_rows[{i}].gen_cols[{i}].act_valid", f"act_valid ({i},{i})") for i in range(TILE)]),
        Group("handshakes: sums", GREEN, [
            *pair(BIT, 1, bench, "model", "psum_valid_o", "psum_valid_o"),
            bit(f"{bench}.psum_ready_i", "psum_ready_i"),
            bit(f"{bench}.accumulate_i", "accumulate_i"),
            *pair(REAL, 32, bench, "model", "psum_o[0]", "column 0")]),
        Group("matmuls: edges", ORANGE, [
            text(24, "array.rtl_load", "weights entering"),
            text(24, "array.rtl_stream", "columns entering"),
            bit("array.north_0.valid_i", "weights valid"),
            bit("array.west_0.valid_i", "activations valid")]),
        Group("matmuls: PEs and sums", GREEN, [
            bit(f"{corner}.clk_i", "clock"),
            bit(f"{pe_cell(corner, 0, 0)}.act_valid", "act_valid (0,0)"),
            bit(f"{pe_cell(corner, 3, 3)}.act_valid", "act_valid (3,3)"),
            fp32(f"{pe_cell(corner, 0, 0)}.psum", "psum (0,0)"),
            bit("array.drain_0.valid_o", "sums valid"),
            fp32("array.drain_0.value_o[0]", "sum of column 0")]),
    ]


@dataclasses.dataclass(frozen=True)
class View:
    groups: object        # of a Choice
    span: tuple           # from when to when
    choice: Choice = Choice()


VIEWS = {
    "trn1.2xlarge": View(platform_view, ("0us", "29us")),
    "trn2.3xlarge": View(platform_view, ("0us", "21us"), Choice(cores=(0, 1), ports=False)),
    "lockstep": View(lockstep_view, ("2us", "9us")),
    "systolic": View(systolic_view, ("6479.6ns", "6486.6ns")),
    "mismatch": View(mismatch_view, ("3936ns", "4036ns")),
    "cosim_pe": View(cosim_pe_view, ("424.6ns", "430.2ns")),
    "cosim_array": View(cosim_array_view, ("2919.4ns", "2929.4ns")),
    "cosim_rounding": View(cosim_rounding_view, ("8.4ns", "12.4ns")),
}


def make_gtkwave(name, groups, start, end, marks, names_directory):
    """The text of NAME.gtkw. The names of enumerations are in `names_directory`; a relative one is the view's own."""
    zoom = math.log2((end - start) / WAVE_WIDTH * 200)   # of the femtoseconds of 200 pixels
    times = [*marks, *[-1] * (MARKERS - len(marks))]
    lines = ["[*] SPDX-License-Identifier: Apache-2.0",
             f"[*] GTKWave view of azulejo's {name}, written by make_views.py",
             *([] if names_directory.is_absolute() else [f'[savefile] "{names_directory}/{name}.gtkw"']),
             f"[timestart] {start}",
             f"[size] {WIDTH} {HEIGHT}",
             "[pos] -1 -1",
             f"*-{zoom:.6f} -1 " + " ".join(str(time) for time in times),
             "[sst_width] 1",
             f"[signals_width] {NAMES_WIDTH}",
             "[sst_expanded] 0"]
    for group in groups:
        lines += [f"@{FOLDED_GROUP if group.folded else GROUP:x}", f"-{group.title}"]
        for row in group.rows:
            lines += [f"@{row.flags:x}"]
            if row.names:
                lines += [f"^1 {names_directory}/{row.names}.txt"]
            lines += [f"[color] {group.colour}", f"+{{{row.name}}} {row.gtkwave_path()}"]
            if row.flags == STEPS:
                lines += [f"@{STRETCH:x}", "-"]
        lines += [f"@{FOLDED_GROUP_END if group.folded else GROUP_END:x}", f"-{group.title}"]
    return "\n".join(lines + ["[pattern_trace] 1", "[pattern_trace] 0", ""])


def surfer_index(number):
    """How Surfer counts the items on the screen: hexadecimal, with the letters a to p as digits."""
    return "".join(chr(ord("a") + int(digit, 16)) for digit in f"{number:x}")


def make_surfer(name, groups):
    """The text of NAME.sucl: everything is added first, and then named, formatted and coloured item by item."""
    lines = ["# SPDX-License-Identifier: Apache-2.0",
             f"# Surfer commands that show azulejo's {name}, written by make_views.py from the list that {name}.gtkw is written from.",
             "# NOT TRIED: Debian 12 has no Surfer; written after the documentation of its commands. Use: surfer WAVE --command-file FILE"]
    items = []
    for group in groups:
        lines.append("divider_add " + re.sub(r"\W+", "_", group.title).strip("_"))
        items.append(None)
        for row in group.rows:
            lines.append(f"variable_add {row.surfer_path()}")
            items.append((row, group.colour))
    for number, item in enumerate(items):
        if item is None:
            continue
        row, colour = item
        lines += [f"item_focus {surfer_index(number)}_",
                  f"item_rename {row.name}",
                  f"item_set_color {SURFER_COLOURS[colour]}"]
        if row.flags in SURFER_FORMATS:
            lines.append(f"item_set_format {SURFER_FORMATS[row.flags]}")
    return "\n".join(lines + ["item_unfocus", "zoom_fit", ""])


def write_all(directory):
    for name, view in VIEWS.items():
        groups = view.groups(view.choice)
        start, end = (femtoseconds(time) for time in view.span)
        (directory / f"{name}.gtkw").write_text(make_gtkwave(name, groups, start, end, [], pathlib.PurePath("waves")), encoding="ascii")
        (directory / f"{name}.sucl").write_text(make_surfer(name, groups), encoding="ascii")
    for name in ENUMERATIONS:
        (directory / f"{name}.txt").write_text(enumeration_text(name), encoding="ascii")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("view", nargs="?", choices=sorted(VIEWS))
    parser.add_argument("--directory", type=pathlib.Path, default=HERE)
    parser.add_argument("--from", dest="start", type=femtoseconds, metavar="TIME")
    parser.add_argument("--to", dest="end", type=femtoseconds, metavar="TIME")
    parser.add_argument("--mark", type=femtoseconds, metavar="TIME", action="append", default=[])
    parser.add_argument("--cores", type=numbers, metavar="N,...")
    parser.add_argument("--stacks", type=numbers, metavar="N,...", help="HBM stacks")
    parser.add_argument("--pe", type=numbers, metavar="ROW,COLUMN", help="of the view mismatch")
    parser.add_argument("--out", type=pathlib.Path, metavar="FILE")
    arguments = parser.parse_args()
    changes = {key: value for key in ("cores", "stacks", "pe") if (value := getattr(arguments, key)) is not None}
    if arguments.view is None:
        if changes or arguments.mark or arguments.start is not None or arguments.end is not None or arguments.out:
            parser.error("these options need a view")
        write_all(arguments.directory)
        return 0
    view = VIEWS[arguments.view]
    start, end = (femtoseconds(time) for time in view.span)
    start = start if arguments.start is None else arguments.start
    end = end if arguments.end is None else arguments.end
    if end <= start:
        parser.error("--to must be later than --from")
    if len(arguments.mark) > MARKERS:
        parser.error(f"GTKWave has {MARKERS} markers")
    if "pe" in changes and len(changes["pe"]) != 2:
        parser.error("--pe is a row and a column")
    groups = view.groups(dataclasses.replace(view.choice, **changes))
    if arguments.out and arguments.out.suffix == ".sucl":
        made = make_surfer(arguments.view, groups)
    else:
        made = make_gtkwave(arguments.view, groups, start, end, arguments.mark, HERE)
    if arguments.out:
        arguments.out.write_text(made, encoding="utf-8")
    else:
        sys.stdout.write(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
