/* README.md and docs/: every file that they name exists, the functions that a table of architecture.md or planner.md
 * names are in the row's files, the tests that online.md names exist, and rows of a table have as many cells as its
 * head. */
#include <criterion/criterion.h>
#include <glob.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
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
  const char *in_tree = page + strlen(PLIM_SOURCE_DIR); /* the checkout may lie in a folder of any name */
  if (line[0] != '|' || !(strstr(in_tree, "architecture") || strstr(in_tree, "planner"))) return checked;
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

/* All sources of tests, one after the other, as a text that the caller frees. */
static char *sources_of_tests(void) {
  char *text = NULL;
  size_t bytes = 0;
  glob_t paths;
  cr_assert_eq(glob(PLIM_SOURCE_DIR "/tests/*/test_*.c", 0, NULL, &paths), 0);
  cr_assert_eq(glob(PLIM_SOURCE_DIR "/tests/*/*/test_*.c", GLOB_APPEND, NULL, &paths), 0);
  FILE *out = open_memstream(&text, &bytes);
  cr_assert_not_null(out);
  for (size_t i = 0; i < paths.gl_pathc; i++) {
    FILE *in = fopen(paths.gl_pathv[i], "r");
    cr_assert_not_null(in);
    for (int c; (c = fgetc(in)) != EOF;) (void)fputc(c, out);
    (void)fclose(in);
  }
  cr_assert_eq(fclose(out), 0);
  globfree(&paths);
  return text;
}

Test(pages, name_tests_that_exist) {
  static char line[1 << 14];
  char named[256], wanted[300];
  char *sources = sources_of_tests();
  FILE *page = fopen(PLIM_SOURCE_DIR "/docs/online.md", "r");
  int checked = 0;
  cr_assert_not_null(page);
  for (int number = 1; fgets(line, sizeof line, page); number++) {
    const char *at = line;
    while (line[0] == '|' && next_match("[ ,]([a-z_]+/[a-z_]{15,})[ ,]", &at, named, sizeof named)) {
      char *slash = strchr(named, '/');
      *slash = 0;
      (void)snprintf(wanted, sizeof wanted, "Test(%s, %s", named, slash + 1);
      cr_expect(strstr(sources, wanted), "docs/online.md:%d: there is no %s)", number, wanted);
      checked++;
      at--; /* the separator may begin the next name */
    }
  }
  cr_assert_geq(checked, 20);
  (void)fclose(page);
  free(sources);
}

/* Functions of a row of the guide are declared in the row's headers, which are installed. */
static int check_api_row(int number, const char *line) {
  char path[256], function[128], call[130];
  int checked = 0, headers = 0;
  for (const char *at = line; next_match("(" PATH ")", &at, path, sizeof path); headers++) {
    cr_expect(is_in_file("tools/cmake/headers.cmake", path), "docs/guide.md:%d: %s is not installed", number, path);
  }
  for (const char *at = line; headers > 0 && next_match("`(plim_[a-z0-9_]+)`", &at, function, sizeof function);) {
    int found = 0;
    (void)snprintf(call, sizeof call, "%s(", function);
    for (const char *from = line; next_match("(" PATH ")", &from, path, sizeof path);) found |= is_in_file(path, call);
    cr_expect(found, "docs/guide.md:%d: %s is not in %s", number, function, path);
    checked++;
  }
  return checked;
}

Test(pages, name_public_functions_for_the_tasks_of_the_guide) {
  static char line[1 << 14];
  FILE *page = fopen(PLIM_SOURCE_DIR "/docs/guide.md", "r");
  int checked = 0;
  cr_assert_not_null(page);
  for (int number = 1; fgets(line, sizeof line, page); number++) {
    if (line[0] == '|') checked += check_api_row(number, line);
  }
  (void)fclose(page);
  cr_assert_geq(checked, 50);
}

static int cells(const char *row) {
  int bars = 0;
  for (const char *at = row; *at; at++) bars += *at == '|' && (at == row || at[-1] != '\\');
  return bars - 1;
}

/* Returns the number of rows. */
static int check_tables(const char *path) {
  static char line[1 << 14];
  int rows = 0, wanted = 0, is_code = 0;
  FILE *page = fopen(path, "r");
  cr_assert_not_null(page);
  for (int number = 1; fgets(line, sizeof line, page); number++) {
    if (strncmp(line, "```", 3) == 0) is_code = !is_code;
    int is_row = line[0] == '|' && !is_code;
    cr_expect(!is_row || wanted == 0 || cells(line) == wanted, "%s:%d: %d cells for %d", path, number, cells(line),
              wanted);
    wanted = is_row ? cells(line) : 0;
    rows += is_row;
  }
  (void)fclose(page);
  return rows;
}

Test(pages, have_tables_whose_rows_are_of_their_heads) {
  glob_t pages;
  int rows = 0;
  cr_assert_eq(glob(PLIM_SOURCE_DIR "/README.md", 0, NULL, &pages), 0);
  cr_assert_eq(glob(PLIM_SOURCE_DIR "/docs/*.md", GLOB_APPEND, NULL, &pages), 0);
  cr_assert_eq(glob(PLIM_SOURCE_DIR "/docs/results/*.md", GLOB_APPEND, NULL, &pages), 0);
  for (size_t i = 0; i < pages.gl_pathc; i++) rows += check_tables(pages.gl_pathv[i]);
  globfree(&pages);
  cr_assert_geq(rows, 500);
}

Test(pages, of_the_readme_are_at_most_120_lines) {
  FILE *page = fopen(PLIM_SOURCE_DIR "/README.md", "r");
  int lines = 0;
  for (int c = page ? fgetc(page) : EOF; c != EOF; c = fgetc(page)) lines += c == '\n';
  cr_assert(page && fclose(page) == 0);
  cr_assert_leq(lines, 120);
}
