/* cuDNN's backend API for the fake GPU (tests/support/fake_cuda.h), stricter than the library: descriptors know
 * their kind, each attribute its type and number of elements, what is finalized cannot be set and what is not cannot be
 * asked or referred to. Whatever breaks a rule is refused and remembered. Plans compute convolutions and causal
 * attention in double precision on the GPU's memory. */
#ifndef PLIM_TESTS_SUPPORT_FAKE_CUDNN_H
#define PLIM_TESTS_SUPPORT_FAKE_CUDNN_H

#include "kernels/cuda/cudnn_api.h"

/* An engine and a configuration of it are answers of the heuristics, or made by hand of an operation graph, an index
 * and knob choices; those that the table below does not have are refused when they are finalized.
 *
 * Its engines for every problem, as the modes of the heuristics name them:
 *   A        5 (tensor cores), 1 (two knobs, 1 MiB), 7 (not deterministic), 1 (other knobs, 1 MiB), 9 (no plan),
 *            3 (64 KiB), 12 (lowers inputs), 13 (lowers sums), 1 (as before), 21, 22, 23, 24 (1 MiB each)
 *   instant  1, 3 (both as before)
 *   fallback 40 (no workspace) */
enum { FAKE_CUDNN_VERSION = 92800 };

/* The table; several devices may open it at once. */
plim_cudnn_api fake_cudnn_api(void);

/* Remember nothing: no call, no broken rule, no open handle. */
void fake_cudnn_forget(void);

/* The first rule that was broken, "" when none was. */
const char *fake_cudnn_misuse(void);

/* So far: calls of every kind, execution plans that were finalized, and of those: the ones open now, the ones that
 * never ran, and the ones that were finalized while an equal one was open. */
typedef struct fake_cudnn_counts {
  int64_t calls, plans, plans_open, plans_idle, plans_again;
} fake_cudnn_counts;
fake_cudnn_counts fake_cudnn_count(void);

#endif
