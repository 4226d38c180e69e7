/* What the tests of all documents do: change a text, feed it to a parser, look for a sentence. */
#ifndef PLIM_TESTS_SUPPORT_DOCUMENTS_H
#define PLIM_TESTS_SUPPORT_DOCUMENTS_H

#include "runtime/base/text.h"

/* Text of tests/golden/<name>; valid until the next call. */
const char *plim_test_golden(const char *name);

/* Parse a text called "doc.json" and free what was made. On success, when `again` is not NULL, the document is
 * written into it. */
typedef plim_status plim_test_parse(plim_context *ctx, const char *text, int64_t bytes, plim_text *again);

/* One change to a good document, and what the sentence must have. */
typedef struct plim_test_fault {
  const char *from, *to; /* the first `from` in the text becomes `to` */
  const char *sentence;  /* a part of it */
} plim_test_fault;

/* Each fault must be refused with PLIM_EDATA and its sentence. */
void plim_test_faults(plim_test_parse *parse, const char *text, const plim_test_fault *fault, int n);

/* The text must be accepted and written again byte for byte; every shorter one, but for that without its last
 * newline, must be refused; every refused allocation must leave nothing after. */
void plim_test_canonical(plim_test_parse *parse, const char *text);
void plim_test_cuts(plim_test_parse *parse, const char *text);
void plim_test_allocations(plim_test_parse *parse, const char *text);

/* Every byte of the text replaced by each of a few others: refused or accepted, but never a crash, and what is accepted
 * is written and read again. */
void plim_test_bytes(plim_test_parse *parse, const char *text);

#endif
