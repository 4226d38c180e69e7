/* Causal attention by definition, in double precision, over operands that strides describe. */
#ifndef PLIM_TESTS_SUPPORT_FAKE_ATTENTION_H
#define PLIM_TESTS_SUPPORT_FAKE_ATTENTION_H

#include <stdint.h>

/* q, k, v, o, statistics; backward also do, dq, dk, dv */
enum { FAKE_ATTENTION_TENSORS = 9, FAKE_ATTENTION_FORWARD = 5 };

typedef struct fake_attention {
  int backward;
  int64_t sequences, heads, tokens, depth;
  int64_t step[FAKE_ATTENTION_TENSORS][3]; /* elements from sequence to sequence, head to head, token to token */
  void *place[FAKE_ATTENTION_TENSORS];     /* bf16; statistics f32 */
  float scale;
  char *workspace; /* all of it is written */
  int64_t workspace_bytes;
  int wrong; /* 1: results are 5 % too large, as of an engine with a fault */
} fake_attention;

void fake_attention_run(const void *attention);

#endif
