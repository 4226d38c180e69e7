/* The table of optimizers. Rates of SGD grow with the batch (Goyal et al., Accurate, Large Minibatch SGD, 2017). */
#include "runtime/net/net.h"

#include <stddef.h>
#include <string.h>

static const plim_optimizer_row optimizers[PLIM_OPTIMIZER_COUNT] = {
    [PLIM_OPTIMIZER_MOMENTUM] = {.name = "momentum",
                                 .kind = PLIM_OP_SGD,
                                 .hypers = {4, 8},
                                 .n_states = 1,
                                 .state = {".velocity"},
                                 .momentum = 0.9F,
                                 .weight_decay = 5e-4F,
                                 .rate = 0.1,
                                 .rate_mlp = 0.02,
                                 .rate_batch = 128,
                                 .warmup_part = 20},
    [PLIM_OPTIMIZER_SGD] = {.name = "sgd",
                            .kind = PLIM_OP_SGD,
                            .hypers = {4, 8},
                            .momentum = 0.9F,
                            .weight_decay = 5e-4F,
                            .rate = 0.1,
                            .rate_mlp = 0.02,
                            .rate_batch = 128,
                            .warmup_part = 20},
    [PLIM_OPTIMIZER_ADAM] = {.name = "adam",
                             .kind = PLIM_OP_ADAM,
                             .hypers = {8, 8},
                             .n_states = 2,
                             .state = {".first", ".second"},
                             .decays_some = 1,
                             .momentum = 0.9F,
                             .beta2 = 0.95F,
                             .epsilon = 1e-8F,
                             .weight_decay = 5e-4F,
                             .rate = 1e-3,
                             .rate_mlp = 1e-3,
                             .warmup_part = 2,
                             .warmup_most = 100},
    [PLIM_OPTIMIZER_ADAMW] = {.name = "adamw",
                              .kind = PLIM_OP_ADAMW,
                              .hypers = {8, 8},
                              .n_states = 2,
                              .state = {".first", ".second"},
                              .decays_some = 1,
                              .momentum = 0.9F,
                              .beta2 = 0.95F,
                              .epsilon = 1e-8F,
                              .weight_decay = 0.1F,
                              .rate = 1e-3,
                              .rate_mlp = 1e-3,
                              .warmup_part = 2,
                              .warmup_most = 100},
};

const plim_optimizer_row *plim_optimizer_at(int32_t optimizer) {
  return optimizer >= 0 && optimizer < PLIM_OPTIMIZER_COUNT ? &optimizers[optimizer] : NULL;
}

const char *plim_optimizer_name(int32_t row) {
  const plim_optimizer_row *at = plim_optimizer_at(row);
  return at ? at->name : NULL;
}

plim_optimizer plim_optimizer_default(const char *model) {
  return strcmp(model, "gpt") == 0 ? PLIM_OPTIMIZER_ADAMW : PLIM_OPTIMIZER_SGD;
}

plim_optimizer plim_optimizer_with(plim_optimizer optimizer, float momentum) {
  return optimizer == PLIM_OPTIMIZER_SGD && momentum != 0 ? PLIM_OPTIMIZER_MOMENTUM : optimizer;
}

double plim_optimizer_rate(const plim_optimizer_row *row, const char *model, int64_t batch) {
  const double rate = strcmp(model, "mlp") == 0 ? row->rate_mlp : row->rate;
  return row->rate_batch > 0 ? rate * (double)batch / row->rate_batch : rate;
}

int64_t plim_optimizer_warmup(const plim_optimizer_row *row, int64_t steps) {
  const int64_t part = steps / row->warmup_part;
  return row->warmup_most > 0 && part > row->warmup_most ? row->warmup_most : part;
}
