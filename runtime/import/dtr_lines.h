/* The lines of a DTR log: one JSON object each, with an instruction. On the thread of the context; the text must
 * outlive the walk. */
#ifndef PLIM_RUNTIME_IMPORT_DTR_LINES_H
#define PLIM_RUNTIME_IMPORT_DTR_LINES_H

#include "runtime/base/json.h"

/* clang-format off */
#define PLIM_DTR_KINDS(X) \
  X(ANNOTATE) X(CONSTANT) X(MEMORY) X(CALL) X(ALIAS) X(MUTATE) X(COPY) X(COPY_FROM) X(RELEASE) X(PIN)
/* clang-format on */
#define PLIM_X(id) PLIM_DTR_##id,
typedef enum plim_dtr_kind { PLIM_DTR_KINDS(PLIM_X) PLIM_DTR_KIND_COUNT } plim_dtr_kind;
#undef PLIM_X

typedef struct plim_dtr_lines {
  plim_context *ctx;
  const char *file, *next, *end;
  int64_t number; /* of the current line */
  int open;       /* 1: there is a current line */
  plim_dtr_kind kind;
  plim_json doc;
  plim_json_at root;
} plim_dtr_lines;

/* Begin a walk over text [bytes]; `file` names it in sentences. O(1). End it with plim_dtr_lines_end. */
void plim_dtr_lines_begin(plim_context *ctx, const char *file, const char *text, int64_t bytes, plim_dtr_lines *out);
void plim_dtr_lines_end(plim_dtr_lines *lines);

/* Go to the next line; *more is 0 at the end of the text, which must be the end of a line. PLIM_EDATA: the line is no
 * object with a known instruction. PLIM_ENOMEM. O(line). */
PLIM_MUST_USE plim_status plim_dtr_next(plim_dtr_lines *lines, int *more);

/* Read a text field of the current line, borrowed until the next line; a number that is written as text (decimal, at
 * least `least`). After a failure, which is in lines->doc.status (PLIM_EDATA) and ends the walk: "" and `least`. */
const char *plim_dtr_text(plim_dtr_lines *lines, const char *key);
int64_t plim_dtr_number(plim_dtr_lines *lines, const char *key, int64_t least);

#endif
