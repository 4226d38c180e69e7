/* Reads and writes the CSV dialect of MiniMalloc (docs/formats.md). The reader is strict: it splits a copy of the text
 * in place into lines and fields, and checks every number before it is used. Source of the dialect: MiniMalloc
 * (Moffitt, ASPLOS 2023). */
#include "planner/pack/buffers_csv.h"

#include <stdlib.h>
#include <string.h>

#include "planner/pack/pack.h"
#include "runtime/base/file.h"
#include "runtime/base/integers.h"

typedef enum column { ID, LOWER, UPPER, SIZE, ALIGNMENT, HINT, GAPS, OFFSET, COLUMNS } column;

static const struct {
  const char *name;
  column column;
  int32_t is_inclusive; /* 1: the ends are the last steps */
} names[] = {{"id", ID, 0},        {"buffer", ID, 0},   {"buffer_id", ID, 0},        {"lower", LOWER, 0},
             {"begin", LOWER, 0},  {"start", LOWER, 0}, {"upper", UPPER, 0},         {"end", UPPER, 1},
             {"size", SIZE, 0},    {"hint", HINT, 0},   {"alignment", ALIGNMENT, 0}, {"gaps", GAPS, 0},
             {"offset", OFFSET, 0}};
static const char *const titles[COLUMNS] = {"id", "lower", "upper", "size", "alignment", "hint", "gaps", "offset"};
enum { NAMES = sizeof names / sizeof names[0], MAX_BUFFERS = 1 << 26 };
static const int64_t time_limit = INT64_C(1) << 60, bytes_limit = INT64_C(1) << 62, file_limit = INT64_C(1) << 31;

/* A field or line: [begin, end). */
typedef struct span {
  char *begin, *end;
} span;

typedef struct reader {
  plim_buffer_list *buffers;
  const char *name;
  span unread;
  int64_t line;
  int32_t fields;
  int32_t field_of[COLUMNS]; /* -1: the column is missing */
  int32_t is_inclusive;
  int64_t bytes; /* of all buffers so far, with what alignments may add */
} reader;

static plim_status fail_field(const reader *input, const char *what, span field, const char *must) {
  int length = field.end - field.begin > 40 ? 40 : (int)(field.end - field.begin);
  return plim_fail(input->buffers->ctx, PLIM_EDATA, "%s: line %lld: %s \"%.*s\" %s", input->name,
                   (long long)input->line, what, length, field.begin, must);
}

/* The next line without its end; 0: nothing is left, or an empty line ends the file. */
static int next_line(reader *input, span *line) {
  if (input->unread.begin == input->unread.end) return 0;
  char *end = memchr(input->unread.begin, '\n', (size_t)(input->unread.end - input->unread.begin));
  line->begin = input->unread.begin;
  line->end = end ? end : input->unread.end;
  input->unread.begin = end ? end + 1 : input->unread.end;
  input->line++;
  if (line->end > line->begin && line->end[-1] == '\r') line->end--;
  return line->end > line->begin;
}

/* Take what comes before `mark` (or all) from the front of `from`; 0: nothing comes any more. */
static int take_until(span *from, char mark, span *part) {
  if (!from->begin) return 0;
  char *at = from->begin < from->end ? memchr(from->begin, mark, (size_t)(from->end - from->begin)) : NULL;
  *part = (span){from->begin, at ? at : from->end};
  from->begin = at ? at + 1 : NULL;
  return 1;
}

static int is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* A whole number from the front of `text` into *out; 0: there is none, or it has more than 63 bits. */
static int take_number(span *text, int64_t *out) {
  char *at = text->begin;
  int negative = at < text->end && *at == '-';
  int64_t x = 0;
  at += negative;
  if (at == text->end || !is_digit(*at)) return 0;
  for (; at < text->end && is_digit(*at) && x >= 0; at++) x = plim_add_checked(plim_mul_checked(x, 10), *at - '0');
  text->begin = at;
  *out = negative ? -x : x;
  return x >= 0;
}

static plim_status read_number(const reader *input, column c, span field, int64_t low, int64_t high, int64_t *out) {
  span text = field;
  if (!take_number(&text, out) || text.begin != text.end) {
    return fail_field(input, titles[c], field, "is not a whole number of 63 bits");
  }
  if (*out < low) return fail_field(input, titles[c], field, "is too small");
  if (*out > high) return fail_field(input, titles[c], field, "is too large");
  return PLIM_OK;
}

static plim_status read_header(reader *input) {
  span line, field;
  for (int c = 0; c < COLUMNS; c++) input->field_of[c] = -1;
  if (!next_line(input, &line)) {
    return plim_fail(input->buffers->ctx, PLIM_EDATA, "%s: line 1: a header is missing, as in id,lower,upper,size",
                     input->name);
  }
  for (; take_until(&line, ',', &field); input->fields++) {
    size_t length = (size_t)(field.end - field.begin);
    for (int i = 0; i < NAMES; i++) {
      if (strlen(names[i].name) != length || memcmp(names[i].name, field.begin, length) != 0) continue;
      if (input->field_of[names[i].column] >= 0) {
        return fail_field(input, "column", field, "stands here for the second time, maybe under another name");
      }
      input->field_of[names[i].column] = input->fields;
      input->is_inclusive |= names[i].is_inclusive;
    }
  }
  for (int c = ID; c <= SIZE; c++) {
    if (input->field_of[c] >= 0) continue;
    return plim_fail(input->buffers->ctx, PLIM_EDATA, "%s: line 1: column \"%s\" is missing", input->name, titles[c]);
  }
  return PLIM_OK;
}

/* lo-hi or lo-hi@low:high. */
static plim_status read_gap(reader *input, span text, const plim_box *box) {
  plim_buffer_list *list = input->buffers;
  plim_pack_gap gap = {0, 0, 0, 0};
  const plim_pack_gap *before = list->n_gaps > list->gap_first[list->n] ? &list->gap[list->n_gaps - 1] : NULL;
  span at = text;
  int good = take_number(&at, &gap.begin) && at.begin < at.end && *at.begin++ == '-' && take_number(&at, &gap.end);
  if (good && at.begin < at.end) {
    good = *at.begin++ == '@' && take_number(&at, &gap.low) && at.begin < at.end && *at.begin++ == ':' &&
           take_number(&at, &gap.high) && at.begin == at.end && gap.low >= 0 && gap.low < gap.high &&
           gap.high <= box->bytes;
  }
  if (!good) return fail_field(input, "gap", text, "is not LO-HI or LO-HI@LOW:HIGH with LOW < HIGH within the size");
  if (gap.end < INT64_MAX) gap.end += input->is_inclusive;
  if (gap.begin >= gap.end || gap.begin < box->begin || gap.end > box->end || (before && gap.begin < before->end)) {
    return fail_field(input, "gap", text,
                      "is empty, outside its buffer, or begins before the gap in front of it has ended");
  }
  PLIM_TRY(plim_array_reserve(list->ctx, &list->gap, &list->gap_capacity, list->n_gaps + 1, sizeof *list->gap));
  list->gap[list->n_gaps++] = gap;
  return PLIM_OK;
}

static plim_status read_gaps(reader *input, span field, const plim_box *box) {
  span part;
  while (take_until(&field, ' ', &part)) {
    if (part.begin == part.end) continue;
    if (input->buffers->n_gaps == INT32_MAX) return fail_field(input, "gap", part, "is one too many");
    PLIM_TRY(read_gap(input, part, box));
  }
  return PLIM_OK;
}

static plim_status read_id(reader *input, span field) {
  for (const char *c = field.begin; c < field.end; c++) {
    if ((unsigned char)*c < 0x20 || *c == 0x7f) return fail_field(input, "id", field, "has a control character");
  }
  if (field.begin == field.end) return fail_field(input, "id", field, "is empty");
  input->buffers->id[input->buffers->n] = field.begin;
  *field.end = 0; /* a comma, or what ends the line: read already */
  return PLIM_OK;
}

/* -1 or nothing: free. */
static plim_status read_offset(const reader *input, span field, int64_t align, int64_t *out) {
  *out = -1;
  if (field.begin == field.end) return PLIM_OK;
  PLIM_TRY(read_number(input, OFFSET, field, -1, bytes_limit, out));
  if (*out > 0 && *out % align != 0) return fail_field(input, "offset", field, "is no multiple of the alignment");
  return PLIM_OK;
}

static plim_status read_row(reader *input, const span *value) {
  plim_buffer_list *list = input->buffers;
  plim_box *box = &list->box[list->n];
  int64_t *align = &list->align[list->n], *hint = &list->hint[list->n];
  *box = (plim_box){0, 0, 0, -1};
  *align = 1;
  *hint = -1;
  PLIM_TRY(read_number(input, LOWER, value[LOWER], -time_limit, time_limit, &box->begin));
  PLIM_TRY(read_number(input, UPPER, value[UPPER], -time_limit, time_limit, &box->end));
  box->end += input->is_inclusive;
  PLIM_TRY(read_number(input, SIZE, value[SIZE], 0, bytes_limit, &box->bytes));
  if (box->begin >= box->end) {
    return fail_field(input, "upper", value[UPPER], "is not after lower: the buffer has no step");
  }
  if (value[ALIGNMENT].begin) PLIM_TRY(read_number(input, ALIGNMENT, value[ALIGNMENT], 1, bytes_limit, align));
  input->bytes = plim_add_checked(input->bytes, box->bytes + *align - 1);
  if (input->bytes < 0 || input->bytes >= bytes_limit) {
    return fail_field(input, "size", value[SIZE], "makes the sum of all sizes and alignments reach 2^62");
  }
  if (value[HINT].begin) PLIM_TRY(read_number(input, HINT, value[HINT], -1, bytes_limit, hint));
  if (value[OFFSET].begin) PLIM_TRY(read_offset(input, value[OFFSET], *align, &box->fixed));
  if (value[GAPS].begin) PLIM_TRY(read_gaps(input, value[GAPS], box));
  PLIM_TRY(read_id(input, value[ID]));
  list->gap_first[++list->n] = list->n_gaps;
  return PLIM_OK;
}

static plim_status read_rows(reader *input) {
  span line, field;
  while (next_line(input, &line)) {
    span value[COLUMNS] = {{0}}, left = line;
    int32_t fields = 0;
    for (; take_until(&left, ',', &field); fields++) {
      for (int c = 0; c < COLUMNS; c++) {
        if (input->field_of[c] == fields) value[c] = field;
      }
    }
    if (fields != input->fields) {
      return plim_fail(input->buffers->ctx, PLIM_EDATA, "%s: line %lld: %d fields, the header has %d", input->name,
                       (long long)input->line, fields, input->fields);
    }
    PLIM_TRY(read_row(input, value));
  }
  return PLIM_OK;
}

typedef struct named {
  const char *id;
  int32_t buffer;
} named;

static int by_id(const void *a, const void *b) {
  const named *x = a, *y = b;
  int order = strcmp(x->id, y->id);
  return order ? order : plim_integers_compare(x->buffer, y->buffer);
}

/* Line of a buffer: the header is line 1. */
static long long line_of(int32_t buffer) {
  return (long long)buffer + 2;
}

static plim_status check_ids(const reader *input) {
  const plim_buffer_list *list = input->buffers;
  named *sorted = NULL;
  plim_status status = PLIM_OK;
  PLIM_TRY(plim_allocate(list->ctx, list->n, sizeof *sorted, &sorted));
  for (int32_t i = 0; i < list->n; i++) sorted[i] = (named){list->id[i], i};
  qsort(sorted, (size_t)list->n, sizeof *sorted, by_id);
  for (int32_t i = 1; i < list->n && status == PLIM_OK; i++) {
    if (strcmp(sorted[i - 1].id, sorted[i].id) != 0) continue;
    status = plim_fail(list->ctx, PLIM_EDATA, "%s: line %lld: id \"%.40s\" is that of line %lld", input->name,
                       line_of(sorted[i].buffer), sorted[i].id, line_of(sorted[i - 1].buffer));
  }
  plim_release(list->ctx, sorted, list->n, sizeof *sorted);
  return status;
}

static plim_status check_fixed(const reader *input) {
  const plim_buffer_list *list = input->buffers;
  plim_boxes boxes = plim_buffer_list_boxes(list, 1);
  int64_t *fixed = NULL;
  int32_t pair[2];
  PLIM_TRY(plim_allocate(list->ctx, list->n, sizeof *fixed, &fixed));
  for (int32_t i = 0; i < list->n; i++) fixed[i] = list->box[i].fixed;
  plim_status status = plim_boxes_find_overlap(list->ctx, &boxes, fixed, pair);
  plim_release(list->ctx, fixed, list->n, sizeof *fixed);
  if (status != PLIM_OK || pair[0] < 0) return status;
  return plim_fail(list->ctx, PLIM_EDATA,
                   "%s: lines %lld and %lld: \"%.40s\" at %lld and \"%.40s\" at %lld overlap in time and space",
                   input->name, line_of(pair[0]), line_of(pair[1]), list->id[pair[0]],
                   (long long)list->box[pair[0]].fixed, list->id[pair[1]], (long long)list->box[pair[1]].fixed);
}

/* Room for a buffer a line. */
static plim_status allocate_list(plim_buffer_list *list, const char *text, int64_t bytes) {
  int64_t lines = 1;
  for (int64_t i = 0; i < bytes; i++) lines += text[i] == '\n';
  if (lines > MAX_BUFFERS) return plim_fail(list->ctx, PLIM_EDATA, "more than %d lines", MAX_BUFFERS);
  list->buffer_capacity = lines;
  list->n_chars = bytes + 1;
  PLIM_TRY(plim_allocate(list->ctx, list->n_chars, 1, &list->chars));
  PLIM_TRY(plim_allocate(list->ctx, lines, sizeof *list->id, &list->id));
  PLIM_TRY(plim_allocate(list->ctx, lines, sizeof *list->box, &list->box));
  PLIM_TRY(plim_allocate(list->ctx, lines, sizeof *list->align, &list->align));
  PLIM_TRY(plim_allocate(list->ctx, lines, sizeof *list->hint, &list->hint));
  PLIM_TRY(plim_allocate(list->ctx, lines + 1, sizeof *list->gap_first, &list->gap_first));
  if (bytes > 0) memcpy(list->chars, text, (size_t)bytes);
  return PLIM_OK;
}

plim_status plim_buffer_list_parse(plim_context *ctx, const char *name, const char *text, int64_t bytes,
                                   plim_buffer_list **out) {
  plim_buffer_list *list = NULL;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, 1, sizeof *list, &list));
  list->ctx = ctx;
  PLIM_TRY_OR_DONE(allocate_list(list, text, bytes));
  reader input = {.buffers = list, .name = name, .unread = {list->chars, list->chars + bytes}};
  PLIM_TRY_OR_DONE(read_header(&input));
  PLIM_TRY_OR_DONE(read_rows(&input));
  PLIM_TRY_OR_DONE(check_ids(&input));
  PLIM_TRY_OR_DONE(check_fixed(&input));
  *out = list;
done:
  if (status != PLIM_OK) plim_buffer_list_free(list);
  return status;
}

plim_status plim_buffer_list_load(plim_context *ctx, const char *path, plim_buffer_list **out) {
  char *data = NULL;
  int64_t bytes = 0;
  PLIM_TRY(plim_file_read(ctx, path, file_limit, &data, &bytes));
  plim_status status = plim_buffer_list_parse(ctx, path, data, bytes, out);
  plim_file_release(ctx, data, bytes);
  return status;
}

void plim_buffer_list_free(plim_buffer_list *list) {
  if (!list) return;
  plim_release(list->ctx, list->chars, list->n_chars, 1);
  plim_release(list->ctx, list->id, list->buffer_capacity, sizeof *list->id);
  plim_release(list->ctx, list->box, list->buffer_capacity, sizeof *list->box);
  plim_release(list->ctx, list->align, list->buffer_capacity, sizeof *list->align);
  plim_release(list->ctx, list->hint, list->buffer_capacity, sizeof *list->hint);
  plim_release(list->ctx, list->gap_first, list->buffer_capacity + 1, sizeof *list->gap_first);
  plim_release(list->ctx, list->gap, list->gap_capacity, sizeof *list->gap);
  plim_release(list->ctx, list, 1, sizeof *list);
}

plim_boxes plim_buffer_list_boxes(const plim_buffer_list *list, int64_t align) {
  return (plim_boxes){.n = list->n,
                      .align = align,
                      .box = list->box,
                      .own_align = list->align,
                      .hint = list->hint,
                      .gap_first = list->gap_first,
                      .gap = list->n_gaps > 0 ? list->gap : NULL};
}

/* Columns that some buffer needs. */
static void choose_columns(const plim_buffer_list *list, const int64_t *offset, int *wanted) {
  for (int c = 0; c < COLUMNS; c++) wanted[c] = c <= SIZE;
  wanted[OFFSET] = offset != NULL;
  wanted[GAPS] = list->n_gaps > 0;
  for (int32_t i = 0; i < list->n; i++) {
    wanted[ALIGNMENT] |= list->align[i] != 1;
    wanted[HINT] |= list->hint[i] != -1;
    wanted[OFFSET] |= list->box[i].fixed >= 0;
  }
}

static void write_gaps(plim_text *text, const plim_buffer_list *list, int32_t i) {
  plim_text_add(text, ",");
  for (int32_t g = list->gap_first[i]; g < list->gap_first[i + 1]; g++) {
    const plim_pack_gap *gap = &list->gap[g];
    plim_text_format(text, "%s%lld-%lld", g > list->gap_first[i] ? " " : "", (long long)gap->begin,
                     (long long)gap->end);
    if (gap->low < gap->high) plim_text_format(text, "@%lld:%lld", (long long)gap->low, (long long)gap->high);
  }
}

void plim_buffer_list_write(plim_text *text, const plim_buffer_list *list, const int64_t *offset) {
  int wanted[COLUMNS];
  choose_columns(list, offset, wanted);
  for (int c = 0; c < COLUMNS; c++) {
    if (wanted[c]) plim_text_format(text, "%s%s", c > 0 ? "," : "", titles[c]);
  }
  plim_text_add(text, "\n");
  for (int32_t i = 0; i < list->n; i++) {
    const plim_box *box = &list->box[i];
    plim_text_add(text, list->id[i]);
    plim_text_format(text, ",%lld,%lld,%lld", (long long)box->begin, (long long)box->end, (long long)box->bytes);
    if (wanted[ALIGNMENT]) plim_text_format(text, ",%lld", (long long)list->align[i]);
    if (wanted[HINT]) plim_text_format(text, ",%lld", (long long)list->hint[i]);
    if (wanted[GAPS]) write_gaps(text, list, i);
    if (wanted[OFFSET]) plim_text_format(text, ",%lld", (long long)(offset ? offset[i] : box->fixed));
    plim_text_add(text, "\n");
  }
}
