// SPDX-License-Identifier: Apache-2.0
// main() of test programs that may elaborate a SystemC hierarchy: one process per TEST, since SystemC elaborates once.
#include <gtest/gtest.h>

#include <cstdlib>
#include <systemc>

#include "tests/support/test_wave.h"

int sc_main(int, char** argv) {
  const int status = RUN_ALL_TESTS();
  if (status != 0) azulejo::test::leave_waves(argv[0]);
  return status;
}

int main(int argc, char** argv) {
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  testing::InitGoogleTest(&argc, argv);
  azulejo::test::read_wave_options(argc, argv);
  return sc_core::sc_elab_and_sim(argc, argv);
}
