// SPDX-License-Identifier: Apache-2.0
// What the host offers, measured in the same run as what it is compared with.
#pragma once

namespace azulejo::bench {

// CPU time of this process: other work on the host does not count.
double cpu_seconds();

// FP32 operations per CPU second of one core (2 per FMA), from independent FMAs on registers; about a millisecond.
double host_peak_flops();

}  // namespace azulejo::bench
