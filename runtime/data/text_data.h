/* Loads a text as tokens, and writes its sequences. Functions run on the thread of the context. */
#ifndef PLIM_RUNTIME_DATA_TEXT_DATA_H
#define PLIM_RUNTIME_DATA_TEXT_DATA_H

#include "runtime/data/dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Read a file of tokens of `bytes` bytes each, 1 or 2, into both splits of *dataset, whose context and classes are set.
 * The splits share one array, which the training split owns. PLIM_EDATA: there are too few tokens for a sequence, half
 * a token, or a token outside the vocabulary. Other errors are those of plim_file_read. */
PLIM_MUST_USE plim_status plim_text_data_load(plim_dataset *dataset, const char *path, int bytes);

/* Write sequence `index` of a split, shifted by `shift` tokens. Places after the text's end get token 0 and label -1.
 *   token, label  [context]  out */
void plim_text_data_sequence(const plim_dataset *dataset, const plim_split *split, int64_t index, int64_t shift,
                             int32_t *token, int32_t *label);

/* The most tokens by which all sequences of the training split can be shifted within the text; less than a context. */
int64_t plim_text_data_shifts(const plim_dataset *dataset);

#ifdef __cplusplus
}
#endif
#endif
