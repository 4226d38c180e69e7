/* One word for one thing: our own sources, documents and messages use none of the patterns of docs/glossary.md. */
#include <criterion/criterion.h>
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_PATTERNS = 256, PATTERN_BYTES = 64, PATH_BYTES = 4096 };
static char pattern[MOST_PATTERNS][PATTERN_BYTES];
static int n_patterns, n_files;

/* Other people's words, records of earlier versions, and the table itself with its test. */
static const char *const skipped[] = {"tests/golden",
                                      "tests/corpus",
                                      "tests/data",
                                      "tests/plain",
                                      "docs/results",
                                      "docs/glossary.md",
                                      "tests/project/test_words.c"};

static char *read_text(const char *file) {
  char path[PATH_BYTES];
  (void)snprintf(path, sizeof path, "%s/%s", PLIM_SOURCE_DIR, file);
  FILE *f = fopen(path, "r");
  cr_assert(f, "cannot read %s", path);
  (void)fseek(f, 0, SEEK_END);
  const long bytes = ftell(f);
  rewind(f);
  char *text = malloc((size_t)bytes + 2);
  cr_assert(text);
  const size_t n = fread(text, 1, (size_t)bytes, f);
  text[n] = 0;
  (void)fclose(f);
  return text;
}

/* The patterns in backquotes of a table's last cell, the row's end excluded. */
static void read_row(char *row) {
  char *end = strrchr(row, '|');
  if (!end || end == row) return;
  *end = 0;
  char *cell = strrchr(row, '|');
  for (char *p = cell; p && (p = strchr(p, '`'));) {
    char *close = strchr(++p, '`');
    cr_assert(close, "docs/glossary.md: a backquote without its other half: %s", row);
    cr_assert(n_patterns < MOST_PATTERNS && close - p < PATTERN_BYTES, "too many patterns, or too long: %s", p);
    for (int i = 0; p < close; i++) pattern[n_patterns][i] = (char)tolower(*p++);
    n_patterns++;
    p = close + 1;
  }
}

static void read_patterns(void) {
  char *text = read_text("docs/glossary.md");
  for (char *save = NULL, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    if (line[0] == '|' && !strstr(line, "|---")) read_row(line);
  }
  free(text);
}

/* Lower case; a line break with what begins the next line of a comment is one space. */
static void flatten(char *text) {
  char *to = text;
  for (char *p = text; *p;) {
    if (*p != '\n') {
      *to++ = (char)tolower((unsigned char)*p++);
      continue;
    }
    *to++ = ' ';
    while (isspace((unsigned char)*p)) p++;
    while ((*p == '*' && p[1] == ' ') || (*p == '#' && p[1] == ' ') || (*p == '/' && p[1] == '/')) {
      p += *p == '/' ? 2 : 1;
      while (*p == ' ') p++;
    }
  }
  *to = 0;
}

static int is_part(char c) {
  return isalnum((unsigned char)c);
}

static void check_file(const char *file) {
  char *text = read_text(file);
  n_files++;
  flatten(text);
  for (int i = 0; i < n_patterns; i++) {
    const size_t length = strlen(pattern[i]);
    for (const char *p = text; (p = strstr(p, pattern[i])); p += length) {
      if ((p > text && is_part(p[-1])) || is_part(p[length])) continue;
      const int before = p - text < 40 ? (int)(p - text) : 40;
      cr_expect(0, "%s: \"%s\" is retired, see docs/glossary.md: ...%.100s", file, pattern[i], p - before);
      break;
    }
  }
  free(text);
}

static int is_checked(const char *name) {
  static const char *const ends[] = {".c",     ".h",  ".inc", ".cu",  ".cc", ".md",
                                     ".cmake", ".py", ".in",  ".txt", ".sh", ".html"};
  const char *dot = strrchr(name, '.');
  if (!dot) return 1; /* scripts */
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    if (strcmp(dot, ends[i]) == 0) return 1;
  }
  return 0;
}

static void check_tree(const char *file) {
  char path[PATH_BYTES], below[PATH_BYTES];
  struct stat s;
  for (size_t i = 0; i < sizeof skipped / sizeof *skipped; i++) {
    if (strcmp(file, skipped[i]) == 0) return;
  }
  (void)snprintf(path, sizeof path, "%s/%s", PLIM_SOURCE_DIR, file);
  cr_assert(lstat(path, &s) == 0, "cannot find %s", path);
  if (S_ISREG(s.st_mode) && is_checked(strrchr(file, '/') ? strrchr(file, '/') : file)) check_file(file);
  if (!S_ISDIR(s.st_mode)) return;
  DIR *d = opendir(path);
  cr_assert(d, "cannot list %s", path);
  for (struct dirent *e; (e = readdir(d));) {
    if (e->d_name[0] == '.' || strcmp(e->d_name, "__pycache__") == 0) continue;
    (void)snprintf(below, sizeof below, "%.2000s/%s", file, e->d_name);
    check_tree(below);
  }
  (void)closedir(d);
}

Test(words, no_source_uses_a_retired_word) {
  static const char *const roots[] = {"kernels", "runtime", "planner",   "tools",         "examples",
                                      "tests",   "docs",    "README.md", "CMakeLists.txt"};
  read_patterns();
  cr_assert_geq(n_patterns, 50, "docs/glossary.md: only %d patterns were found", n_patterns);
  for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) check_tree(roots[i]);
  cr_assert_geq(n_files, 400, "only %d files were found", n_files);
}

Test(words, a_pattern_matches_whole_parts_of_identifiers_alone) {
  cr_expect(is_part('a') && is_part('9') && !is_part('_') && !is_part(' ') && !is_part(0));
  char text[] = "/* made\n * again */ PLIM_Life";
  flatten(text);
  cr_expect_str_eq(text, "/* made again */ plim_life");
}
