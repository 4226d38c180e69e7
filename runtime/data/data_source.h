/* Batches of a program's own data. */
#ifndef PLIM_RUNTIME_DATA_DATA_SOURCE_H
#define PLIM_RUNTIME_DATA_DATA_SOURCE_H

#include "runtime/data/dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Why there is no batch. */
typedef struct plim_data_fault {
  plim_status status; /* PLIM_OK: there is one */
  char sentence[192];
} plim_data_fault;

/* Ask the data set's source for a batch, and check its labels and tokens. It knows no context, so any thread may call
 * it that owns what is written. *fault out. O(batch). */
void plim_data_source_fill(const plim_dataset *dataset, const plim_data_batch *batch, plim_data_fault *fault);

#ifdef __cplusplus
}
#endif
#endif
