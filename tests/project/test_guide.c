/* docs/guide.md: its Python reads what the program saves. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/child_program.h"
#include "tests/support/folder.h"

/* Writes the first block of Python of the guide that has `words` to a file of the test's folder. */
static void write_block(const char *words, const char *name) {
  static char text[1 << 13], line[1 << 12];
  size_t n = 0;
  int inside = 0, found = 0;
  FILE *page = fopen(PLIM_SOURCE_DIR "/docs/guide.md", "r");
  cr_assert_not_null(page);
  while (!found && fgets(line, sizeof line, page)) {
    if (strcmp(line, "```python\n") == 0) {
      inside = 1;
      n = 0;
    } else if (strcmp(line, "```\n") == 0) {
      found = inside && strstr(text, words) != NULL;
      inside = 0;
    } else if (inside) {
      n += (size_t)snprintf(text + n, sizeof text - n, "%s", line);
      cr_assert_lt(n, sizeof text);
    }
  }
  (void)fclose(page);
  cr_assert(found, "no block of the guide has %s", words);
  FILE *out = fopen(plim_test_path(name), "w");
  cr_assert_not_null(out);
  cr_assert_eq(fwrite(text, 1, n, out), n);
  cr_assert_eq(fclose(out), 0);
}

Test(guide, has_a_reader_of_checkpoints_that_knows_every_value, .fini = plim_test_folder_remove) {
  (void)plim_test_folder();
  if (plim_test_shell("command -v python3")->status != 0) cr_skip_test("SKIP: there is no python3");
  const program_run *run = plim_test_program(
      "train --model tinyres --data synthetic --batch 16 --steps 2 --model-costs --states bf16 --save w.ckpt -q");
  cr_assert_eq(run->status, 0, "%s", run->error);
  write_block("read_checkpoint", "read.py");
  run = plim_test_shell("python3 read.py");
  cr_assert_eq(run->status, 0, "%s", run->error);
  cr_expect(strstr(run->out, "stem.conv.weight f32 8 3 3 3\n"), "%s", run->out);
  cr_expect(strstr(run->out, "stem.conv.weight.velocity bf16 8 3 3 3\n"), "%s", run->out);
  cr_expect(strstr(run->out, "stem.bn.running f32 2 8\n"), "%s", run->out);
  cr_expect(strstr(run->out, "fc.weight f32 10 32\n"), "%s", run->out);
  run = plim_test_shell("printf x >> w.ckpt; python3 read.py");
  cr_expect_neq(run->status, 0, "a byte more is not seen");
}
