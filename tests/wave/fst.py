# SPDX-License-Identifier: Apache-2.0
"""Two readers of FST files (GTKWave's compressed format), for tests.

`read_with_gtkwave` converts with GTKWave's fst2vcd and reads the result strictly. `read_fst` shares no code with it: it decodes
the blocks itself, as GTKWave's fstapi.c 1.3 writes them, and everything irregular is an error. An FST is a row of blocks, each a
type (1 byte), a length (8 bytes, itself included) and that many bytes; numbers are big-endian, varints little-endian groups of 7.

Run as `fst.py FILE` it prints a summary.
"""
import dataclasses
import itertools
import pathlib
import struct
import subprocess
import tempfile
import zlib

import vcd
from vcd import VcdError, Variable, Wave, read_vcd

HEADER, BLACKOUT, GEOMETRY, HIERARCHY_GZIP, HIERARCHY_LZ4, HIERARCHY_LZ4_TWICE, CHANGES, UNFINISHED = 0, 2, 3, 4, 6, 7, 8, 255
HIERARCHIES = (HIERARCHY_GZIP, HIERARCHY_LZ4, HIERARCHY_LZ4_TWICE)
SCOPE, UPSCOPE, ATTRIBUTE, ATTRIBUTE_END = 254, 255, 252, 253   # tags of the hierarchy; below 30: a variable of that type
VARIABLE_TYPES = ("event integer parameter real real_parameter reg supply0 supply1 time tri triand trior trireg tri0 tri1 wand wire "
                  "wor port array realtime string bit logic int shortint longint byte enum shortreal").split()
UNITS = {0: "s", -3: "ms", -6: "us", -9: "ns", -12: "ps", -15: "fs"}


def read_with_gtkwave(path):
    """The Wave in an FST file as GTKWave reads it."""
    with tempfile.TemporaryDirectory(prefix="azulejo_fst_") as directory:
        converted = pathlib.Path(directory) / "converted.vcd"
        done = subprocess.run(["fst2vcd", "-f", path, "-o", converted], capture_output=True, text=True, timeout=300)
        if done.returncode != 0 or done.stdout or done.stderr:
            raise VcdError(f"{path}: fst2vcd, status {done.returncode}: {done.stdout}{done.stderr}")
        try:
            return read_vcd(converted)
        except VcdError as error:
            if not str(error).endswith("$dumpvars without $end"):
                raise
        with open(converted, "a", encoding="ascii") as file:   # fst2vcd forgets it where there is one time only
            file.write("$end\n")
        return read_vcd(converted)


class _Bytes:
    """What is left to read of a piece of a file."""

    def __init__(self, data, what):
        self.data, self.what, self.at = data, what, 0

    def fail(self, problem):
        raise VcdError(f"{self.what}: {problem}")

    def left(self):
        return len(self.data) - self.at

    def take(self, count):
        if count > self.left():
            self.fail(f"{count} bytes expected, {self.left()} left")
        self.at += count
        return self.data[self.at - count:self.at]

    def byte(self):
        return self.take(1)[0]

    def number(self):
        return int.from_bytes(self.take(8), "big")

    def varint(self, signed=False):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value - (1 << shift) if signed and byte & 0x40 else value

    def string(self):
        end = self.data.find(b"\0", self.at)
        if end < 0:
            self.fail("a string without its end")
        try:
            return self.take(end + 1 - self.at)[:-1].decode("ascii")
        except UnicodeDecodeError as error:
            self.fail(error)

    def end(self):
        if self.left():
            self.fail(f"{self.left()} bytes too many")


def unpack_lz4(data, size):
    """Decompresses one LZ4 block: runs of literals, each followed by a copy from at most 64 KiB back."""
    source, out = _Bytes(data, "LZ4 data"), bytearray()

    def length(nibble):
        if nibble == 15:
            while (more := source.byte()) == 255:
                nibble += 255
            nibble += more
        return nibble

    while True:
        token = source.byte()
        out += source.take(length(token >> 4))
        if not source.left():
            break
        distance = int.from_bytes(source.take(2), "little")
        count = length(token & 15) + 4
        if not 0 < distance <= len(out):
            source.fail(f"a copy from {distance} bytes back, where {len(out)} are")
        start = len(out) - distance
        pattern = bytes(out[start:start + count])
        out += (pattern * (count // len(pattern) + 1))[:count]
    if len(out) != size:
        source.fail(f"{len(out)} bytes, {size} expected")
    return bytes(out)


def unpack_zlib(data, size):
    """Data that is stored as it is when compression did not make it smaller."""
    if len(data) == size:
        return data
    try:
        unpacked = zlib.decompress(data, zlib.MAX_WBITS | 32)   # with the header of zlib or of gzip
    except zlib.error as error:
        raise VcdError(f"zlib data: {error}") from None
    if len(unpacked) != size:
        raise VcdError(f"zlib data: {len(unpacked)} bytes, {size} expected")
    return unpacked


@dataclasses.dataclass
class Header:
    start: int
    end: int
    scopes: int
    variables: int
    handles: int       # signals; more variables than that are aliases
    sections: int      # blocks of value changes
    exponent: int      # of ten: the time unit in seconds
    version: str
    date: str
    file_type: int
    time_zero: int


def split_blocks(data):
    """[(type, contents)] of an FST file, which they fill to its last byte."""
    file, blocks = _Bytes(data, "the file"), []
    while file.left():
        kind, length = file.byte(), file.number()
        if length < 8:
            file.fail(f"a block of {length} bytes")
        blocks.append((kind, file.take(length - 8)))
    return blocks


def parse_header(data):
    header = _Bytes(data, "the header")
    start, end = header.number(), header.number()
    if struct.unpack("<d", header.take(8))[0] != 2.7182818284590452354:
        header.fail("no test of the byte order")
    header.number()   # memory that the writer used
    counts = [header.number() for _ in range(4)]
    exponent = int.from_bytes(header.take(1), "big", signed=True)
    version, date = (header.take(size).rstrip(b"\0").decode("ascii").strip() for size in (128, 119))
    result = Header(start, end, *counts, exponent, version, date, header.byte(), header.number())
    header.end()
    if start > end:
        header.fail("ends before it starts")
    return result


def parse_hierarchy(data):
    """(number of scopes, [(path, Variable, handle)])."""
    tree, scopes, variables = _Bytes(data, "the hierarchy"), [], []
    total = handles = 0
    while tree.left():
        tag = tree.byte()
        if tag == SCOPE:
            total += 1
            tree.byte()   # its type
            scopes.append(tree.string())
            tree.string()
        elif tag == UPSCOPE:
            if not scopes:
                tree.fail("a scope ends that has not begun")
            scopes.pop()
        elif tag == ATTRIBUTE:
            tree.take(2)
            tree.string()
            tree.varint()
        elif tag < len(VARIABLE_TYPES):
            tree.byte()   # its direction
            reference, size, handle = tree.string(), tree.varint(), tree.varint()
            if not scopes:
                tree.fail(f"{reference} is outside every scope")
            if handle == 0:
                handles += 1
                handle = handles
            elif handle > handles:
                tree.fail(f"{reference} is an alias of handle {handle}, which comes later")
            kind = VARIABLE_TYPES[tag]
            if kind in vcd.REAL_TYPES:
                size *= 8   # the hierarchy has bytes
            try:
                name, bits = vcd.parse_reference(reference.split(), size)
            except ValueError as error:
                tree.fail(error)
            variables.append((".".join(scopes + [name]), Variable(kind, size, bits), handle))
        elif tag != ATTRIBUTE_END:
            tree.fail(f"tag {tag}")
    if scopes:
        tree.fail(f"{'.'.join(scopes)} does not end")
    return total, handles, variables


def unpack_hierarchy(kind, data):
    data = _Bytes(data, "the hierarchy's block")
    size = data.number()
    if kind == HIERARCHY_GZIP:
        return unpack_zlib(data.take(data.left()), size)
    if kind == HIERARCHY_LZ4_TWICE:
        once = data.varint()
        return unpack_lz4(unpack_lz4(data.take(data.left()), once), size)
    return unpack_lz4(data.take(data.left()), size)


def value_of(bits):
    """A value as vcd.Variable has it, of characters of 01xz."""
    if bits.strip(b"01xzXZ"):
        raise VcdError(f"value {bits!r}")
    return bits.decode("ascii").lower() if bits.strip(b"01") else int(bits, 2)


def decode_chain(chain, size, real):
    """Yields (steps of the time table since the last change, value)."""
    while chain.left():
        head = chain.varint()
        if size == 1 and not real:
            yield (head >> 4, "xzhuwl-?"[head >> 1 & 7]) if head & 1 else (head >> 2, head >> 1 & 1)
        elif real:
            data = chain.take(8) if head & 1 else None
            if data is None:
                chain.fail("a real number that is packed as bits")
            yield head >> 1, struct.unpack("<d", data)[0]
        elif head & 1:
            yield head >> 1, value_of(chain.take(size))
        else:
            packed = int.from_bytes(chain.take((size + 7) // 8), "big")
            spare = -size % 8
            if packed & ((1 << spare) - 1):
                chain.fail("bits behind the last one")
            yield head >> 1, packed >> spare


class _Changes:
    """One block of value changes: the values of all signals at its start, a table of times, and a chain of changes per signal."""

    def __init__(self, data, sizes):
        block = _Bytes(data, "a block of changes")
        self.fail = block.fail
        self.begin, self.end = block.number(), block.number()
        block.number()   # memory that a reader needs
        size, packed, self.frame_handles = block.varint(), block.varint(), block.varint()
        self.frame = unpack_zlib(block.take(packed), size)
        if size != sum(sizes[:self.frame_handles]):
            self.fail(f"values of {size} bytes for signals of {sum(sizes[:self.frame_handles])}")
        self.handles = block.varint()
        chains_at = block.at
        self.packing = block.byte()
        *_, size, packed, count = struct.unpack(">3Q", data[-24:])
        end = len(data) - 24 - packed
        times = _Bytes(unpack_zlib(data[end:end + packed], size), "a table of times")
        self.times = list(itertools.accumulate(times.varint() for _ in range(count)))
        times.end()
        index_at = end - 8 - int.from_bytes(data[end - 8:end], "big")
        if not chains_at < index_at <= end - 8:
            self.fail("its index is outside")
        self.chains = _Bytes(data[chains_at:index_at], "chains of changes")
        self.positions = self.index(_Bytes(data[index_at:end - 8], "an index of changes"))
        if len(self.positions) > len(sizes) or self.handles != len(self.positions):
            self.fail(f"{len(self.positions)} chains of {self.handles} signals, {len(sizes)} are declared")

    def index(self, index):
        """Where each signal's chain is: None, or (begin, end) within `chains`."""
        starts, position, alias = [], 0, 0
        while index.left():
            if not index.data[index.at] & 1:
                starts += [None] * (index.varint() >> 1)
                continue
            value = index.varint(signed=True) >> 1
            if value > 0:
                position += value
                starts.append(position)
                continue
            alias = value or alias
            if not 0 < -alias <= len(starts) or starts[-alias - 1] is None:
                index.fail(f"signal {len(starts) + 1} changes as signal {-alias}")
            starts.append(starts[-alias - 1])
        ends = sorted({start for start in starts if start is not None}) + [len(self.chains.data)]
        following = dict(zip(ends, ends[1:]))
        return [None if start is None else (start, following[start]) for start in starts]

    def chain(self, begin, end):
        chain = _Bytes(self.chains.data[begin:end], "a chain of changes")
        size = chain.varint()
        data = chain.take(chain.left())
        if size == 0:
            return _Bytes(data, "a chain of changes")
        if self.packing == ord("4"):
            return _Bytes(unpack_lz4(data, size), "a chain of changes")
        if self.packing in b"Z!":
            return _Bytes(unpack_zlib(data, size) if len(data) != size else zlib.decompress(data), "a chain of changes")
        self.fail(f"packing {chr(self.packing)!r}")

    def add_to(self, signals, first):
        """Appends this block's changes to `signals`; each is as long as the block's frame says it was at its start."""
        at = 0
        for signal in signals[:self.frame_handles]:
            size = 8 if signal.type in vcd.REAL_TYPES else signal.size
            value = self.frame[at:at + size]
            value = struct.unpack("<d", value)[0] if signal.type in vcd.REAL_TYPES else value_of(value)
            at += size
            if not first and signal.values and value != signal.values[-1]:
                self.fail(f"a signal starts as {value}, and was {signal.values[-1]}")
            if first and self.times[:1] != [self.begin]:
                signal.times.append(self.begin)
                signal.values.append(value)
        for signal, position in zip(signals, self.positions):
            if position is None:
                continue
            step = 0
            for delta, value in decode_chain(self.chain(*position), signal.size, signal.type in vcd.REAL_TYPES):
                step += delta
                if step >= len(self.times):
                    self.fail(f"a change at time {step} of {len(self.times)}")
                signal.times.append(self.times[step])
                signal.values.append(value)


def read_header(path):
    return parse_header(split_blocks(pathlib.Path(path).read_bytes())[0][1])


def read_fst(path):
    """The Wave in an FST file, read without GTKWave."""
    data = pathlib.Path(path).read_bytes()
    try:
        return _read(split_blocks(data))
    except VcdError as error:
        raise VcdError(f"{path}: {error}") from None


def _read(blocks):
    if not blocks or blocks[0][0] != HEADER:
        raise VcdError("no header")
    header = parse_header(blocks[0][1])
    kinds = [kind for kind, _ in blocks]
    for kind in kinds[1:]:
        if kind not in (CHANGES, GEOMETRY, BLACKOUT) + HIERARCHIES:
            raise VcdError("a block that is not finished" if kind == UNFINISHED else f"a block of type {kind}")
    if kinds.count(GEOMETRY) != 1 or sum(kind in HIERARCHIES for kind in kinds) != 1:
        raise VcdError("not one geometry and one hierarchy")
    if kinds.count(CHANGES) != header.sections:
        raise VcdError(f"{kinds.count(CHANGES)} blocks of changes, the header says {header.sections}")
    if header.exponent not in UNITS:
        raise VcdError(f"time unit 10^{header.exponent} s")

    scopes, handles, variables = parse_hierarchy(next(unpack_hierarchy(kind, data) for kind, data in blocks if kind in HIERARCHIES))
    if (scopes, len(variables), handles) != (header.scopes, header.variables, header.handles):
        raise VcdError(f"{scopes} scopes, {len(variables)} variables of {handles} signals; the header says {header.scopes}, "
                       f"{header.variables} and {header.handles}")

    geometry = _Bytes(next(data for kind, data in blocks if kind == GEOMETRY), "the geometry")
    size, count = geometry.number(), geometry.number()
    geometry = _Bytes(unpack_zlib(geometry.take(geometry.left()), size), "the geometry")
    sizes = [geometry.varint() for _ in range(count)]
    geometry.end()

    wave = Wave("1" + UNITS[header.exponent])
    signals = []
    for path, variable, handle in variables:
        if path in wave.variables:
            raise VcdError(f"{path} is declared twice")
        if handle > len(signals):
            signals.append(variable)
        first = signals[handle - 1]
        if first.size != variable.size:
            raise VcdError(f"{path}: {variable.size} bits, and {first.size} as an alias")
        variable.times, variable.values = first.times, first.values
        wave.variables[path] = variable
    expected = [0 if signal.type in vcd.REAL_TYPES else signal.size for signal in signals]
    if sizes != expected:
        raise VcdError("the geometry has other sizes than the hierarchy")
    sizes = [size or 8 for size in sizes]

    end = None
    for kind, data in blocks:
        if kind != CHANGES:
            continue
        changes = _Changes(data, sizes)
        changes.add_to(signals, first=end is None)
        if end is None and changes.begin != header.start:
            raise VcdError(f"starts at {changes.begin}, the header says {header.start}")
        times = ([] if end is None else [end]) + [changes.begin, *changes.times, changes.end]
        if any(before > after for before, after in zip(times, times[1:])) or len(set(changes.times)) != len(changes.times):
            raise VcdError("times do not grow")
        if wave.start is None:
            wave.start = changes.begin
        wave.end = end = changes.end
    if end is not None and end != header.end:
        raise VcdError(f"ends at {end}, the header says {header.end}")
    return wave


if __name__ == "__main__":
    vcd.main(read_fst)
