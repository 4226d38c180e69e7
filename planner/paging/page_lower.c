/* Lowering: commands and buffers of the plan with copies, their order, addresses and waits.
 *
 * A buffer knows the command that begins it, the commands that use it, and the one that writes over it in place. Its
 * lifetime follows from the order of the commands. So a copy that moves in the order changes lifetimes alone, which are
 * packed again. Waits follow from order and addresses: a command waits for what filled the buffers that it reads, and
 * for all that touched the bytes that it begins to use. */
#include "planner/paging/paging.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/pack/pack.h"

enum { QUEUE_OUT = 1, QUEUE_IN = 2 };

typedef struct command {
  int32_t step;   /* of the plan */
  int32_t choice; /* -1: a run */
  int32_t in;     /* a copy: 1: in */
} command;

typedef struct buffer {
  int32_t storage, space; /* storage -1: a workspace */
  int32_t begin;          /* command; -1: there from the start */
  int32_t over;           /* command that writes over it; -1: none */
  int32_t stays;          /* 1: to the end */
  int32_t box;            /* first buffer at the same address, by in-place pairs */
  int64_t bytes, offset;  /* offset: in the plan; of the page space -1 */
  int32_t first, last;    /* lifetime, of the order in hand */
} buffer;

typedef struct use {
  int32_t buffer, command;
  int32_t writes;
} use;

typedef struct lowering {
  const plim_page_graph *p;
  const plim_plan *plan;
  const plim_page_lower_options *o;
  int32_t n, n_buffers, n_uses, merged;
  command *command; /* [n] in the order of the plan */
  buffer *buffer;
  use *use;
  int32_t *buffer_of; /* [plan->n_buffers] */
  int32_t *latest;    /* [paged storages] buffer of the plan that began last */
  int32_t *current;   /* [storages] buffer in the arena that began last */
  int32_t *paged_out; /* [p->n] buffer in the page space; -1: none */
  int32_t *at;        /* [n] place of a command in the order in hand */
  int32_t *order;     /* [n] its inverse */
  int64_t *offset;    /* [n_buffers] */
} lowering;

/* ---- commands and buffers ---- */

static int32_t add_buffer(lowering *l, int32_t storage, int32_t space, int32_t begin, int64_t bytes, int64_t offset) {
  l->buffer[l->n_buffers] = (buffer){.storage = storage,
                                     .space = space,
                                     .begin = begin,
                                     .over = -1,
                                     .box = l->n_buffers,
                                     .bytes = bytes,
                                     .offset = offset};
  return l->n_buffers++;
}

static void add_use(lowering *l, int32_t id, int32_t writes) {
  l->use[l->n_uses++] = (use){id, l->n, writes};
}

static plim_status fail_twice(const lowering *l, int32_t storage) {
  return plim_fail(l->p->ctx, PLIM_ENOFIT, "storage %d would be in the arena twice", storage);
}

/* Buffer i of the plan begins at its step j. *begun: 1 when a buffer begins, 0 when the storage is in the arena still.
 */
static plim_status begin_buffer(lowering *l, int32_t i, int32_t j, int in_place, int32_t *begun) {
  const plim_plan_buffer *b = &l->plan->buffer[i];
  const plim_graph *g = l->p->graph;
  *begun = 1;
  if (b->storage < 0) {
    l->buffer_of[i] = add_buffer(l, -1, 0, l->n, b->bytes, b->offset);
    return PLIM_OK;
  }
  int32_t storage = l->p->storage[b->storage], before = l->current[storage];
  l->latest[b->storage] = i;
  for (int32_t k = 0; before >= 0 && k < i; k++) {
    if (l->buffer_of[k] != before || l->plan->buffer[k].end <= j) continue;
    if (in_place) return fail_twice(l, storage);
    l->buffer_of[i] = before;
    l->merged = 1;
    *begun = 0;
    return PLIM_OK;
  }
  int from_outside = g->storage[storage].producer < 0;
  l->buffer_of[i] = add_buffer(l, storage, 0, from_outside ? -1 : l->n, b->bytes, b->offset);
  l->buffer[l->buffer_of[i]].stays = plim_role_persistent(g->storage[storage].role);
  l->current[storage] = l->buffer_of[i];
  return PLIM_OK;
}

static int32_t buffer_now(const lowering *l, int32_t storage) {
  return l->latest[storage] < 0 ? -1 : l->buffer_of[l->latest[storage]];
}

static void use_storages(lowering *l, int32_t n, const int32_t *storage, int32_t writes) {
  for (int32_t i = 0; i < n; i++) {
    int32_t b = buffer_now(l, storage[i]);
    if (b >= 0) add_use(l, b, writes);
  }
}

/* Inputs that the step writes over: they end here, and their outputs have their boxes. */
static plim_status take_pairs(lowering *l, const plim_step *step, const plim_op *op, const int32_t *old) {
  const plim_graph *g = l->p->paged;
  for (int32_t i = 0; i < step->n_pairs; i++) {
    int32_t in = old[i], out = buffer_now(l, g->value[op->out[step->pair[i].out]].storage);
    if (in < 0 || out < 0 || l->buffer[in].over >= 0) {
      return fail_twice(l, l->p->storage[g->value[op->in[step->pair[i].in]].storage]);
    }
    l->buffer[in].over = l->n;
    l->buffer[out].box = l->buffer[in].box;
  }
  return PLIM_OK;
}

static int is_pair_output(const plim_graph *g, const plim_step *step, const plim_op *op, int32_t storage) {
  for (int32_t i = 0; storage >= 0 && i < step->n_pairs; i++) {
    if (g->value[op->out[step->pair[i].out]].storage == storage) return 1;
  }
  return 0;
}

static plim_status add_run(lowering *l, int32_t j, int32_t begin, int32_t end) {
  const plim_step *step = &l->plan->step[j];
  const plim_op *op = &l->p->paged->op[step->op];
  int32_t old[PLIM_OP_MAX_OUT], begun;
  for (int32_t i = 0; i < step->n_pairs; i++) {
    old[i] = buffer_now(l, l->p->paged->value[op->in[step->pair[i].in]].storage);
  }
  use_storages(l, op->n_reads, op->reads, 0);
  for (int32_t i = begin; i < end; i++) {
    int in_place = is_pair_output(l->p->paged, step, op, l->plan->buffer[i].storage);
    PLIM_TRY(begin_buffer(l, i, j, in_place, &begun));
    if (l->plan->buffer[i].storage < 0) add_use(l, l->buffer_of[i], 1);
  }
  if (j == 0) use_storages(l, op->n_reads, op->reads, 0); /* what is there from the start began just now */
  use_storages(l, op->n_writes, op->writes, 1);
  use_storages(l, op->n_updates, op->updates, 1);
  PLIM_TRY(take_pairs(l, step, op, old));
  l->command[l->n++] = (command){j, -1, 0};
  return PLIM_OK;
}

/* The page space keeps what it was given: a second copy out is left out. */
static plim_status add_out(lowering *l, int32_t j, int32_t choice) {
  const plim_page_choice *c = &l->p->choice[choice];
  if (l->paged_out[choice] >= 0) return PLIM_OK;
  int64_t bytes = plim_align_up(l->p->graph->storage[c->storage].bytes, PLIM_ALIGN);
  add_use(l, buffer_now(l, c->storage), 0);
  l->paged_out[choice] = add_buffer(l, c->storage, 1, l->n, bytes, -1);
  add_use(l, l->paged_out[choice], 1);
  l->command[l->n++] = (command){j, choice, 0};
  return PLIM_OK;
}

static plim_status add_in(lowering *l, int32_t j, int32_t choice, int32_t begin, int32_t end) {
  int32_t begun = 0;
  for (int32_t i = begin; i < end; i++) PLIM_TRY(begin_buffer(l, i, j, 0, &begun));
  if (!begun) return PLIM_OK; /* the arena has it still */
  add_use(l, l->paged_out[l->p->first[choice]], 0);
  add_use(l, l->buffer_of[begin], 1);
  l->command[l->n++] = (command){j, choice, 1};
  return PLIM_OK;
}

static plim_status add_commands(lowering *l) {
  const plim_plan *plan = l->plan;
  const plim_graph *g = l->p->graph;
  for (int32_t j = 0, begin = 0, end = 0; j < plan->n_steps; j++, begin = end) {
    int32_t copies = l->p->copies[plan->step[j].op];
    while (end < plan->n_buffers && plan->buffer[end].begin == j) end++;
    if (copies < 0) {
      PLIM_TRY(add_run(l, j, begin, end));
    } else if (copies < l->p->n) {
      PLIM_TRY(add_out(l, j, copies));
    } else {
      PLIM_TRY(add_in(l, j, copies - l->p->n, begin, end));
    }
  }
  for (int32_t s = 0; s < g->n_storages; s++) {
    if (g->storage[s].role == PLIM_ROLE_OUTPUT && l->current[s] >= 0) l->buffer[l->current[s]].stays = 1;
  }
  for (int32_t u = 0; u < l->n_uses; u++) { /* a merged buffer is used after something has written over it */
    int32_t over = l->buffer[l->use[u].buffer].over;
    if (over >= 0 && l->use[u].command > over) return fail_twice(l, l->buffer[l->use[u].buffer].storage);
  }
  return PLIM_OK;
}

/* ---- order ---- */

static void set_lifetimes(lowering *l) {
  for (int32_t i = 0; i < l->n; i++) l->at[l->order[i]] = i;
  for (int32_t i = 0; i < l->n_buffers; i++) {
    buffer *b = &l->buffer[i];
    b->first = b->begin < 0 ? 0 : l->at[b->begin];
    b->last = b->stays ? l->n : b->first + 1;
  }
  for (int32_t u = 0; u < l->n_uses; u++) {
    buffer *b = &l->buffer[l->use[u].buffer];
    if (l->at[l->use[u].command] >= b->last) b->last = l->at[l->use[u].command] + 1;
  }
  for (int32_t i = 0; i < l->n_buffers; i++) {
    if (l->buffer[i].over >= 0) l->buffer[i].last = l->at[l->buffer[i].over];
  }
}

static int64_t time_of(const lowering *l, int32_t c) {
  const command *m = &l->command[c];
  if (m->choice < 0) return l->plan->variant[l->plan->step[m->step].variant].variant.time_ns;
  return m->in ? l->p->choice[m->choice].in_ns : l->p->choice[m->choice].out_ns;
}

/* Live bytes of the arena at each place of the order. */
static void set_live(const lowering *l, int64_t *live) {
  memset(live, 0, (size_t)(l->n + 1) * sizeof *live);
  for (int32_t i = 0; i < l->n_buffers; i++) {
    const buffer *b = &l->buffer[i];
    if (b->space != 0) continue;
    live[b->first] += b->bytes;
    live[b->last] -= b->bytes;
  }
  for (int32_t i = 1; i <= l->n; i++) live[i] += live[i - 1];
}

/* The buffer in the arena that copy c reads or begins. */
static int32_t arena_buffer(const lowering *l, int32_t c) {
  for (int32_t u = 0; u < l->n_uses; u++) {
    if (l->use[u].command == c && l->buffer[l->use[u].buffer].space == 0) return l->use[u].buffer;
  }
  return -1;
}

/* Copy c may stand after any command of the order up to and without this place, or back to and without it: what ends
 * its source, or the target before it, and the other copies of its storage. */
static int32_t limit_of(const lowering *l, int32_t c, int32_t own) {
  const buffer *b = &l->buffer[own];
  int in = l->command[c].in;
  int32_t limit = in ? -1 : b->over >= 0 ? l->at[b->over] : l->n;
  for (int32_t i = 0; i < l->n_buffers; i++) {
    const buffer *other = &l->buffer[i];
    if (other->storage != b->storage || i == own) continue;
    if (in && other->space == 1 && other->first > limit && other->first < l->at[c]) limit = other->first;
    int32_t last = other->over >= 0 ? other->last : other->last - 1; /* its last use, or what writes over it */
    if (in && other->space == 0 && last > limit && last < l->at[c]) limit = last;
    if (!in && other->space == 0 && other->first < limit && other->first > l->at[c]) limit = other->first;
  }
  return limit;
}

/* Move the command at place `from` to place `to`; the others close up. */
static void move(lowering *l, int32_t from, int32_t to) {
  int32_t c = l->order[from];
  for (int32_t i = from; i < to; i++) l->order[i] = l->order[i + 1];
  for (int32_t i = from; i > to; i--) l->order[i] = l->order[i - 1];
  l->order[to] = c;
  set_lifetimes(l);
}

/* When each place of the order begins, if no run ever waits. */
static void set_clock(const lowering *l, int64_t *clock_ns) {
  clock_ns[0] = 0;
  for (int32_t i = 0; i < l->n; i++) {
    int64_t run_ns = l->command[l->order[i]].choice < 0 ? time_of(l, l->order[i]) : 0;
    clock_ns[i + 1] = clock_ns[i] + run_ns;
  }
}

/* Copies out, in their order: each stands where it has ended, if its source may stay so long. */
static void delay_outs(lowering *l, int64_t limit_bytes, int64_t *live, int64_t *clock_ns) {
  int64_t free_ns = 0;
  for (int32_t c = 0; c < l->n; c++) {
    if (l->command[c].choice < 0 || l->command[c].in) continue;
    int32_t own = arena_buffer(l, c), from = l->at[c], to = from, limit = limit_of(l, c, own);
    set_live(l, live);
    set_clock(l, clock_ns);
    int64_t begin_ns = clock_ns[from] > free_ns ? clock_ns[from] : free_ns;
    free_ns = begin_ns + time_of(l, c);
    while (to + 1 < limit && clock_ns[to + 1] < free_ns) {
      int lives = to + 1 < l->buffer[own].last; /* another use keeps the source there */
      if (!lives && live[to + 1] + l->buffer[own].bytes > limit_bytes) break;
      to++;
    }
    if (to > from) move(l, from, to);
  }
}

/* Copies in, from the last to the first: each begins as early as its reader asks for. */
static void advance_ins(lowering *l, int64_t limit_bytes, int64_t *live, int64_t *clock_ns) {
  int64_t free_ns = INT64_MAX;
  for (int32_t c = l->n - 1; c >= 0; c--) {
    if (l->command[c].choice < 0 || !l->command[c].in) continue;
    int32_t own = arena_buffer(l, c), from = l->at[c], to = from, limit = limit_of(l, c, own);
    set_live(l, live);
    set_clock(l, clock_ns);
    int64_t end_ns = clock_ns[from] < free_ns ? clock_ns[from] : free_ns;
    free_ns = end_ns - time_of(l, c);
    while (to - 1 > limit && clock_ns[to] > free_ns && live[to - 1] + l->buffer[own].bytes <= limit_bytes) to--;
    if (to < from) move(l, from, to);
  }
}

/* ---- addresses ---- */

/* Boxes of a space: buffers of in-place pairs are one. */
static int32_t make_boxes(const lowering *l, int32_t space, plim_box *box, int32_t *box_at) {
  int32_t n = 0;
  for (int32_t i = 0; i < l->n_buffers; i++) {
    const buffer *b = &l->buffer[i];
    if (b->space != space) continue;
    int fixed = space == 0 && b->storage >= 0 && plim_role_persistent(l->p->graph->storage[b->storage].role);
    if (b->box == i) {
      box_at[i] = n;
      box[n++] = (plim_box){b->first, b->last, b->bytes, fixed ? b->offset : -1};
    } else {
      plim_box *own = &box[box_at[i] = box_at[b->box]];
      if (b->first < own->begin) own->begin = b->first;
      if (b->last > own->end) own->end = b->last;
    }
  }
  return n;
}

/* *fits out: within the budget of the space. */
static plim_status pack_space(lowering *l, int32_t space, int64_t budget_bytes, int *fits) {
  plim_context *ctx = l->p->ctx;
  plim_box *box = NULL;
  int32_t *box_at = NULL;
  int64_t *offset = NULL, packed_bytes = 0, target = budget_bytes < INT64_MAX ? budget_bytes : 0;
  plim_status status;
  PLIM_CHECK(plim_allocate(ctx, l->n_buffers, sizeof *box, &box));
  PLIM_CHECK(plim_allocate(ctx, l->n_buffers, sizeof *box_at, &box_at));
  PLIM_CHECK(plim_allocate(ctx, l->n_buffers, sizeof *offset, &offset));
  int32_t n = make_boxes(l, space, box, box_at);
  if (n > 0) PLIM_CHECK(plim_pack(ctx, n, box, PLIM_ALIGN, target, l->o->effort, offset, &packed_bytes, NULL));
  for (int32_t i = 0; i < l->n_buffers; i++) {
    if (l->buffer[i].space == space) l->offset[i] = offset[box_at[i]];
  }
  *fits = packed_bytes <= budget_bytes;
done:
  plim_release(ctx, box, l->n_buffers, sizeof *box);
  plim_release(ctx, box_at, l->n_buffers, sizeof *box_at);
  plim_release(ctx, offset, l->n_buffers, sizeof *offset);
  return status;
}

/* ---- waits ---- */

typedef struct waits {
  int32_t (*touched)[PLIM_PLAN_QUEUES]; /* [n_buffers] place + 1 of the last command that touches it */
  int32_t *written;                     /* [n_buffers] place + 1 of the last command that writes it */
  int32_t (*seen)[PLIM_PLAN_QUEUES];    /* [n] place + 1 of the last command of each queue that ends before it begins */
  int32_t *wait;                        /* [n][queues - 1] */
  int32_t *n_wait;                      /* [n] */
  int32_t *by_first;                    /* [n_buffers] buffers by their first place */
  int32_t *use_first, *use;             /* uses by command */
} waits;

static int32_t queue_of(const lowering *l, int32_t c) {
  return l->command[c].choice < 0 ? 0 : l->command[c].in ? QUEUE_IN : QUEUE_OUT;
}

static int share_bytes(const lowering *l, int32_t a, int32_t b) {
  return l->buffer[a].space == l->buffer[b].space && l->offset[a] < l->offset[b] + l->buffer[b].bytes &&
         l->offset[b] < l->offset[a] + l->buffer[a].bytes;
}

static void need_touched(const waits *w, int32_t id, int32_t *need) {
  for (int32_t q = 0; q < PLIM_PLAN_QUEUES; q++) {
    if (w->touched[id][q] > need[q]) need[q] = w->touched[id][q];
  }
}

/* What the command at place i must follow: all that touched the buffers that it uses, where it or they write, and the
 * buffers that had the bytes before. */
static void find_needs(const lowering *l, const waits *w, int32_t i, int32_t *next, int32_t *need) {
  int32_t c = l->order[i];
  for (; *next < l->n_buffers && l->buffer[w->by_first[*next]].first <= i; (*next)++) {
    for (int32_t k = 0; k < *next; k++) {
      if (share_bytes(l, w->by_first[k], w->by_first[*next])) need_touched(w, w->by_first[k], need);
    }
  }
  for (int32_t k = w->use_first[c]; k < w->use_first[c + 1]; k++) {
    const use *u = &l->use[w->use[k]];
    if (u->writes) {
      need_touched(w, u->buffer, need);
    } else if (w->written[u->buffer] > 0) {
      int32_t queue = queue_of(l, l->order[w->written[u->buffer] - 1]);
      if (w->written[u->buffer] > need[queue]) need[queue] = w->written[u->buffer];
    }
  }
}

static void set_waits(const lowering *l, const waits *w) {
  int32_t last[PLIM_PLAN_QUEUES] = {0}, next = 0; /* last: place + 1 */
  memset(w->touched, 0, (size_t)l->n_buffers * sizeof *w->touched);
  memset(w->written, 0, (size_t)l->n_buffers * sizeof *w->written);
  for (int32_t i = 0; i < l->n; i++) {
    int32_t c = l->order[i], own = queue_of(l, c), need[PLIM_PLAN_QUEUES] = {0}, *seen = w->seen[i];
    memset(seen, 0, sizeof *w->seen);
    if (last[own] > 0) memcpy(seen, w->seen[last[own] - 1], sizeof *w->seen);
    seen[own] = last[own];
    find_needs(l, w, i, &next, need);
    w->n_wait[i] = 0;
    for (int32_t q = 0; q < PLIM_PLAN_QUEUES; q++) {
      if (q == own || need[q] <= seen[q]) continue;
      int32_t earlier = need[q] - 1, at = w->n_wait[i]++;
      int32_t *list = w->wait + (int64_t)i * PLIM_PLAN_QUEUES;
      for (; at > 0 && list[at - 1] > earlier; at--) list[at] = list[at - 1];
      list[at] = earlier;
      if (need[q] > seen[q]) seen[q] = need[q];
    }
    for (int32_t k = 0; k < w->n_wait[i]; k++) {
      const int32_t *of = w->seen[w->wait[(int64_t)i * PLIM_PLAN_QUEUES + k]];
      for (int32_t q = 0; q < PLIM_PLAN_QUEUES; q++) seen[q] = of[q] > seen[q] ? of[q] : seen[q];
    }
    for (int32_t k = w->use_first[c]; k < w->use_first[c + 1]; k++) {
      w->touched[l->use[w->use[k]].buffer][own] = i + 1;
      if (l->use[w->use[k]].writes) w->written[l->use[w->use[k]].buffer] = i + 1;
    }
    last[own] = i + 1;
  }
}

/* Buffers by their first place, and uses by command: counting sorts. count [n + 2] is scratch. */
static void sort_lists(const lowering *l, const waits *w, int32_t *count) {
  memset(count, 0, (size_t)(l->n + 2) * sizeof *count);
  for (int32_t b = 0; b < l->n_buffers; b++) count[l->buffer[b].first + 1]++;
  for (int32_t i = 0; i <= l->n; i++) count[i + 1] += count[i];
  for (int32_t b = 0; b < l->n_buffers; b++) w->by_first[count[l->buffer[b].first]++] = b;
  memset(w->use_first, 0, (size_t)(l->n + 2) * sizeof *w->use_first);
  for (int32_t u = 0; u < l->n_uses; u++) w->use_first[l->use[u].command + 1]++;
  for (int32_t c = 0; c <= l->n; c++) w->use_first[c + 1] += w->use_first[c];
  memcpy(count, w->use_first, (size_t)(l->n + 2) * sizeof *count);
  for (int32_t u = 0; u < l->n_uses; u++) w->use[count[l->use[u].command]++] = u;
}

/* ---- the plan ---- */

static plim_status write_plan(const lowering *l, const waits *w, plim_step *step, plim_plan_buffer *row,
                              plim_plan_variant *variant, plim_plan **out) {
  const plim_plan *plan = l->plan;
  for (int32_t i = 0; i < plan->n_variants; i++) {
    variant[i] = plan->variant[i];
    int32_t op = l->p->op[variant[i].op];
    variant[i].op = op < 0 ? 0 : op; /* those of paging are left out, since no command runs them */
  }
  for (int32_t i = 0; i < l->n; i++) {
    const command *m = &l->command[l->order[i]];
    step[i] = plan->step[m->step];
    if (m->choice < 0) {
      step[i].op = l->p->op[step[i].op];
    } else {
      step[i] = (plim_step){.kind = PLIM_STEP_COPY,
                            .queue = queue_of(l, l->order[i]),
                            .storage = l->p->choice[m->choice].storage,
                            .from = m->in,
                            .to = !m->in,
                            .time_ns = time_of(l, l->order[i])};
    }
    step[i].n_wait = w->n_wait[i];
    step[i].wait = w->wait + (int64_t)i * PLIM_PLAN_QUEUES;
  }
  for (int32_t i = 0; i < l->n_buffers; i++) {
    const buffer *b = &l->buffer[i];
    row[i] = (plim_plan_buffer){b->storage, b->first, b->last, b->space, l->offset[i], b->bytes};
  }
  plim_page_space page = {.budget_bytes = l->o->page_budget_bytes};
  plim_plan draft = *plan;
  (void)snprintf(page.name, sizeof page.name, "%s", l->o->name);
  (void)snprintf(draft.planner, sizeof draft.planner, "%.24s, paged", plan->planner);
  draft.n_steps = l->n;
  draft.n_buffers = l->n_buffers;
  draft.step = step;
  draft.buffer = row;
  draft.variant = variant;
  draft.plan_class = PLIM_CLASS_FREE;
  draft.budget_bytes = l->o->budget_bytes;
  draft.keep_all_ns = draft.bound_ns = l->o->keep_all_ns;
  draft.proved = 0;
  draft.n_pages = 1;
  draft.page = &page;
  return plim_plan_from_parts(l->p->graph, &draft, out);
}

static plim_status make_plan(const lowering *l, plim_plan **out) {
  plim_context *ctx = l->p->ctx;
  waits w = {NULL};
  plim_step *step = NULL;
  plim_plan_buffer *row = NULL;
  plim_plan_variant *variant = NULL;
  int32_t *count = NULL;
  int64_t n = l->n;
  plim_status status;
  PLIM_CHECK(plim_allocate(ctx, l->n_buffers, sizeof *w.touched, &w.touched));
  PLIM_CHECK(plim_allocate(ctx, l->n_buffers, sizeof *w.written, &w.written));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *w.seen, &w.seen));
  PLIM_CHECK(plim_allocate(ctx, n * PLIM_PLAN_QUEUES, sizeof *w.wait, &w.wait));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *w.n_wait, &w.n_wait));
  PLIM_CHECK(plim_allocate(ctx, l->n_buffers, sizeof *w.by_first, &w.by_first));
  PLIM_CHECK(plim_allocate(ctx, n + 2, sizeof *w.use_first, &w.use_first));
  PLIM_CHECK(plim_allocate(ctx, l->n_uses, sizeof *w.use, &w.use));
  PLIM_CHECK(plim_allocate(ctx, n + 2, sizeof *count, &count));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *step, &step));
  PLIM_CHECK(plim_allocate(ctx, l->n_buffers, sizeof *row, &row));
  PLIM_CHECK(plim_allocate(ctx, l->plan->n_variants, sizeof *variant, &variant));
  sort_lists(l, &w, count);
  set_waits(l, &w);
  PLIM_CHECK(write_plan(l, &w, step, row, variant, out));
done:
  plim_release(ctx, w.touched, l->n_buffers, sizeof *w.touched);
  plim_release(ctx, w.written, l->n_buffers, sizeof *w.written);
  plim_release(ctx, w.seen, n, sizeof *w.seen);
  plim_release(ctx, w.wait, n * PLIM_PLAN_QUEUES, sizeof *w.wait);
  plim_release(ctx, w.n_wait, n, sizeof *w.n_wait);
  plim_release(ctx, w.by_first, l->n_buffers, sizeof *w.by_first);
  plim_release(ctx, w.use_first, n + 2, sizeof *w.use_first);
  plim_release(ctx, w.use, l->n_uses, sizeof *w.use);
  plim_release(ctx, count, n + 2, sizeof *count);
  plim_release(ctx, step, n, sizeof *step);
  plim_release(ctx, row, l->n_buffers, sizeof *row);
  plim_release(ctx, variant, l->plan->n_variants, sizeof *variant);
  return status;
}

/* One order: copies spread within limit_bytes (-1: not at all), packed; *best is replaced by a faster plan. */
static plim_status try_order(lowering *l, int64_t limit_bytes, int64_t *live, int64_t *clock_ns, plim_plan **best) {
  plim_plan *plan = NULL;
  int fits = 0;
  for (int32_t i = 0; i < l->n; i++) l->order[i] = i;
  set_lifetimes(l);
  if (limit_bytes >= 0) {
    delay_outs(l, limit_bytes, live, clock_ns);
    advance_ins(l, limit_bytes, live, clock_ns);
  }
  PLIM_TRY(pack_space(l, 0, l->o->budget_bytes, &fits));
  if (!fits && limit_bytes < 0 && !l->merged) { /* as the plan has it */
    for (int32_t i = 0; i < l->n_buffers; i++) l->offset[i] = l->buffer[i].offset;
    fits = l->plan->arena_bytes <= l->o->budget_bytes;
  }
  if (fits) PLIM_TRY(pack_space(l, 1, l->o->page_budget_bytes, &fits));
  if (!fits) return PLIM_OK;
  PLIM_TRY(make_plan(l, &plan));
  if (*best && (*best)->time_ns <= plan->time_ns) {
    plim_plan_free(plan);
  } else {
    plim_plan_free(*best);
    *best = plan;
  }
  return PLIM_OK;
}

/* Where packing with all the bytes fails, copies get fewer bytes to spread in. */
static plim_status try_orders(lowering *l, plim_plan **best) {
  static const double shares[] = {1, 0.97, 0.94, 0.9, 0.85};
  int64_t *live = NULL, *clock_ns = NULL;
  plim_status status;
  PLIM_CHECK(plim_allocate(l->p->ctx, (int64_t)l->n + 1, sizeof *live, &live));
  PLIM_CHECK(plim_allocate(l->p->ctx, (int64_t)l->n + 1, sizeof *clock_ns, &clock_ns));
  for (size_t i = 0; i < sizeof shares / sizeof *shares && !*best; i++) {
    int64_t limit = l->o->budget_bytes < INT64_MAX ? (int64_t)((double)l->o->budget_bytes * shares[i]) : INT64_MAX / 2;
    PLIM_CHECK(try_order(l, limit, live, clock_ns, best));
  }
  PLIM_CHECK(try_order(l, -1, live, clock_ns, best));
done:
  plim_release(l->p->ctx, live, (int64_t)l->n + 1, sizeof *live);
  plim_release(l->p->ctx, clock_ns, (int64_t)l->n + 1, sizeof *clock_ns);
  return status;
}

static plim_status lower(lowering *l, plim_plan **out) {
  plim_plan *best = NULL;
  for (int32_t s = 0; s < l->p->paged->n_storages; s++) l->latest[s] = -1;
  for (int32_t s = 0; s < l->p->graph->n_storages; s++) l->current[s] = -1;
  for (int32_t i = 0; i < l->p->n; i++) l->paged_out[i] = -1;
  for (int32_t i = 0; i < l->plan->n_buffers; i++) l->buffer_of[i] = -1;
  PLIM_TRY(add_commands(l));
  plim_status status = try_orders(l, &best);
  if (status == PLIM_OK && !best) {
    status = plim_fail(l->p->ctx, PLIM_ENOFIT, "the buffers of a plan with copies do not fit into %lld bytes",
                       (long long)l->o->budget_bytes);
  }
  if (status == PLIM_OK) {
    *out = best;
  } else {
    plim_plan_free(best);
  }
  return status;
}

static int64_t count_uses(const plim_page_graph *p, const plim_plan *plan) {
  int64_t n = plan->n_buffers;
  for (int32_t j = 0; j < plan->n_steps; j++) {
    const plim_op *op = &p->paged->op[plan->step[j].op];
    n += 2 * (int64_t)op->n_reads + op->n_writes + op->n_updates + 2;
  }
  return n;
}

plim_status plim_page_lower(const plim_page_graph *p, const plim_plan *plan, const plim_page_lower_options *options,
                            plim_plan **out) {
  plim_context *ctx = p->ctx;
  lowering l = {.p = p, .plan = plan, .o = options};
  int64_t n = plan->n_steps, buffers = plan->n_buffers + (int64_t)p->n, uses = count_uses(p, plan);
  plim_status status;
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *l.command, &l.command));
  PLIM_CHECK(plim_allocate(ctx, buffers, sizeof *l.buffer, &l.buffer));
  PLIM_CHECK(plim_allocate(ctx, uses, sizeof *l.use, &l.use));
  PLIM_CHECK(plim_allocate(ctx, plan->n_buffers, sizeof *l.buffer_of, &l.buffer_of));
  PLIM_CHECK(plim_allocate(ctx, p->paged->n_storages, sizeof *l.latest, &l.latest));
  PLIM_CHECK(plim_allocate(ctx, p->graph->n_storages, sizeof *l.current, &l.current));
  PLIM_CHECK(plim_allocate(ctx, p->n, sizeof *l.paged_out, &l.paged_out));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *l.at, &l.at));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *l.order, &l.order));
  PLIM_CHECK(plim_allocate(ctx, buffers, sizeof *l.offset, &l.offset));
  PLIM_CHECK(lower(&l, out));
done:
  plim_release(ctx, l.command, n, sizeof *l.command);
  plim_release(ctx, l.buffer, buffers, sizeof *l.buffer);
  plim_release(ctx, l.use, uses, sizeof *l.use);
  plim_release(ctx, l.buffer_of, plan->n_buffers, sizeof *l.buffer_of);
  plim_release(ctx, l.latest, p->paged->n_storages, sizeof *l.latest);
  plim_release(ctx, l.current, p->graph->n_storages, sizeof *l.current);
  plim_release(ctx, l.paged_out, p->n, sizeof *l.paged_out);
  plim_release(ctx, l.at, n, sizeof *l.at);
  plim_release(ctx, l.order, n, sizeof *l.order);
  plim_release(ctx, l.offset, buffers, sizeof *l.offset);
  return status;
}
