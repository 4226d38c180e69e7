/* Reads a plan. It checks types and ranges; plan_copy.c checks the parts, and check/ what they compute. */
#include "runtime/base/array.h"
#include "runtime/graph/plan_internal.h"
#include "runtime/graph/plan_text.h"

/* The lists of a plan while it is read. */
typedef struct plan_lists {
  plim_plan plan;
  plim_command *command;
  plim_plan_buffer *buffer;
  plim_plan_variant *variant;
  plim_plan_space page[PLIM_PAGE_SPACES];
  int32_t *wait; /* of every command; it moves while it grows */
  int64_t n_wait, cap_wait;
} plan_lists;

static void free_lists(plim_context *ctx, plan_lists *lists) {
  plim_release(ctx, lists->command, lists->plan.n_commands, sizeof *lists->command);
  plim_release(ctx, lists->buffer, lists->plan.n_buffers, sizeof *lists->buffer);
  plim_release(ctx, lists->variant, lists->plan.n_variants, sizeof *lists->variant);
  plim_release(ctx, lists->wait, lists->cap_wait, sizeof *lists->wait);
}

static void read_figures(plim_json_at *at, plim_plan *plan) {
  plan->budget_bytes = plim_json_limit(at, "budget_bytes");
  plan->peak_bytes = plim_json_amount(at, "peak_bytes");
  plan->arena_bytes = plim_json_int_or_null(at, "arena_bytes", 0, INT64_MAX, PLIM_NONE);
  plan->time_ns = plim_json_amount(at, "time_ns");
  plan->keep_all_ns = plim_json_amount(at, "keep_all_ns");
  plan->bound_ns = plim_json_amount(at, "bound_ns");
  plan->proved = plim_json_bool(at, "proved");
  if (at->doc->status == PLIM_OK && plan->packed != (plan->arena_bytes >= 0)) {
    plim_json_fail(at, "arena_bytes", "is %s in a plan %s addresses", plan->packed ? "null" : "given",
                   plan->packed ? "with" : "without");
  }
}

static void read_head(plim_json_at *at, plim_plan *plan) {
  plim_document_read_head(at, "plan");
  plim_document_read_hash(at, "graph", plan->fingerprint);
  plim_json_at numerics = plim_json_object(at, "arithmetic"); /* the older word of the format */
  plim_document_read_machine(&numerics, &plan->numerics.machine);
  plim_document_read_hash(&numerics, "hash", plan->numerics.hash);
  plim_json_end(&numerics);
  plim_json_copy(at, "planner", plan->planner, sizeof plan->planner);
  plan->plan_class = (plim_plan_class)plim_json_name(at, "class", plim_plan_class_find);
  plan->packed = plim_json_bool(at, "packed");
  read_figures(at, plan);
}

static void read_pages(plim_json_at *root, plan_lists *lists) {
  int32_t n = 0;
  if (!plim_json_has(root, "pages")) return;
  plim_json_at list = plim_json_list(root, "pages", &n);
  if (root->doc->status == PLIM_OK && (n < 1 || n > PLIM_PAGE_SPACES)) {
    plim_json_fail(root, "pages", "has %d spaces, not 1 to %d", n, PLIM_PAGE_SPACES);
  }
  for (int32_t k = 0; k < n && root->doc->status == PLIM_OK; k++) {
    plim_json_at at = plim_json_item(&list, k);
    plim_json_copy(&at, "name", lists->page[k].name, sizeof lists->page[k].name);
    lists->page[k].budget_bytes = plim_json_limit(&at, "budget_bytes");
    lists->page[k].peak_bytes = plim_json_amount(&at, "peak_bytes");
    lists->page[k].arena_bytes = plim_json_int_or_null(&at, "arena_bytes", 0, INT64_MAX, PLIM_NONE);
    if (plim_json_has(&at, "delay_permille")) {
      lists->page[k].delay_permille = (int32_t)plim_json_int(&at, "delay_permille", 1, PLIM_PAGE_DELAY_PERMILLE);
    }
    if (plim_json_has(&at, "computes")) lists->page[k].computes = plim_json_bool(&at, "computes");
    plim_json_end(&at);
  }
  lists->plan.n_page_spaces = n;
}

static void read_variants(plim_json_at *root, plan_lists *lists) {
  plim_json_at list =
      plim_document_list(root, "variants", &lists->plan.n_variants, &lists->variant, sizeof *lists->variant);
  for (int32_t i = 0; i < lists->plan.n_variants && root->doc->status == PLIM_OK; i++) {
    plim_json_at at = plim_json_item(&list, i);
    plim_document_read_variant(&at, &lists->variant[i].op, &lists->variant[i].variant);
    if (i > 0 && plim_plan_variant_compare(&lists->variant[i - 1], &lists->variant[i]) >= 0) {
      plim_json_fail(&at, NULL, "is not sorted by op, then name, or is there twice");
    }
  }
}

static void read_waits(plim_json_at *at, plan_lists *lists, plim_command *command) {
  int32_t n = 0;
  command->queue = plim_json_index(at, "queue");
  plim_json_at list = plim_json_list(at, "wait", &n);
  plim_json_take(
      &list, plim_array_reserve(at->doc->ctx, &lists->wait, &lists->cap_wait, lists->n_wait + n, sizeof *lists->wait));
  if (at->doc->status != PLIM_OK) return;
  for (int32_t i = 0; i < n; i++) lists->wait[lists->n_wait++] = (int32_t)plim_json_int_item(&list, i, 0, INT32_MAX);
  command->n_wait = n;
}

static void read_command(plim_json_at *at, plan_lists *lists, plim_command *command) {
  if (plim_json_has(at, "copy")) {
    command->kind = PLIM_COMMAND_COPY;
    command->storage = plim_json_index(at, "copy");
    command->from = plim_json_index(at, "from");
    command->to = plim_json_index(at, "to");
    command->time_ns = plim_json_amount(at, "time_ns");
  } else {
    command->kind = PLIM_COMMAND_RUN;
    command->op = (int32_t)plim_json_int(at, "run", 0, INT32_MAX - 1);
    command->variant = plim_json_index(at, "variant");
    command->n_pairs = plim_document_read_pairs(at, command->pair, PLIM_OP_MAX_PAIRS);
    if (plim_json_has(at, "space")) command->space = (int32_t)plim_json_int(at, "space", 1, PLIM_PAGE_SPACES);
  }
  read_waits(at, lists, command);
  plim_json_end(at);
}

static void read_commands(plim_json_at *root, plan_lists *lists) {
  plim_json_at list =
      plim_document_list(root, "steps", &lists->plan.n_commands, &lists->command, sizeof *lists->command);
  for (int32_t j = 0; j < lists->plan.n_commands && root->doc->status == PLIM_OK; j++) {
    plim_json_at at = plim_json_item(&list, j);
    read_command(&at, lists, &lists->command[j]);
  }
  const int32_t *wait = lists->wait;
  for (int32_t j = 0; j < lists->plan.n_commands && root->doc->status == PLIM_OK; j++) {
    lists->command[j].wait = wait;
    if (wait) wait += lists->command[j].n_wait;
  }
}

static void read_buffer(plim_json_at *at, plim_plan_buffer *buffer) {
  buffer->storage = (int32_t)plim_json_int_or_null(at, "storage", 0, INT32_MAX, PLIM_WORKSPACE);
  buffer->begin = plim_json_index(at, "begin");
  buffer->end = (int32_t)plim_json_int(at, "end", 1, INT32_MAX);
  buffer->space = plim_json_index(at, "space");
  buffer->offset = plim_json_int_or_null(at, "offset", 0, INT64_MAX, PLIM_NONE);
  buffer->bytes = plim_json_int(at, "bytes", 1, INT64_MAX);
  plim_json_end(at);
}

static void read_buffers(plim_json_at *root, plan_lists *lists) {
  plim_json_at list = plim_document_list(root, "lives", &lists->plan.n_buffers, &lists->buffer, sizeof *lists->buffer);
  for (int32_t i = 0; i < lists->plan.n_buffers && root->doc->status == PLIM_OK; i++) {
    plim_json_at at = plim_json_item(&list, i);
    read_buffer(&at, &lists->buffer[i]);
    if (i > 0 && plim_plan_buffer_compare(&lists->buffer[i - 1], &lists->buffer[i]) > 0) {
      plim_json_fail(&at, NULL, "is not sorted by begin, then storage, space and offset");
    }
  }
}

void plim_plan_read(plim_json_at *at, plim_plan **out) {
  plan_lists lists = {.wait = NULL};
  plim_own_plan *own = NULL;
  plim_context *ctx = at->doc->ctx;
  read_head(at, &lists.plan);
  read_pages(at, &lists);
  read_variants(at, &lists);
  read_commands(at, &lists);
  read_buffers(at, &lists);
  plim_json_end(at);
  if (at->doc->status == PLIM_OK) {
    lists.plan.command = lists.command;
    lists.plan.buffer = lists.buffer;
    lists.plan.variant = lists.variant;
    lists.plan.page = lists.page;
    plim_json_take(at, plim_plan_copy(ctx, &lists.plan, &own));
  }
  if (own) *out = &own->plan;
  free_lists(ctx, &lists);
}

plim_status plim_plan_parse(plim_context *ctx, const char *file, const char *text, int64_t bytes, plim_plan **out) {
  plim_json doc;
  if (plim_document_open(ctx, file, text, bytes, &doc) == PLIM_OK) {
    plim_json_at root = plim_json_root(&doc);
    plim_plan_read(&root, out);
  }
  plim_json_close(&doc);
  return doc.status;
}

static plim_status parse(plim_context *ctx, const char *file, const char *text, int64_t bytes, void *out) {
  return plim_plan_parse(ctx, file, text, bytes, out);
}

plim_status plim_plan_load(plim_context *ctx, const char *path, plim_plan **out) {
  return plim_document_load(ctx, path, parse, out);
}
