/* Tells where the storages of a list in the making are, and who reads them next. */
#include "planner/paging/queue_search.h"

plim_queue_place *plim_decoder_place_of(const plim_decoder *d, int32_t storage, int32_t space) {
  return &d->place[(int64_t)space * d->graph->n_storages + storage];
}

int32_t *plim_decoder_buffer_of(const plim_decoder *d, int32_t storage, int32_t space) {
  return &d->buffer[(int64_t)space * d->graph->n_storages + storage];
}

int64_t plim_decoder_bytes_of(const plim_decoder *d, int32_t storage) {
  return plim_align_up(d->graph->storage[storage].bytes, PLIM_ALIGN);
}

static int is_home(const plim_decoder *d, int32_t storage, int32_t space) {
  return space == 0 && plim_role_persistent(d->graph->storage[storage].role);
}

/* The next run after `run` that reads the storage with what it has now, in a space (-1: anywhere); INT32_MAX: none. */
int32_t plim_decoder_next_read(const plim_decoder *d, int32_t storage, int32_t space, int32_t run) {
  for (int32_t i = d->cursor[storage]; i < d->runs->first[storage + 1]; i++) {
    const struct plim_run_access *a = &d->runs->access[i];
    if (a->run == INT32_MAX) break;
    if (a->run <= run) continue;
    if (a->reads && (space < 0 || d->space[a->run] == space)) return a->run;
    if (a->writes) break;
  }
  return INT32_MAX;
}

int plim_decoder_is_elsewhere(const plim_decoder *d, int32_t storage, int32_t space) {
  for (int32_t k = 0; k < d->spaces->n; k++) {
    if (k != space && *plim_decoder_buffer_of(d, storage, k) >= 0) return 1;
  }
  return 0;
}

/* An output that no later run writes is to be in space 0 at the end. */
int plim_decoder_is_last_output(const plim_decoder *d, int32_t storage, int32_t run) {
  if (d->graph->storage[storage].role != PLIM_ROLE_OUTPUT) return 0;
  for (int32_t i = d->cursor[storage]; i < d->runs->first[storage + 1]; i++) {
    if (d->runs->access[i].run != INT32_MAX && d->runs->access[i].run > run && d->runs->access[i].writes) return 0;
  }
  return 1;
}

/* Is the buffer of the storage there read, copied or handed over after `run`? */
int plim_decoder_is_wanted(const plim_decoder *d, int32_t storage, int32_t space, int32_t run) {
  if (is_home(d, storage, space)) return 1;
  if (plim_decoder_is_last_output(d, storage, run) && (space == 0 || *plim_decoder_buffer_of(d, storage, 0) < 0))
    return 1;
  if (plim_decoder_next_read(d, storage, space, run) < INT32_MAX) return 1;
  int keeps = !d->spaces->computes[space] || !plim_decoder_is_elsewhere(d, storage, space);
  return keeps && plim_decoder_next_read(d, storage, -1, run) < INT32_MAX;
}

void plim_decoder_open_place(plim_decoder *d, int32_t storage, int32_t space, int32_t buffer) {
  plim_queue_place *p = plim_decoder_place_of(d, storage, space);
  *plim_decoder_buffer_of(d, storage, space) = buffer;
  p->at = d->n_open[space];
  d->open[space][d->n_open[space]++] = storage;
  d->live_bytes[space] += plim_decoder_bytes_of(d, storage);
}

void plim_decoder_close_place(plim_decoder *d, int32_t storage, int32_t space) {
  plim_queue_place *p = plim_decoder_place_of(d, storage, space);
  int32_t last = d->open[space][--d->n_open[space]];
  d->open[space][p->at] = last;
  plim_decoder_place_of(d, last, space)->at = p->at;
  *plim_decoder_buffer_of(d, storage, space) = -1;
  d->live_bytes[space] -= plim_decoder_bytes_of(d, storage);
}
