/* README.md and docs/: every file that they name exists, and the functions that a table of
 * architecture.md or planner.md names are in the row's files.
 */
#include <criterion/criterion.h>
#include <glob.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH "(kernels|runtime|planner|tools|tests|examples|docs)/[A-Za-z0-9_./-]*\\.(c|h|inc|cu|md|py|svg|txt|cmake)"

/* The next match of a pattern's first group from *at on, in `out`; *at moves past it. 0 when there is none. */
static int next_match(const char *pattern, const char **at, char *out, size_t size) {
  regex_t compiled;
  regmatch_t match[2];
  cr_assert_eq(regcomp(&compiled, pattern, REG_EXTENDED), 0);
  int found = regexec(&compiled, *at, 2, match, 0) == 0;
  regfree(&compiled);
  if (!found) return 0;
  (void)snprintf(out, size, "%.*s", (int)(match[1].rm_eo - match[1].rm_so), *at + match[1].rm_so);
  *at += match[1].rm_eo;
  return 1;
}

static int is_in_file(const char *path, const char *words) {
  static char line[1 << 14];
  char full[1024];
  (void)snprintf(full, sizeof full, PLIM_SOURCE_DIR "/%s", path);
  FILE *file = fopen(full, "r");
  int found = 0;
  while (file && !found && fgets(line, sizeof line, file)) found = strstr(line, words) != NULL;
  if (file) (void)fclose(file);
  return found;
}

/* Links are relative to the page's folder. */
static int check_line(const char *page, int number, const char *line) {
  char path[256], function[128], full[1024];
  const char *slash = strrchr(page, '/');
  const char *at = line;
  int checked = 0;
  while (next_match("(" PATH ")", &at, path, sizeof path)) {
    (void)snprintf(full, sizeof full, PLIM_SOURCE_DIR "/%s", path);
    cr_assert_eq(access(full, R_OK), 0, "%s:%d: there is no %s", page, number, path);
    checked++;
  }
  for (at = line; next_match("\\]\\(([A-Za-z0-9_./-]+)(#[^)]*)?\\)", &at, path, sizeof path);) {
    (void)snprintf(full, sizeof full, "%.*s/%s", (int)(slash - page), page, path);
    cr_assert_eq(access(full, R_OK), 0, "%s:%d: there is no %s", page, number, path);
    checked++;
  }
  if (line[0] != '|' || !(strstr(page, "architecture") || strstr(page, "planner"))) return checked;
  for (at = line; next_match("`([a-z_]*[a-z])`", &at, function, sizeof function);) {
    int files = 0, found = 0;
    for (const char *file = line; next_match("(" PATH ")", &file, path, sizeof path); files++) {
      found |= is_in_file(path, function);
    }
    cr_assert(files == 0 || found, "%s:%d: %s is not in %s", page, number, function, path);
    checked += files;
  }
  return checked;
}

static int check_pages(const char *pattern) {
  static char line[1 << 14];
  glob_t pages;
  int checked = 0;
  cr_assert_eq(glob(pattern, 0, NULL, &pages), 0);
  for (size_t i = 0; i < pages.gl_pathc; i++) {
    FILE *page = fopen(pages.gl_pathv[i], "r");
    cr_assert_not_null(page);
    for (int number = 1; fgets(line, sizeof line, page); number++)
      checked += check_line(pages.gl_pathv[i], number, line);
    (void)fclose(page);
  }
  globfree(&pages);
  return checked;
}

Test(pages, name_files_and_functions_that_exist) {
  cr_assert_geq(check_pages(PLIM_SOURCE_DIR "/README.md"), 10);
  cr_assert_geq(check_pages(PLIM_SOURCE_DIR "/docs/*.md"), 60);
}

Test(pages, of_the_readme_are_at_most_120_lines) {
  FILE *page = fopen(PLIM_SOURCE_DIR "/README.md", "r");
  int lines = 0;
  for (int c = page ? fgetc(page) : EOF; c != EOF; c = fgetc(page)) lines += c == '\n';
  cr_assert(page && fclose(page) == 0);
  cr_assert_leq(lines, 120);
}
