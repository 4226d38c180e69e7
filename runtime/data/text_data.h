/* Text as tokens. */
#ifndef PLIM_RUNTIME_DATA_TEXT_DATA_H
#define PLIM_RUNTIME_DATA_TEXT_DATA_H

#include "runtime/data/dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Read a file of tokens of `bytes` bytes each, 1 or 2, into both splits of *dataset, whose context and classes are set.
 * The splits share one array, which is that of the training split. PLIM_EDATA: there are too few tokens for a sequence,
 * half a token, or one that is not below the vocabulary. Else the errors of plim_file_read. */
PLIM_MUST_USE plim_status plim_text_data_load(plim_dataset *dataset, const char *path, int bytes);

/* Write sequence `index` of a split, its tokens shifted by `shift`; what lies after the text's end gets token 0 and
 * label -1.
 *   token, label  [context]  out */
void plim_text_data_sequence(const plim_dataset *dataset, const plim_split *split, int64_t index, int64_t shift,
                             int32_t *token, int32_t *label);

/* Tokens that all sequences of the training split can be shifted by and stay in the text; less than a context. */
int64_t plim_text_data_shifts(const plim_dataset *dataset);

#ifdef __cplusplus
}
#endif
#endif
