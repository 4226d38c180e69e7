/* Sorts a list whose commands were added in another order than that of their keys. */
#include <stdlib.h>
#include <string.h>

#include "planner/paging/command_list.h"
#include "runtime/base/integers.h"

typedef struct keyed {
  int64_t key;
  int32_t command;
} keyed;

static int by_key(const void *a, const void *b) {
  const keyed *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return plim_integers_compare(x->command, y->command);
}

/* Uses in the order of their commands: a counting sort. */
static plim_status sort_uses(plim_command_list *l) {
  plim_command_list_use *use = NULL;
  int32_t *next = NULL;
  plim_status status;
  PLIM_CHECK(plim_allocate(l->ctx, l->n_uses, sizeof *use, &use));
  PLIM_CHECK(plim_allocate(l->ctx, (int64_t)l->n + 1, sizeof *next, &next));
  for (int32_t u = 0; u < l->n_uses; u++) next[l->use[u].command + 1]++;
  for (int32_t c = 0; c < l->n; c++) next[c + 1] += next[c];
  for (int32_t u = 0; u < l->n_uses; u++) use[next[l->use[u].command]++] = l->use[u];
  memcpy(l->use, use, (size_t)l->n_uses * sizeof *use);
done:
  plim_release(l->ctx, use, l->n_uses, sizeof *use);
  plim_release(l->ctx, next, (int64_t)l->n + 1, sizeof *next);
  return status;
}

plim_status plim_command_list_sort(plim_command_list *l, const int64_t *key) {
  keyed *row = NULL;
  int32_t *number = NULL;
  plim_command *command = NULL;
  int64_t *time_ns = NULL;
  plim_status status;
  PLIM_CHECK(plim_allocate(l->ctx, l->n, sizeof *row, &row));
  PLIM_CHECK(plim_allocate(l->ctx, l->n, sizeof *number, &number));
  PLIM_CHECK(plim_allocate(l->ctx, l->n, sizeof *command, &command));
  PLIM_CHECK(plim_allocate(l->ctx, l->n, sizeof *time_ns, &time_ns));
  for (int32_t i = 0; i < l->n; i++) row[i] = (keyed){key[i], i};
  qsort(row, (size_t)l->n, sizeof *row, by_key);
  for (int32_t i = 0; i < l->n; i++) {
    number[row[i].command] = i;
    command[i] = l->command[row[i].command];
    time_ns[i] = l->time_ns[row[i].command];
  }
  memcpy(l->command, command, (size_t)l->n * sizeof *command);
  memcpy(l->time_ns, time_ns, (size_t)l->n * sizeof *time_ns);
  for (int32_t i = 0; i < l->n_buffers; i++) {
    if (l->buffer[i].begin >= 0) l->buffer[i].begin = number[l->buffer[i].begin];
    if (l->buffer[i].over >= 0) l->buffer[i].over = number[l->buffer[i].over];
  }
  for (int32_t u = 0; u < l->n_uses; u++) l->use[u].command = number[l->use[u].command];
  PLIM_CHECK(sort_uses(l));
done:
  plim_release(l->ctx, row, l->n, sizeof *row);
  plim_release(l->ctx, number, l->n, sizeof *number);
  plim_release(l->ctx, command, l->n, sizeof *command);
  plim_release(l->ctx, time_ns, l->n, sizeof *time_ns);
  return status;
}
