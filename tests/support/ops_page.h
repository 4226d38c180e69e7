/* docs/ops.md, from the rows of the op kinds. */
#ifndef PLIM_TESTS_SUPPORT_OPS_PAGE_H
#define PLIM_TESTS_SUPPORT_OPS_PAGE_H

#include <stdio.h>

/* The whole page. */
void ops_page_write(FILE *to);

#endif
