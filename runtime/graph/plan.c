/* Makes a plan from its parts: sorts them, and finds peak and packed size of every space, makespan and numerics hash.
 */
#include "runtime/graph/plan.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/integers.h"
#include "runtime/base/sha256.h"
#include "runtime/base/text.h"
#include "runtime/graph/plan_internal.h"

#define PLIM_X(id, name) name,
static const char *const class_names[] = {PLIM_PLAN_CLASSES(PLIM_X)};
#undef PLIM_X

const char *plim_plan_class_name(plim_plan_class plan_class) {
  return (int)plan_class >= 0 && (int)plan_class < PLIM_PLAN_CLASS_COUNT ? class_names[plan_class] : NULL;
}

int plim_plan_class_find(const char *name) {
  for (int i = 0; i < PLIM_PLAN_CLASS_COUNT; i++) {
    if (strcmp(class_names[i], name) == 0) return i;
  }
  return PLIM_NONE;
}

int plim_plan_is_same_run(const plim_plan *a, const plim_plan *b, int32_t j) {
  const plim_command *x = &a->command[j], *y = &b->command[j];
  return x->op == y->op && strcmp(a->variant[x->variant].variant.name, b->variant[y->variant].variant.name) == 0;
}

int32_t plim_command_result_over(const plim_graph *graph, const plim_command *command, int32_t storage) {
  const plim_op *op = &graph->op[command->op];
  for (int32_t i = 0; i < command->n_pairs; i++) {
    if (graph->value[op->in[command->pair[i].in]].storage != storage) continue;
    return graph->value[op->out[command->pair[i].out]].storage;
  }
  return PLIM_NONE;
}

int32_t plim_command_delay(const plim_plan *plan, const plim_command *command) {
  int32_t most = 0;
  if (command->kind != PLIM_COMMAND_COPY) return 0;
  const int32_t space[] = {command->from, command->to};
  for (int i = 0; i < 2; i++) {
    if (space[i] < 0 || space[i] > plan->n_page_spaces) continue;
    const int32_t delay = plim_plan_space_of(plan, space[i]).delay_permille;
    if (delay > most) most = delay;
  }
  return most;
}

/* ---- order ---- */

int plim_page_is_host(const char *name) {
  return strcmp(name, "host") == 0;
}

int plim_page_is_file(const char *name) {
  return strcmp(name, "disk") == 0;
}

int32_t plim_plan_first_buffer(const plim_plan *plan, int32_t j) {
  int32_t low = 0, high = plan->n_buffers;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (plan->buffer[middle].begin < j) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

int plim_plan_is_home(const plim_graph *graph, const plim_plan *plan, const plim_plan_buffer *buffer) {
  const plim_command *first = &plan->command[0];
  if (buffer->begin > 0 || buffer->storage < 0) return 0;
  if (!plim_role_persistent(graph->storage[buffer->storage].role)) return 0;
  return first->kind != PLIM_COMMAND_COPY || first->storage != buffer->storage || first->to != buffer->space;
}

int plim_plan_buffer_compare(const plim_plan_buffer *a, const plim_plan_buffer *b) {
  int by_begin = plim_integers_compare(a->begin, b->begin);
  if (by_begin) return by_begin;
  /* workspaces come last: as unsigned they are the largest */
  int by_storage = plim_integers_compare((int64_t)(uint32_t)a->storage, (int64_t)(uint32_t)b->storage);
  if (by_storage) return by_storage;
  int by_space = plim_integers_compare(a->space, b->space);
  return by_space ? by_space : plim_integers_compare(a->offset, b->offset);
}

int plim_plan_variant_compare(const plim_plan_variant *a, const plim_plan_variant *b) {
  int by_op = plim_integers_compare(a->op, b->op);
  return by_op ? by_op : strcmp(a->variant.name, b->variant.name);
}

static int buffer_order(const void *a, const void *b) {
  return plim_plan_buffer_compare(a, b);
}

typedef struct ranked_variant {
  plim_plan_variant row;
  int32_t old; /* index before sorting */
} ranked_variant;

static int variant_order(const void *a, const void *b) {
  return plim_plan_variant_compare(&((const ranked_variant *)a)->row, &((const ranked_variant *)b)->row);
}

/* Find the variants that no command runs. now [n_variants] out: -1 for such a variant, 0 for others. */
static void find_unused(const plim_own_plan *own, int32_t *now) {
  for (int32_t i = 0; i < own->plan.n_variants; i++) now[i] = PLIM_NONE;
  for (int32_t j = 0; j < own->plan.n_commands; j++) {
    if (own->command[j].kind == PLIM_COMMAND_RUN) now[own->command[j].variant] = 0;
  }
}

/* Drop unused variants, sort the others, and renumber the variants of commands. */
static plim_status sort_variants(plim_own_plan *own) {
  plim_context *ctx = own->plan.ctx;
  int32_t n_draft = own->plan.n_variants, n = 0, *now = NULL;
  ranked_variant *ranked = NULL;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n_draft, sizeof *ranked, &ranked));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n_draft, sizeof *now, &now));
  find_unused(own, now);
  for (int32_t i = 0; i < n_draft; i++) {
    if (now[i] >= 0) ranked[n++] = (ranked_variant){own->variant[i], i};
  }
  own->plan.n_variants = n;
  qsort(ranked, (size_t)n, sizeof *ranked, variant_order);
  for (int32_t i = 0; i < n; i++) {
    if (i > 0 && variant_order(&ranked[i - 1], &ranked[i]) == 0) {
      status = plim_fail(ctx, PLIM_EDATA, "the plan has two variants '%s' of op %d", ranked[i].row.variant.name,
                         ranked[i].row.op);
      goto done;
    }
    own->variant[i] = ranked[i].row;
    now[ranked[i].old] = i;
  }
  for (int32_t j = 0; j < own->plan.n_commands; j++) {
    if (own->command[j].kind == PLIM_COMMAND_RUN) own->command[j].variant = now[own->command[j].variant];
  }
done:
  plim_release(ctx, now, n_draft, sizeof *now);
  plim_release(ctx, ranked, n_draft, sizeof *ranked);
  return status;
}

/* ---- figures ---- */

/* Find the largest sum of live bytes of a space over the commands. */
static plim_status find_peak(const plim_plan *plan, int32_t space, int64_t *out) {
  int64_t n = (int64_t)plan->n_commands + 1, *change = NULL, total = 0;
  for (int32_t i = 0; i < plan->n_buffers; i++) total = plim_add_checked(total, plan->buffer[i].bytes);
  if (total < 0) return plim_fail(plan->ctx, PLIM_EOVERFLOW, "the sum of all buffers overflows 63 bits");
  PLIM_TRY(plim_allocate(plan->ctx, n, sizeof *change, &change));
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    if (plan->buffer[i].space != space) continue;
    change[plan->buffer[i].begin] += plan->buffer[i].bytes;
    change[plan->buffer[i].end] -= plan->buffer[i].bytes;
  }
  int64_t live = 0, peak = 0;
  for (int64_t j = 0; j < n; j++) {
    live += change[j];
    if (live > peak) peak = live;
  }
  plim_release(plan->ctx, change, n, sizeof *change);
  *out = peak;
  return PLIM_OK;
}

/* The highest end of a buffer in the space. An end from 2^63 on counts as INT64_MAX; the check of the
 * form refuses it. */
static int64_t packed_size(const plim_plan *plan, int32_t space) {
  int64_t size = plan->packed ? 0 : PLIM_NONE;
  for (int32_t i = 0; plan->packed && i < plan->n_buffers; i++) {
    const int64_t offset = plan->buffer[i].offset, bytes = plan->buffer[i].bytes;
    const int64_t end = offset > INT64_MAX - bytes ? INT64_MAX : offset + bytes;
    if (plan->buffer[i].space == space && end > size) size = end;
  }
  return size;
}

static plim_status set_space_figures(plim_own_plan *own) {
  PLIM_TRY(find_peak(&own->plan, 0, &own->plan.peak_bytes));
  own->plan.arena_bytes = packed_size(&own->plan, 0);
  for (int32_t k = 0; k < own->plan.n_page_spaces; k++) {
    PLIM_TRY(find_peak(&own->plan, plim_page_space_at(k), &own->page[k].peak_bytes));
    own->page[k].arena_bytes = packed_size(&own->plan, plim_page_space_at(k));
  }
  return PLIM_OK;
}

static plim_status set_time(plim_plan *plan) {
  int64_t *begin_ns = NULL, *end_ns = NULL, n = plan->n_commands;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(plan->ctx, n, sizeof *begin_ns, &begin_ns));
  PLIM_TRY_OR_DONE(plim_allocate(plan->ctx, n, sizeof *end_ns, &end_ns));
  plim_plan_simulate(plan, begin_ns, end_ns, &plan->time_ns);
  if (plan->time_ns < 0) {
    status = plim_fail(plan->ctx, PLIM_EOVERFLOW, "the sum of the commands' times overflows 63 bits");
  }
done:
  plim_release(plan->ctx, begin_ns, n, sizeof *begin_ns);
  plim_release(plan->ctx, end_ns, n, sizeof *end_ns);
  return status;
}

/* Keep-all could run each op by the fastest variant that this plan has of it, so keep_all_ns is at most their sum. A
 * bound that equals keep_all_ns is lowered with it. Called after sort_variants: rows are sorted by op, and all run. */
static void lower_keep_all(plim_plan *plan) {
  int64_t sum = 0;
  for (int32_t i = 0, next; i < plan->n_variants; i = next) {
    int64_t least = plan->variant[i].variant.time_ns;
    for (next = i + 1; next < plan->n_variants && plan->variant[next].op == plan->variant[i].op; next++) {
      if (plan->variant[next].variant.time_ns < least) least = plan->variant[next].variant.time_ns;
    }
    sum = plim_add_checked(sum, least);
    if (sum < 0) return; /* more than 63 bits, which the makespan of several devices need not exceed */
  }
  if (sum >= plan->keep_all_ns) return;
  if (plan->bound_ns == plan->keep_all_ns) plan->bound_ns = sum;
  plan->keep_all_ns = sum;
}

/* ---- numerics ---- */

/* Find the first command that runs each variant. first [n_variants] out: n_commands when none does. */
static void find_first_runs(const plim_plan *plan, int32_t *first) {
  for (int32_t i = 0; i < plan->n_variants; i++) first[i] = plan->n_commands;
  for (int32_t j = plan->n_commands - 1; j >= 0; j--) {
    if (plan->command[j].kind == PLIM_COMMAND_RUN) first[plan->command[j].variant] = j;
  }
}

static void write_keys(plim_text *text, const plim_plan *plan, const int32_t *first) {
  for (int32_t i = 0, next; i < plan->n_variants; i = next) {
    int32_t op = plan->variant[i].op, earliest = i;
    for (next = i + 1; next < plan->n_variants && plan->variant[next].op == op; next++) {
      if (first[next] < first[earliest]) earliest = next;
    }
    if (first[earliest] < plan->n_commands) {
      plim_text_format(text, "%d %s\n", op, plan->variant[earliest].variant.numerics_key);
    }
  }
}

/* SHA-256 over graph, machine and numerics keys as docs/formats.md says; hash [PLIM_FINGERPRINT_BYTES]. */
static plim_status hash_numerics(const plim_plan *plan, char *hash) {
  const plim_machine *m = &plan->numerics.machine;
  plim_text text = {plan->ctx, NULL, 0, 0, PLIM_OK};
  int32_t *first = NULL;
  PLIM_TRY(plim_allocate(plan->ctx, plan->n_variants, sizeof *first, &first));
  find_first_runs(plan, first);
  plim_text_format(&text, "plimsoll arithmetic 1\ngraph %s\ndevice %s\ncpu %s\nisa %s\nlibrary %s\nbuild %s\n",
                   plan->fingerprint, m->device, m->cpu, m->isa, m->library, m->build);
  plim_text_format(&text, "threads %d\n", m->threads);
  write_keys(&text, plan, first);
  plim_release(plan->ctx, first, plan->n_variants, sizeof *first);
  plim_status status = text.status;
  if (status == PLIM_OK) plim_sha256_hex(text.chars, (size_t)text.length, hash);
  plim_text_free(&text);
  return status;
}

plim_status plim_plan_from_parts(const plim_graph *graph, const plim_plan *draft, plim_plan **out) {
  plim_status status;
  plim_own_plan *own = NULL;
  PLIM_TRY(plim_plan_copy(graph->ctx, draft, &own));
  memcpy(own->plan.fingerprint, graph->fingerprint, sizeof graph->fingerprint);
  PLIM_TRY_OR_DONE(sort_variants(own));
  qsort(own->buffer, (size_t)own->plan.n_buffers, sizeof *own->buffer, buffer_order);
  PLIM_TRY_OR_DONE(set_space_figures(own));
  PLIM_TRY_OR_DONE(set_time(&own->plan));
  lower_keep_all(&own->plan);
  PLIM_TRY_OR_DONE(hash_numerics(&own->plan, own->plan.numerics.hash));
  *out = &own->plan;
  own = NULL;
done:
  if (own) plim_plan_free(&own->plan);
  return status;
}

static double percent_over(int64_t time_ns, int64_t base_ns) {
  return base_ns > 0 ? 100.0 * ((double)time_ns - (double)base_ns) / (double)base_ns : 0;
}

double plim_plan_overhead_percent(const plim_plan *plan) {
  return percent_over(plan->time_ns, plan->keep_all_ns);
}

double plim_plan_bound_percent(const plim_plan *plan) {
  return percent_over(plan->bound_ns, plan->keep_all_ns);
}

void plim_plan_numerics_keys(const plim_plan *plan, const char **numerics_key) {
  for (int32_t i = 0; i < plan->n_variants; i++) {
    numerics_key[plan->variant[i].op] = plan->variant[i].variant.numerics_key;
  }
}

int32_t plim_plan_numerics_differ(const plim_plan *plan, const plim_plan *other) {
  int32_t differ = 0;
  for (int32_t i = 0; i < plan->n_variants; i++) {
    const plim_plan_variant *v = &plan->variant[i];
    if (!plim_plan_variant_is_first(plan, i)) continue;
    for (int32_t k = 0; k < other->n_variants; k++) {
      if (other->variant[k].op == v->op) {
        differ += strcmp(other->variant[k].variant.numerics_key, v->variant.numerics_key) != 0;
        break;
      }
    }
  }
  return differ;
}
