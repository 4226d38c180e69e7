/* The oneDNN family: convolutions, matrix products and softmax as kernel types. Every call of the library lies behind
 * this header; where the library is not found at build time, kernels/absent/absent_onednn.c answers instead. */
#ifndef PLIM_KERNELS_CPU_ONEDNN_H
#define PLIM_KERNELS_CPU_ONEDNN_H

#include "kernels/isa.h"
#include "kernels/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Let the library use at most the instructions of `isa`. The cap holds for the process and must come before the first
 * use of the library: PLIM_KERNEL_UNSUPPORTED when another cap is already in force. Asking for the cap in force again
 * is legal. */
int plim_onednn_set_isa(plim_isa isa);

/* The family's types, a static table of *count rows, in the order in which they are to be listed. */
const plim_kernel_type *plim_onednn_types(int *count);

/* "onednn 2.6.3", or "none". */
const char *plim_onednn_version(void);

#ifdef __cplusplus
}
#endif
#endif
