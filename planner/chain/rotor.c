/* Rotor's recurrence: fills its table bottom up over the length of the interval, and reads choices from it.
 * Cost: O(n^3 x units) time, O(n^2 x units) memory. Source: Beaumont, Eyraud-Dubois, Herrmann, Joly, Shilova,
 * "Optimal checkpointing for heterogeneous chains", 2019; extended by several options a stage and by states that share
 * items. */
#include "planner/chain/chain.h"

#include "runtime/base/effort.h"

static const int64_t never = INT64_MAX / 4; /* no plan: three such times add up without overflow */

static int64_t units_of(const plim_rotor *rotor, int64_t bytes) {
  return (bytes + rotor->unit_bytes - 1) / rotor->unit_bytes;
}

static int64_t *table_row(const plim_rotor *rotor, int32_t i, int32_t j) {
  int64_t at = (int64_t)j * (j + 1) / 2 + i;
  return rotor->value + at * (rotor->n_units + 1);
}

static int64_t state_units(const plim_rotor *rotor, int32_t i, int32_t k) {
  return units_of(rotor, rotor->chain->state_bytes[(int64_t)i * rotor->chain->n + k]);
}

/* Units that stages i to j, i < j, need to run forward. */
static int64_t least_units(const plim_rotor *rotor, int32_t i, int32_t j) {
  const plim_rotor_stage *stage = rotor->chain->stage;
  int64_t most = units_of(rotor, stage[i].forward_bytes);
  for (int32_t k = i + 1; k < j; k++) {
    int64_t bytes = state_units(rotor, i, k) + units_of(rotor, stage[k].forward_bytes);
    if (bytes > most) most = bytes;
  }
  return most + units_of(rotor, stage[j].handed_bytes);
}

/* Units that an option of a stage needs, when the stages up to j are done with it. */
static int64_t option_units(const plim_rotor *rotor, int32_t j, const plim_rotor_option *o) {
  int64_t forward = units_of(rotor, o->forward_bytes) + units_of(rotor, rotor->chain->stage[j].handed_bytes);
  int64_t back = units_of(rotor, o->back_bytes), held = units_of(rotor, o->held_bytes);
  int64_t most = forward > back ? forward : back;
  return most > held ? most : held;
}

static void fill_back(plim_rotor *rotor, int32_t i) {
  const plim_rotor_stage *stage = &rotor->chain->stage[i];
  int64_t *value = table_row(rotor, i, i);
  for (int32_t m = 0; m <= rotor->n_units; m++) value[m] = never;
  for (int64_t m = units_of(rotor, stage->back_bytes); m <= rotor->n_units; m++) value[m] = stage->back_ns;
}

static void fill_leave(plim_rotor *rotor, int32_t i, int32_t j, int64_t least) {
  int64_t *value = table_row(rotor, i, j), forward = 0;
  for (int32_t k = i + 1; k <= j; k++) {
    const int64_t *after = table_row(rotor, k, j), *before = table_row(rotor, i, k - 1);
    int64_t held = state_units(rotor, i, k);
    forward += rotor->chain->stage[k - 1].forward_ns;
    for (int64_t m = held > least ? held : least; m <= rotor->n_units; m++) {
      int64_t time = forward + after[m - held] + before[m];
      if (time < value[m]) value[m] = time;
    }
  }
}

static void fill_tape(plim_rotor *rotor, int32_t i, int32_t j, int64_t least) {
  const plim_rotor_stage *stage = &rotor->chain->stage[i];
  const int64_t *after = table_row(rotor, i + 1, j);
  int64_t *value = table_row(rotor, i, j);
  for (int32_t o = 0; o < stage->n_options; o++) {
    int64_t held = units_of(rotor, stage->option[o].held_bytes), m = option_units(rotor, j, &stage->option[o]);
    for (m = m > least ? m : least; m <= rotor->n_units; m++) {
      int64_t time = stage->option[o].time_ns + after[m - held];
      if (time < value[m]) value[m] = time;
    }
  }
}

static plim_status fill_table(plim_rotor *rotor) {
  int32_t n = rotor->chain->n;
  for (int32_t i = 0; i < n; i++) fill_back(rotor, i);
  for (int32_t length = 1; length < n; length++) {
    for (int32_t i = 0; i + length < n; i++) {
      int32_t j = i + length;
      if (plim_effort_over(rotor->ctx, (int64_t)(rotor->n_units + 1) * length)) {
        return plim_fail(rotor->ctx, PLIM_ECANCEL, "planning was cancelled");
      }
      int64_t *value = table_row(rotor, i, j), least = least_units(rotor, i, j);
      for (int32_t m = 0; m <= rotor->n_units; m++) value[m] = never;
      fill_leave(rotor, i, j, least);
      fill_tape(rotor, i, j, least);
      for (int32_t m = 0; m <= rotor->n_units; m++) value[m] = value[m] < never ? value[m] : never;
    }
  }
  return PLIM_OK;
}

static int64_t table_size(const plim_rotor *rotor) {
  return (int64_t)rotor->chain->n * (rotor->chain->n + 1) / 2 * (rotor->n_units + 1);
}

plim_status plim_rotor_make(plim_context *ctx, const plim_rotor_chain *chain, int32_t n_units, int64_t unit_bytes,
                            plim_rotor **out) {
  plim_rotor *rotor = NULL;
  plim_status status;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *rotor, &rotor));
  *rotor = (plim_rotor){.ctx = ctx, .chain = chain, .n_units = n_units, .unit_bytes = unit_bytes};
  PLIM_TRY_OR_DONE(plim_allocate(ctx, table_size(rotor), sizeof *rotor->value, &rotor->value));
  PLIM_TRY_OR_DONE(fill_table(rotor));
  *out = rotor;
done:
  if (status != PLIM_OK) plim_rotor_free(rotor);
  return status;
}

void plim_rotor_free(plim_rotor *rotor) {
  if (!rotor) return;
  plim_release(rotor->ctx, rotor->value, table_size(rotor), sizeof *rotor->value);
  plim_release(rotor->ctx, rotor, 1, sizeof *rotor);
}

int64_t plim_rotor_time(const plim_rotor *rotor, int32_t i, int32_t j, int32_t m) {
  int64_t time = table_row(rotor, i, j)[m];
  return time < never ? time : PLIM_TIME_INFINITE;
}

int32_t plim_rotor_inner_units(const plim_rotor *rotor, int32_t i, int32_t m, plim_rotor_choice choice) {
  if (choice.state == PLIM_ROTOR_BACK || choice.state == PLIM_ROTOR_NEVER) return m;
  if (choice.state == PLIM_ROTOR_TAPE) {
    return m - (int32_t)units_of(rotor, rotor->chain->stage[i].option[choice.option].held_bytes);
  }
  return m - (int32_t)state_units(rotor, i, choice.state);
}

plim_rotor_choice plim_rotor_choose(const plim_rotor *rotor, int32_t i, int32_t j, int32_t m) {
  const plim_rotor_stage *stage = &rotor->chain->stage[i];
  int64_t time = table_row(rotor, i, j)[m], forward = 0;
  plim_rotor_choice choice = {PLIM_ROTOR_NEVER, 0};
  if (time >= never) return choice;
  if (i == j) return (plim_rotor_choice){PLIM_ROTOR_BACK, 0};
  for (int32_t o = 0; o < stage->n_options; o++) {
    choice = (plim_rotor_choice){PLIM_ROTOR_TAPE, o};
    if (option_units(rotor, j, &stage->option[o]) > m) continue;
    if (stage->option[o].time_ns + table_row(rotor, i + 1, j)[plim_rotor_inner_units(rotor, i, m, choice)] == time) {
      return choice;
    }
  }
  for (int32_t k = i + 1; k <= j; k++) {
    choice = (plim_rotor_choice){k, 0};
    forward += rotor->chain->stage[k - 1].forward_ns;
    int32_t inner = plim_rotor_inner_units(rotor, i, m, choice);
    if (inner >= 0 && forward + table_row(rotor, k, j)[inner] + table_row(rotor, i, k - 1)[m] == time) return choice;
  }
  return (plim_rotor_choice){PLIM_ROTOR_NEVER, 0};
}
