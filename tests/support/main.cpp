// SPDX-License-Identifier: Apache-2.0
// main() of test programs that may elaborate a SystemC hierarchy: one process per TEST, since SystemC elaborates once.
#include <gtest/gtest.h>

#include <cstdlib>
#include <systemc>

int sc_main(int, char**) { return RUN_ALL_TESTS(); }

int main(int argc, char** argv) {
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  testing::InitGoogleTest(&argc, argv);
  return sc_core::sc_elab_and_sim(argc, argv);
}
