/* 10,000 mutants of plans over spaces: queues, waits, copies, spaces and buffers, judged by an interpreter that runs
 * them at random speeds. PLIM_TEST_SEED sets another seed. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/space_interpret.h"
#include "tests/support/space_rig.h"
#include "tests/support/test_seed.h"

enum { MUTANTS = 10000, RUNS = 24 };

/* The last command is left out, with the buffers that it fills. */
static void shorten(space_draft *d) {
  plim_space_plan *p = &d->plan;
  if (p->n_commands < 2) return;
  p->n_commands--;
  for (int32_t i = p->n_buffers - 1; i >= 0; i--) {
    plim_space_buffer *b = &d->buffer[i];
    if (b->begin >= p->n_commands) *b = d->buffer[--p->n_buffers];
    if (i < p->n_buffers && b->end > p->n_commands) b->end = p->n_commands;
  }
}

static void mutate_command(space_draft *d, uint64_t *random) {
  const plim_space_plan *p = &d->plan;
  int32_t c = (int32_t)test_random_between(random, 0, p->n_commands - 1);
  plim_space_command *m = &d->command[c];
  switch (test_random_between(random, 0, 7)) {
    case 0: /* a wait less */
      if (m->n_wait > 0) m->n_wait--;
      break;
    case 1: /* a wait for another */
      if (m->n_wait > 0) d->ids[c][1][0] = (int32_t)test_random_between(random, 0, p->n_commands - 1);
      break;
    case 2: /* a wait more */
      if (c > 0 && m->n_wait == 0) d->ids[c][1][m->n_wait++] = (int32_t)test_random_between(random, 0, c - 1);
      break;
    case 3: /* another queue, and device */
      m->queue = (int32_t)test_random_between(random, 0, p->n_queues - 1);
      if (m->kind == PLIM_SPACE_COMMAND_RUN && p->queue[m->queue].device >= 0) m->device = p->queue[m->queue].device;
      break;
    case 4: /* another op, another storage */
      if (m->kind == PLIM_SPACE_COMMAND_RUN) m->op = (int32_t)test_random_between(random, 0, 7);
      if (m->kind == PLIM_SPACE_COMMAND_COPY) d->ids[c][0][0] = (int32_t)test_random_between(random, 0, 7);
      break;
    case 7:
      shorten(d);
      break;
    case 5: /* other spaces */
      m->from = (int32_t)test_random_between(random, 0, p->n_spaces - 1);
      m->to = (int32_t)test_random_between(random, 0, p->n_spaces - 1);
      break;
    default: /* two commands change places, their waits stay */
      if (c > 0) {
        plim_space_command other = d->command[c - 1];
        d->command[c - 1] = *m;
        *m = other;
      }
  }
}

static void mutate_buffer(space_draft *d, uint64_t *random) {
  plim_space_plan *p = &d->plan;
  int32_t i = (int32_t)test_random_between(random, 0, p->n_buffers - 1);
  plim_space_buffer *b = &d->buffer[i];
  switch (test_random_between(random, 0, 4)) {
    case 0:
      b->end += (int32_t)test_random_between(random, -2, 2);
      break;
    case 1:
      b->begin += (int32_t)test_random_between(random, -1, 1);
      break;
    case 2:
      b->space = (int32_t)test_random_between(random, 0, p->n_spaces - 1);
      break;
    case 3:
      b->storage = (int32_t)test_random_between(random, PLIM_WORKSPACE, 7);
      break;
    default:
      *b = d->buffer[--p->n_buffers];
  }
}

typedef struct tally {
  int unread, refused, harmful, accepted;
} tally;

static void judge(space_rig *r, uint64_t seed, tally *t) {
  static space_draft d;
  uint64_t random = seed;
  space_draft_copy(&d, r->plan);
  int changes = (int)test_random_between(&random, 1, 2);
  for (int i = 0; i < changes; i++) {
    if (test_random_chance(&random, 65)) {
      mutate_command(&d, &random);
    } else {
      mutate_buffer(&d, &random);
    }
  }
  plim_space_plan *mutant = space_draft_finish(r->ctx, &d);
  if (!mutant) {
    t->unread++;
    return;
  }
  plim_status status = plim_space_plan_check(r->ctx, r->graph, mutant);
  const char *wrong = space_interpret(r->graph, mutant, &random, RUNS);
  cr_assert(status != PLIM_OK || !wrong, "mutant %llu: accepted, and %s", (unsigned long long)seed, wrong);
  t->refused += status != PLIM_OK;
  t->harmful += wrong != NULL;
  t->accepted += status == PLIM_OK;
  plim_space_plan_free(mutant);
}

/* Where the seeds of mutants begin. */
static uint64_t first_seed(void) {
  return test_seed(0) * 1000000;
}

Test(space_mutants, every_harmful_one_of_ten_thousand_mutants_is_rejected) {
  const uint64_t first = first_seed();
  tally t = {0};
  for (int which = 0; which < SPACE_RIG_BASES; which++) {
    space_rig r;
    if (space_rig_base(&r, which)) {
      uint64_t random = test_seed(7);
      cr_assert_eq(plim_space_plan_check(r.ctx, r.graph, r.plan), PLIM_OK, "%d: %s", which, plim_context_error(r.ctx));
      cr_assert_null(space_interpret(r.graph, r.plan, &random, 100));
      for (uint64_t i = 0; i < MUTANTS / 4; i++) judge(&r, first + (uint64_t)which * MUTANTS + i, &t);
    }
    space_rig_end(&r);
  }
  printf("%d unread, %d refused, %d harmful, %d accepted\n", t.unread, t.refused, t.harmful, t.accepted);
  cr_assert_geq(t.harmful, 1000, "%d unread, %d refused, %d harmful, %d accepted", t.unread, t.refused, t.harmful,
                t.accepted);
  cr_assert_geq(t.accepted, 500, "%d unread, %d refused, %d harmful, %d accepted", t.unread, t.refused, t.harmful,
                t.accepted);
}

Test(space_mutants, mutants_of_updates_and_versions_are_rejected) {
  const uint64_t first = first_seed() + 1000000;
  tally t = {0};
  space_rig r;
  space_rig_updates(&r);
  for (uint64_t i = 0; i < MUTANTS / 2; i++) judge(&r, first + i, &t);
  cr_assert_geq(t.harmful, 500, "%d unread, %d refused, %d harmful, %d accepted", t.unread, t.refused, t.harmful,
                t.accepted);
  cr_assert_geq(t.accepted, 200, "%d unread, %d refused, %d harmful, %d accepted", t.unread, t.refused, t.harmful,
                t.accepted);
  space_rig_end(&r);
}
