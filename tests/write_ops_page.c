/* Writes docs/ops.md, the file that its argument names: the build target ops_page. */
#include "tests/support/ops_page.h"

int main(int argc, char **argv) {
  FILE *page = argc == 2 ? fopen(argv[1], "w") : NULL;
  if (!page) return 1;
  ops_page_write(page);
  const int failed = ferror(page);
  return fclose(page) != 0 || failed;
}
