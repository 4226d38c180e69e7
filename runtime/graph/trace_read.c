/* Reads a trace line by line. Rows, names and offsets are collected in arrays that grow. At the end, when their number
 * is known, they are copied into one block. */
#include <string.h>

#include "runtime/base/array.h"
#include "runtime/graph/document.h"
#include "runtime/graph/printable.h"
#include "runtime/graph/trace_text.h"

enum { FIRST_ROW_LINE = 2 };

typedef struct own_trace {
  plim_trace trace; /* first: what callers hold */
  int64_t block_bytes;
  plim_trace_row *row;
  char *chars;
  int64_t *out;
} own_trace;

/* A row whose texts are indices into `chars`. Its arena offsets follow those of the row before in `out`. */
typedef struct draft_row {
  plim_trace_row row;
  int64_t name, variant;
} draft_row;

typedef struct trace_draft {
  plim_context *ctx;
  const char *file;
  plim_trace head;
  int64_t line, n_training_steps, total_ns, waited_ns; /* of all rows */
  int64_t free_ns[PLIM_PLAN_QUEUES];                   /* end of the last row of each queue in its training step */
  int ended;
  char *chars; /* the graph's name is the first */
  draft_row *row;
  int64_t *out;
  int64_t n_chars, n_rows, n_out, cap_chars, cap_rows, cap_out;
} trace_draft;

static void free_draft(trace_draft *draft) {
  plim_release(draft->ctx, draft->chars, draft->cap_chars, 1);
  plim_release(draft->ctx, draft->row, draft->cap_rows, sizeof *draft->row);
  plim_release(draft->ctx, draft->out, draft->cap_out, sizeof *draft->out);
}

/* ---- lines ---- */

static int64_t read_text(plim_json_at *at, trace_draft *draft, const char *key) {
  const char *text = plim_json_text(at, key);
  int64_t start = draft->n_chars, bytes = (int64_t)strlen(text) + 1;
  if (at->doc->status != PLIM_OK) return 0;
  plim_json_take(at, plim_printable_text(draft->ctx, key, text, PLIM_PRINTABLE_NAME_MAX + 1));
  if (at->doc->status != PLIM_OK) return 0;
  plim_json_take(at, plim_array_reserve(draft->ctx, &draft->chars, &draft->cap_chars, start + bytes, 1));
  if (at->doc->status != PLIM_OK) return 0;
  memcpy(draft->chars + start, text, (size_t)bytes);
  draft->n_chars += bytes;
  return start;
}

/* The format has older words than the code: "arithmetic" is numerics, and "step" of a row is a command. */
static void read_head(plim_json_at *at, trace_draft *draft) {
  draft->head.has_queues = plim_document_read_version(at, "trace", PLIM_TRACE_NEWEST) == PLIM_TRACE_NEWEST;
  plim_document_read_hash(at, "graph", draft->head.fingerprint);
  (void)read_text(at, draft, "name");
  plim_document_read_hash(at, "plan", draft->head.plan);
  plim_json_at numerics = plim_json_object(at, "arithmetic");
  plim_document_read_machine(&numerics, &draft->head.numerics.machine);
  plim_document_read_hash(&numerics, "hash", draft->head.numerics.hash);
  plim_json_end(&numerics);
  plim_json_copy(at, "planner", draft->head.planner, sizeof draft->head.planner);
  draft->head.budget_bytes = plim_json_limit(at, "budget_bytes");
  draft->head.peak_bytes = plim_json_amount(at, "peak_bytes");
  draft->head.arena_bytes = plim_json_int_or_null(at, "arena_bytes", 0, INT64_MAX, PLIM_NONE);
  draft->head.n_commands = (int32_t)plim_json_int(at, "steps", 1, INT32_MAX);
  plim_json_end(at);
}

static void read_out(plim_json_at *at, trace_draft *draft, plim_trace_row *row) {
  plim_json_at list = plim_json_list(at, "out", &row->n_out);
  plim_json_take(&list, plim_array_reserve(draft->ctx, &draft->out, &draft->cap_out, draft->n_out + row->n_out,
                                           sizeof *draft->out));
  if (at->doc->status != PLIM_OK) return;
  for (int32_t i = 0; i < row->n_out; i++) {
    draft->out[draft->n_out++] = plim_json_int_or_null_item(&list, i, 0, INT64_MAX, PLIM_NONE);
  }
}

/* Check that rows form whole training steps, each with the plan's commands in order. */
static void check_place(const plim_json_at *at, const trace_draft *draft, const plim_trace_row *row) {
  if (draft->head.n_commands == 0) {
    plim_json_fail(at, NULL, "is a row of a plan without commands");
    return;
  }
  int32_t expected = (int32_t)(draft->n_rows % draft->head.n_commands);
  if (row->command != expected) {
    plim_json_fail(at, "step", "is %d; command %d of the %d comes here", row->command, expected,
                   draft->head.n_commands);
  }
  if (draft->n_rows == 0) return;
  int64_t before = draft->row[draft->n_rows - 1].row.training_step;
  if (expected > 0 ? row->training_step != before : row->training_step <= before) {
    plim_json_fail(at, "training_step", "is %lld after step %lld", (long long)row->training_step, (long long)before);
  }
}

/* Check that a row begins when the row before it in its training step ends. With queues it begins no earlier than the
 * row before it on its queue ends. Its end, and the sums of all times and of all waits, must fit into 63 bits, because
 * readers compute them. */
static void check_times(const plim_json_at *at, trace_draft *draft, const plim_trace_row *row) {
  if (row->command == 0) memset(draft->free_ns, 0, sizeof draft->free_ns);
  int64_t *free_ns = &draft->free_ns[row->queue];
  if (draft->head.has_queues ? row->start_ns < *free_ns : row->start_ns != *free_ns) {
    plim_json_fail(at, "start_ns", "is %lld; the times before it %s %lld", (long long)row->start_ns,
                   draft->head.has_queues ? "on its queue end at" : "add up to", (long long)*free_ns);
  }
  *free_ns = plim_add_checked(row->start_ns, row->time_ns);
  draft->total_ns = plim_add_checked(draft->total_ns, row->time_ns);
  if (draft->total_ns < 0) plim_json_fail(at, "time_ns", "and the times before it add up to more than 63 bits hold");
  if (*free_ns < 0) plim_json_fail(at, "time_ns", "and start_ns add up to more than 63 bits hold");
  draft->waited_ns = plim_add_checked(draft->waited_ns, row->waited_ns);
  if (draft->waited_ns < 0) plim_json_fail(at, "waited_ns", "and those before it add up to more than 63 bits hold");
}

static void read_row(plim_json_at *at, trace_draft *draft) {
  plim_json_take(at,
                 plim_array_reserve(draft->ctx, &draft->row, &draft->cap_rows, draft->n_rows + 1, sizeof *draft->row));
  if (at->doc->status != PLIM_OK) return;
  draft_row *fresh = &draft->row[draft->n_rows];
  plim_trace_row *row = &fresh->row;
  row->training_step = plim_json_amount(at, "training_step");
  row->command = plim_json_index(at, "step");
  row->op = plim_json_index_or_none(at, "op");
  fresh->name = read_text(at, draft, "name");
  fresh->variant = read_text(at, draft, "variant");
  if (draft->head.has_queues) {
    row->queue = (int32_t)plim_json_int(at, "queue", 0, PLIM_PLAN_QUEUES - 1);
    row->waited_ns = plim_json_amount(at, "waited_ns");
  }
  row->start_ns = plim_json_amount(at, "start_ns");
  row->time_ns = plim_json_amount(at, "time_ns");
  row->planned_ns = plim_json_amount(at, "planned_ns");
  row->live_bytes = plim_json_amount(at, "live_bytes");
  read_out(at, draft, row);
  plim_json_end(at);
  if (at->doc->status != PLIM_OK) return;
  check_place(at, draft, row);
  if (at->doc->status == PLIM_OK) check_times(at, draft, row);
  draft->n_rows++;
}

static void read_end(plim_json_at *at, trace_draft *draft) {
  if (!plim_json_bool(at, "end")) plim_json_fail(at, "end", "is false");
  draft->n_training_steps = plim_json_amount(at, "training_steps");
  plim_json_end(at);
  draft->ended = 1;
  if (at->doc->status != PLIM_OK) return;
  if (draft->n_rows != plim_mul_checked(draft->n_training_steps, draft->head.n_commands)) {
    plim_json_fail(at, "training_steps", "is %lld, but there are %lld rows of %d a training step",
                   (long long)draft->n_training_steps, (long long)draft->n_rows, draft->head.n_commands);
  }
}

static plim_status read_line(trace_draft *draft, const char *line, int64_t bytes) {
  plim_json doc;
  draft->line++;
  if (draft->ended) {
    return plim_fail(draft->ctx, PLIM_EDATA, "%s: line %lld: stands after the end of the trace", draft->file,
                     (long long)draft->line);
  }
  if (plim_json_parse(draft->ctx, draft->file, draft->line, line, bytes, &doc) == PLIM_OK) {
    plim_json_at at = plim_json_root(&doc);
    if (draft->line == 1) {
      read_head(&at, draft);
    } else if (plim_json_has(&at, "end")) {
      read_end(&at, draft);
    } else {
      read_row(&at, draft);
    }
  }
  plim_json_close(&doc);
  return doc.status;
}

/* ---- the document ---- */

/* Give each array of `own` its address in the block. Returns the address of the whole. */
static own_trace *carve(const trace_draft *draft, plim_block *block, own_trace *own) {
  own_trace *place = plim_block_take(block, 1, sizeof *own);
  own->row = plim_block_take(block, draft->n_rows, sizeof *own->row);
  own->chars = plim_block_take(block, draft->n_chars, 1);
  own->out = plim_block_take(block, draft->n_out, sizeof *own->out);
  return place;
}

static void copy_rows(const trace_draft *draft, const own_trace *own) {
  const int64_t *next = own->out;
  memcpy(own->chars, draft->chars, (size_t)draft->n_chars);
  if (draft->n_out > 0) memcpy(own->out, draft->out, (size_t)draft->n_out * sizeof *own->out);
  for (int64_t i = 0; i < draft->n_rows; i++) {
    own->row[i] = draft->row[i].row;
    own->row[i].name = own->chars + draft->row[i].name;
    own->row[i].variant = own->chars + draft->row[i].variant;
    own->row[i].out = next;
    next += own->row[i].n_out;
  }
}

static plim_status freeze(const trace_draft *draft, plim_trace **out) {
  own_trace own = {.block_bytes = 0};
  plim_block block = {NULL, 0};
  (void)carve(draft, &block, &own);
  PLIM_TRY(plim_block_allocate(draft->ctx, &block));
  own_trace *place = carve(draft, &block, &own);
  own.block_bytes = block.bytes;
  copy_rows(draft, &own);
  own.trace = draft->head;
  own.trace.ctx = draft->ctx;
  own.trace.name = own.chars;
  own.trace.n_rows = draft->n_rows;
  own.trace.row = own.row;
  *place = own;
  *out = &place->trace;
  return PLIM_OK;
}

plim_status plim_trace_parse(plim_context *ctx, const char *file, const char *text, int64_t bytes, plim_trace **out) {
  trace_draft draft = {.ctx = ctx, .file = file};
  plim_status status = PLIM_OK;
  for (int64_t at = 0; at < bytes;) {
    const char *end = memchr(text + at, '\n', (size_t)(bytes - at));
    if (!end) break;
    PLIM_TRY_OR_DONE(read_line(&draft, text + at, end - (text + at)));
    at = end - text + 1;
  }
  if (bytes == 0) {
    status = plim_fail(ctx, PLIM_EDATA, "%s: is empty", file);
    goto done;
  }
  if (!draft.ended || text[bytes - 1] != '\n') {
    status = plim_fail(ctx, PLIM_EDATA, "%s: ends without its last line: the file was cut after line %lld", file,
                       (long long)draft.line);
    goto done;
  }
  status = freeze(&draft, out);
done:
  free_draft(&draft);
  return status;
}

static plim_status parse(plim_context *ctx, const char *file, const char *text, int64_t bytes, void *out) {
  return plim_trace_parse(ctx, file, text, bytes, out);
}

plim_status plim_trace_load(plim_context *ctx, const char *path, plim_trace **out) {
  return plim_document_load(ctx, path, parse, out);
}

plim_status plim_trace_check(const plim_trace *trace, const char *path, const plim_plan *plan, const char *plan_path) {
  char print[PLIM_FINGERPRINT_BYTES];
  PLIM_TRY(plim_plan_fingerprint(plan, print));
  if (strcmp(print, trace->plan) != 0) {
    return plim_fail(trace->ctx, PLIM_EDATA, "%s: a trace of plan %.12s; %s is plan %.12s", path, trace->plan,
                     plan_path, print);
  }
  if (trace->n_commands != plan->n_commands) {
    return plim_fail(trace->ctx, PLIM_EDATA, "%s: line 1: steps: is %d; %s has %d commands", path, trace->n_commands,
                     plan_path, plan->n_commands);
  }
  for (int64_t r = 0; r < trace->n_rows; r++) {
    const plim_trace_row *row = &trace->row[r];
    const plim_command *command = &plan->command[row->command];
    const int32_t op = command->kind == PLIM_COMMAND_RUN ? command->op : PLIM_NONE;
    if (row->op == op && row->queue == command->queue) continue;
    return plim_fail(trace->ctx, PLIM_EDATA, "%s: line %lld: op and queue are not those of command %d of %s", path,
                     (long long)r + FIRST_ROW_LINE, row->command, plan_path);
  }
  return PLIM_OK;
}

void plim_trace_free(plim_trace *trace) {
  if (!trace) return;
  own_trace *own = (own_trace *)trace; /* the trace is its first member */
  plim_release(trace->ctx, own, own->block_bytes, 1);
}
