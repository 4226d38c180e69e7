/* Sorts a list whose commands were added in another order than that of their keys. */
#include <stdlib.h>
#include <string.h>

#include "planner/paging/command_list.h"
#include "runtime/base/integers.h"

typedef struct keyed_command {
  int64_t key;
  int32_t command;
} keyed_command;

static int by_key(const void *a, const void *b) {
  const keyed_command *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return plim_integers_compare(x->command, y->command);
}

/* Uses in the order of their commands: a counting sort. */
static plim_status sort_uses(plim_command_list *list) {
  plim_command_list_use *use = NULL;
  int32_t *next = NULL;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(list->ctx, list->n_uses, sizeof *use, &use));
  PLIM_TRY_OR_DONE(plim_allocate(list->ctx, (int64_t)list->n + 1, sizeof *next, &next));
  for (int32_t u = 0; u < list->n_uses; u++) next[list->use[u].command + 1]++;
  for (int32_t c = 0; c < list->n; c++) next[c + 1] += next[c];
  for (int32_t u = 0; u < list->n_uses; u++) use[next[list->use[u].command]++] = list->use[u];
  memcpy(list->use, use, (size_t)list->n_uses * sizeof *use);
done:
  plim_release(list->ctx, use, list->n_uses, sizeof *use);
  plim_release(list->ctx, next, (int64_t)list->n + 1, sizeof *next);
  return status;
}

plim_status plim_command_list_sort(plim_command_list *list, const int64_t *key) {
  keyed_command *row = NULL;
  int32_t *number = NULL;
  plim_command *command = NULL;
  int64_t *time_ns = NULL;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(list->ctx, list->n, sizeof *row, &row));
  PLIM_TRY_OR_DONE(plim_allocate(list->ctx, list->n, sizeof *number, &number));
  PLIM_TRY_OR_DONE(plim_allocate(list->ctx, list->n, sizeof *command, &command));
  PLIM_TRY_OR_DONE(plim_allocate(list->ctx, list->n, sizeof *time_ns, &time_ns));
  for (int32_t i = 0; i < list->n; i++) row[i] = (keyed_command){key[i], i};
  qsort(row, (size_t)list->n, sizeof *row, by_key);
  for (int32_t i = 0; i < list->n; i++) {
    number[row[i].command] = i;
    command[i] = list->command[row[i].command];
    time_ns[i] = list->time_ns[row[i].command];
  }
  memcpy(list->command, command, (size_t)list->n * sizeof *command);
  memcpy(list->time_ns, time_ns, (size_t)list->n * sizeof *time_ns);
  for (int32_t i = 0; i < list->n_buffers; i++) {
    if (list->buffer[i].begin >= 0) list->buffer[i].begin = number[list->buffer[i].begin];
    if (list->buffer[i].over >= 0) list->buffer[i].over = number[list->buffer[i].over];
  }
  for (int32_t u = 0; u < list->n_uses; u++) list->use[u].command = number[list->use[u].command];
  PLIM_TRY_OR_DONE(sort_uses(list));
done:
  plim_release(list->ctx, row, list->n, sizeof *row);
  plim_release(list->ctx, number, list->n, sizeof *number);
  plim_release(list->ctx, command, list->n, sizeof *command);
  plim_release(list->ctx, time_ns, list->n, sizeof *time_ns);
  return status;
}
