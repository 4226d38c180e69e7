/* The reader: a thread that prepares the next batch while the device computes this one. */
#ifndef PLIM_RUNTIME_DATA_READER_H
#define PLIM_RUNTIME_DATA_READER_H

#include "runtime/data/sampler.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_reader plim_reader;

typedef enum plim_reader_part { PLIM_READ_TRAIN, PLIM_READ_TEST } plim_reader_part;

/* Start the thread. It writes batches to image [batch][H][W][C] and label [batch] (the staging buffers of the arena)
 * and to nothing else; it allocates nothing. PLIM_ENOMEM when the thread cannot be started. */
PLIM_MUST_USE plim_status plim_reader_open(plim_context *ctx, plim_sampler *sampler, uint8_t *image, int32_t *label,
                                           plim_reader **out);

/* Stop after the batch in hand and join; NULL is legal. */
void plim_reader_close(plim_reader *reader);

/* Ask for a batch by number (plim_sampler_train, plim_sampler_test). One request at a time: waits for the former one
 * first, whose batch is then overwritten. */
void plim_reader_request(plim_reader *reader, plim_reader_part part, int64_t number);

/* Batches that are asked for from now on go there. Waits for the former request. */
void plim_reader_set_target(plim_reader *reader, uint8_t *image, int32_t *label);

/* Block until the batch asked for last lies in image and label; it stays there until the next request. Returns at
 * once when it is there already. PLIM_EIO, PLIM_EDATA: a program's own source has none (plim_dataset_from_source). */
PLIM_MUST_USE plim_status plim_reader_wait(plim_reader *reader);

#ifdef __cplusplus
}
#endif
#endif
