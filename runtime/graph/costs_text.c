/* Writes and reads costs by device. Rows of numbers, with null for an unknown one. A list without any number is left
 * out. */
#include "runtime/graph/costs_text.h"

#include "runtime/graph/document.h"

static const int64_t most = INT64_MAX / 4;

void plim_costs_write_devices(plim_text *text, const plim_costs *costs) {
  plim_text_add(text, "  \"devices\": [");
  for (int32_t d = 0; d < costs->n_devices; d++) {
    if (d > 0) plim_text_add(text, ", ");
    plim_text_quote(text, costs->device[d]);
  }
  plim_text_add(text, "],\n");
}

void plim_costs_read_devices(plim_json_at *root, int32_t n_ops, plim_costs **out) {
  int32_t n = 0;
  plim_json_at list = plim_json_list(root, "devices", &n);
  if (root->doc->status == PLIM_OK) plim_json_take(&list, plim_costs_new(root->doc->ctx, n_ops, n, out));
  for (int32_t d = 0; d < n && root->doc->status == PLIM_OK; d++) {
    const char *name = plim_json_text_item(&list, d);
    if (root->doc->status == PLIM_OK) plim_json_take(&list, plim_costs_name_device(*out, d, name));
  }
}

static int has_known(const int64_t *number, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    if (number[i] >= 0) return 1;
  }
  return 0;
}

static void write_row(plim_text *text, const int64_t *number, int32_t n) {
  plim_text_add(text, "[");
  for (int32_t i = 0; i < n; i++) {
    if (i > 0) plim_text_add(text, ", ");
    plim_document_write_int(text, number[i], -1);
  }
  plim_text_add(text, "]");
}

void plim_costs_write_op(plim_text *text, const plim_costs *costs, int32_t op) {
  int32_t n = costs->n_devices;
  const int64_t *duration = costs->duration + plim_costs_duration_at(costs, op, 0);
  const int64_t *copy = costs->copy + plim_costs_copy_at(costs, op, 0, 0);
  if (costs->flops[op] >= 0) plim_text_format(text, ", \"flops\": %lld", (long long)costs->flops[op]);
  if (costs->workspace[op] > 0) plim_text_format(text, ", \"workspace_bytes\": %lld", (long long)costs->workspace[op]);
  if (has_known(duration, n)) {
    plim_text_add(text, ", \"durations\": ");
    write_row(text, duration, n);
  }
  if (has_known(copy, (int64_t)n * n)) {
    plim_text_add(text, ", \"copies\": [");
    for (int32_t from = 0; from < n; from++) {
      if (from > 0) plim_text_add(text, ", ");
      write_row(text, copy + (int64_t)from * n, n);
    }
    plim_text_add(text, "]");
  }
}

/* Read a row of n numbers, one for each device; the number at index `self` must be null. */
static void read_row(const plim_json_at *row, int32_t given, int32_t n, int32_t self, int64_t *to) {
  if (given != n) plim_json_fail(row, NULL, "has %d numbers for %d devices", given, n);
  for (int32_t i = 0; i < n && row->doc->status == PLIM_OK; i++) {
    to[i] = plim_json_int_or_null_item(row, i, 0, most, -1);
    if (i == self && to[i] >= 0) plim_json_fail(row, NULL, "has a copy from device %d to itself", i);
  }
}

static void need_any(const plim_json_at *list, const int64_t *number, int64_t n) {
  if (!has_known(number, n)) plim_json_fail(list, NULL, "has no number: a list without any is left out");
}

void plim_costs_read_op(plim_json_at *at, plim_costs *costs, int32_t op) {
  int64_t *duration = costs->duration + plim_costs_duration_at(costs, op, 0);
  int64_t *copy = costs->copy + plim_costs_copy_at(costs, op, 0, 0);
  int32_t n = costs->n_devices, given = 0;
  if (plim_json_has(at, "flops")) costs->flops[op] = plim_json_int(at, "flops", 0, most);
  if (plim_json_has(at, "workspace_bytes")) costs->workspace[op] = plim_json_int(at, "workspace_bytes", 1, most);
  if (plim_json_has(at, "durations")) {
    plim_json_at list = plim_json_list(at, "durations", &given);
    read_row(&list, given, n, -1, duration);
    need_any(&list, duration, n);
  }
  if (plim_json_has(at, "copies")) {
    plim_json_at list = plim_json_list(at, "copies", &given);
    if (given != n) plim_json_fail(&list, NULL, "has %d rows for %d devices", given, n);
    for (int32_t from = 0; from < n && at->doc->status == PLIM_OK; from++) {
      plim_json_at row = plim_json_row(&list, from, &given);
      read_row(&row, given, n, from, copy + (int64_t)from * n);
    }
    need_any(&list, copy, (int64_t)n * n);
  }
}
