/* A convolution by definition, in double precision, over operands in any order of their elements. */
#ifndef PLIM_TESTS_SUPPORT_FAKE_CONVOLUTION_H
#define PLIM_TESTS_SUPPORT_FAKE_CONVOLUTION_H

#include <stdint.h>

typedef struct fake_convolution {
  int direction;                 /* 0: y of x and w; 1: x of w and y; 2: w of x and y */
  int64_t dim[3][4], step[3][4]; /* of x [N][C][H][W], w [O][I][R][S], y [N][O][H][W]; steps in elements */
  int64_t stride[2], pad[2];
  void *place[3];
  int bf16[3];     /* 1: elements are of two bytes */
  char *workspace; /* all of it is written */
  int64_t workspace_bytes;
  int wrong; /* 1: results are 5 % too large, as of an engine with a fault */
} fake_convolution;

void fake_convolution_run(const void *convolution);

#endif
