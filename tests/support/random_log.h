/* Seeded random logs of the kinds that loggers write: networks with branches, long skips, dense links, recurrent cells,
 * attention, parallel branches, trees of one cell, two networks of which one runs twice, and programs without any
 * pattern. Views, mutations, zero-byte results, handles that outlive their use and constants that come late are in all
 * of them. */
#ifndef PLIM_TESTS_SUPPORT_RANDOM_LOG_H
#define PLIM_TESTS_SUPPORT_RANDOM_LOG_H

#include "runtime/graph/graph.h"

#define RANDOM_LOG_KINDS(X) X(RESIDUAL) X(UNET) X(DENSE) X(LSTM) X(TRANSFORMER) X(TANGLE) X(INCEPTION) X(TREE) X(GAN)
#define PLIM_X(id) RANDOM_LOG_##id,
typedef enum random_log_kind { RANDOM_LOG_KINDS(PLIM_X) RANDOM_LOG_KIND_COUNT } random_log_kind;
#undef PLIM_X

const char *random_log_name(random_log_kind kind);

/* size: blocks, levels, layers, cells, layers, calls, blocks, leaves, layers; about ten calls each, a tangle one. The
 * log's text; the caller frees it. */
#include "runtime/base/text.h"
void random_log_write(random_log_kind kind, int32_t size, uint64_t seed, plim_text *log);

/* Its graph; fails the running test when the importer refuses it. */
plim_graph *random_log_graph(plim_context *ctx, random_log_kind kind, int32_t size, uint64_t seed);

#endif
