/* Where functions stand: what a header of runtime/ declares is in the .c file of its name, or in one that it names. */
#include <criterion/criterion.h>
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 128, MOST_FUNCTIONS = 2048, PATH_BYTES = 4096 };
static struct { char name[NAME], file[NAME]; /* file without its ending */ } function[MOST_FUNCTIONS];
static int n_functions, n_headers, n_elsewhere;

static char *read_text(const char *path) {
  FILE *f = fopen(path, "r");
  cr_assert(f, "cannot read %s", path);
  (void)fseek(f, 0, SEEK_END);
  const long bytes = ftell(f);
  rewind(f);
  char *text = malloc((size_t)bytes + 1);
  cr_assert(text);
  text[fread(text, 1, (size_t)bytes, f)] = 0;
  (void)fclose(f);
  return text;
}

static void blank_comments(char *text) {
  for (char *p = text; (p = strstr(p, "/*"));) {
    const char *end = strstr(p, "*/");
    for (end = end ? end + 2 : p + strlen(p); p < end; p++) {
      if (*p != '\n') *p = ' ';
    }
  }
}

/* The next call-like name of the library from *at on: "plim_" ... "("; 0: there is none. Moves *at after it. */
static int next_name(const char **at, char name[NAME]) {
  for (const char *p = *at; (p = strstr(p, "plim_")); p++) {
    const size_t length = strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789_");
    if ((p > *at && (isalnum((unsigned char)p[-1]) || p[-1] == '_')) || p[length] != '(' || length >= NAME) continue;
    (void)snprintf(name, NAME, "%.*s", (int)length, p);
    *at = p + length;
    return 1;
  }
  return 0;
}

/* A definition begins in the first column with a type, and has a brace before the next semicolon. */
static void read_definitions(char *text, const char *file) {
  blank_comments(text);
  for (char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
    char name[NAME];
    const char *at = line, *end = line + strcspn(line, "\n");
    if (!islower((unsigned char)*line) || strncmp(line, "static", 6) == 0 || strncmp(line, "typedef", 7) == 0) continue;
    if (!next_name(&at, name) || at > end || at[strcspn(at, ";{")] != '{') continue;
    cr_assert_lt(n_functions, MOST_FUNCTIONS);
    (void)snprintf(function[n_functions].name, NAME, "%s", name);
    (void)snprintf(function[n_functions++].file, NAME, "%s", file);
  }
}

static const char *file_of(const char *name) {
  for (int i = 0; i < n_functions; i++) {
    if (strcmp(function[i].name, name) == 0) return function[i].file;
  }
  return NULL;
}

static void check_header(const char *folder, char *text, const char *file) {
  char *whole = strdup(text), name[NAME], wanted[NAME + 2];
  const char *at = text;
  n_headers++;
  blank_comments(text);
  while (next_name(&at, name)) {
    const char *in = file_of(name);
    if (!in || strcmp(in, file) == 0) continue;
    n_elsewhere++;
    (void)snprintf(wanted, sizeof wanted, "%s.c", in);
    cr_expect(strstr(whole, wanted), "%s/%s.h declares %s, which stands in %s, and does not say so", folder, file, name,
              wanted);
  }
  free(whole);
}

/* Does the name end so? Then `stem` is what precedes. */
static int has_ending(const char *name, const char *ending, char stem[NAME]) {
  const size_t length = strlen(name), tail = strlen(ending);
  if (length <= tail || length >= NAME || strcmp(name + length - tail, ending) != 0) return 0;
  (void)snprintf(stem, NAME, "%.*s", (int)(length - tail), name);
  return 1;
}

static void walk(const char *folder, const char *ending) {
  char path[PATH_BYTES], stem[NAME];
  (void)snprintf(path, sizeof path, "%s/%s", PLIM_SOURCE_DIR, folder);
  DIR *d = opendir(path);
  cr_assert(d, "cannot list %s", path);
  for (struct dirent *e; (e = readdir(d));) {
    if (!has_ending(e->d_name, ending, stem)) continue;
    (void)snprintf(path, sizeof path, "%s/%s/%.255s", PLIM_SOURCE_DIR, folder, e->d_name);
    char *text = read_text(path);
    if (ending[1] == 'c') {
      read_definitions(text, stem);
    } else {
      check_header(folder, text, stem);
    }
    free(text);
  }
  (void)closedir(d);
}

Test(headers, name_the_files_in_which_their_functions_stand) {
  static const char *const folders[] = {"runtime/base",   "runtime/graph", "runtime/graph/check", "runtime/graph/space",
                                        "runtime/import", "runtime/arena", "runtime/inspect",     "runtime/simulate",
                                        "runtime/device", "runtime/exec",  "runtime/profile",     "runtime/program",
                                        "runtime/data",   "runtime/train", "runtime/net"};
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) walk(folders[i], ".c");
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) walk(folders[i], ".h");
  cr_assert_geq(n_functions, 400, "only %d functions were found", n_functions);
  cr_assert_geq(n_headers, 100, "only %d headers were found", n_headers);
  cr_assert_geq(n_elsewhere, 50, "only %d functions stand in another file", n_elsewhere);
}
