# SPDX-License-Identifier: Apache-2.0
"""The layering of ARCHITECTURE.md, read from the sources' own includes."""
import os
import re
import sys
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
INCLUDE = re.compile(r'^\s*#include\s+(?:"([^"]+)"|<([^>]+)>)', re.M)

NUMERICS_ISA = {"tlm/numerics", "tlm/isa"}
COMMON = NUMERICS_ISA | {"tlm/common"}
ENGINES = {"tlm/memory", "tlm/tensor_engine", "tlm/vector_engine", "tlm/sync_engine", "tlm/dma"}
PARTS = COMMON | ENGINES | {"tlm/rounding", "tlm/hbm", "tlm/host", "tlm/wave"}   # everything below neuron_core
ALLOWED = {
    "tlm/numerics": set(),
    "tlm/isa": {"tlm/numerics"},
    "tlm/common": NUMERICS_ISA,
    "tlm/memory": COMMON,
    "tlm/tensor_engine": COMMON,
    "tlm/rounding": COMMON,   # the unit at the output of an engine, which contains it
    "tlm/vector_engine": COMMON | {"tlm/rounding"},
    "tlm/sync_engine": COMMON,
    "tlm/dma": COMMON,
    "tlm/hbm": COMMON,
    "tlm/host": COMMON,
    "tlm/wave": COMMON,
    "tlm/cosim": PARTS,
    "tlm/cosim/units": {"tlm/cosim"},
    "tlm/neuron_core": COMMON | ENGINES,
    "tlm/chiplet": COMMON | ENGINES | {"tlm/neuron_core", "tlm/hbm"},
    "sw/nki": NUMERICS_ISA,
    "sw/kernels": NUMERICS_ISA | {"sw/nki"},
    "sw/golden": set(),
    "sw/runtime": COMMON | {"sw/nki"},
    "platforms/config": COMMON | ENGINES | {"tlm/hbm", "tlm/neuron_core", "tlm/chiplet"},
    "platforms/builder": PARTS | {"tlm/cosim", "tlm/neuron_core", "tlm/chiplet", "platforms/config"},
    "platforms/cli": None,   # everything
}
WITHOUT_SYSTEMC = {"tlm/numerics", "tlm/isa", "sw/nki", "sw/kernels", "sw/golden", "platforms/config"}


def sources():
    for top in ("tlm", "sw", "platforms"):
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            for name in names:
                if name.endswith((".h", ".cpp")):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as file:
                        yield os.path.relpath(folder, ROOT), os.path.relpath(path, ROOT), file.read()


class IncludeGraph(unittest.TestCase):
    def test_every_directory_has_a_place_in_the_graph(self):
        self.assertEqual({directory for directory, _, _ in sources()} - set(ALLOWED), set())

    def test_includes_follow_the_layers(self):
        wrong = []
        for directory, path, text in sources():
            allowed = ALLOWED[directory]
            for own, _ in INCLUDE.findall(text):
                target = os.path.dirname(own)
                if own and allowed is not None and target != directory and target not in allowed:
                    wrong.append(f"{path} includes {own}")
        self.assertEqual(wrong, [])

    def test_the_lower_layers_never_see_systemc(self):
        wrong = [f"{path} includes <{system}>" for directory, path, text in sources() if directory in WITHOUT_SYSTEMC
                 for _, system in INCLUDE.findall(text) if system in ("systemc", "tlm") or system.startswith("tlm_utils")]
        self.assertEqual(wrong, [])

    def test_only_the_wave_writer_and_the_verilated_units_see_verilator(self):
        wrong = [f"{path} includes {own or system}" for directory, path, text in sources()
                 for own, system in INCLUDE.findall(text) if (own or system).startswith(("verilated", "V"))
                 and not path.startswith("tlm/cosim/units/") and path != "tlm/cosim/rtl_library.cpp"
                 and (directory != "tlm/wave" or path.endswith(".h"))]
        self.assertEqual(wrong, [])

    def test_libraries_neither_print_nor_exit(self):
        pattern = re.compile(r"\b(?:std::cout|std::cerr|std::puts|std::fputs|std::exit|getenv)\b|\bf?printf\(")
        wrong = [path for directory, path, text in sources() if directory != "platforms/cli" and pattern.search(text)]
        self.assertEqual(wrong, [])

    def test_every_source_names_its_licence(self):
        wrong = [path for _, path, text in sources() if not text.startswith("// SPDX-License-Identifier: Apache-2.0\n")]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
