/* The reader: a thread that prepares the next batch while the device computes this one. */
#ifndef PLIM_RUNTIME_DATA_READER_H
#define PLIM_RUNTIME_DATA_READER_H

#include "runtime/data/sampler.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_reader plim_reader;

typedef enum plim_reader_part { PLIM_READ_TRAIN, PLIM_READ_TEST } plim_reader_part;

/* Start the thread. The sampler and the destination must outlive the reader.
 *   image  [batch][H][W][C], or tokens i32 [batch][context]  out  the arena's staging buffer
 *   label  [batch], or [batch][context]                      out  likewise
 * The thread writes nothing else and allocates nothing. PLIM_ENOMEM when the thread cannot be started. */
PLIM_MUST_USE plim_status plim_reader_open(plim_context *ctx, plim_sampler *sampler, uint8_t *image, int32_t *label,
                                           plim_reader **out);

/* End the thread, after the batch that it is writing, and free the reader. NULL is legal. */
void plim_reader_close(plim_reader *reader);

/* Request a batch by number (plim_sampler_train, plim_sampler_test), and return. Only one request is served at a time:
 * the call waits for the previous one, whose batch the new one overwrites. */
void plim_reader_request(plim_reader *reader, plim_reader_part part, int64_t number);

/* Change the memory that later requests write to. Waits for the previous request. */
void plim_reader_set_target(plim_reader *reader, uint8_t *image, int32_t *label);

/* Wait until the batch of the last request is written; it stays until the next request. PLIM_EIO, PLIM_EDATA: the
 * program's own source failed (plim_dataset_from_source). */
PLIM_MUST_USE plim_status plim_reader_wait(plim_reader *reader);

/* Wait until the thread writes nothing. The next plim_reader_wait says whether the batch of the last request is there.
 */
void plim_reader_settle(plim_reader *reader);

#ifdef __cplusplus
}
#endif
#endif
