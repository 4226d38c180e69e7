/* Gets batches from a program's own data source, and checks them. */
#ifndef PLIM_RUNTIME_DATA_DATA_SOURCE_H
#define PLIM_RUNTIME_DATA_DATA_SOURCE_H

#include "runtime/data/dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The reason why a source gave no batch. */
typedef struct plim_data_fault {
  plim_status status; /* PLIM_OK: there is a batch */
  char sentence[192];
} plim_data_fault;

/* Ask the data set's source for a batch, and check its labels and tokens.
 *   batch  in   which batch, and the memory that it is written to
 *   fault  out  PLIM_EIO: the source failed; PLIM_EDATA: a label or token is out of range
 * Uses no context, so any thread that owns the batch's memory may call it. O(batch). */
void plim_data_source_fill(const plim_dataset *dataset, const plim_data_batch *batch, plim_data_fault *fault);

#ifdef __cplusplus
}
#endif
#endif
