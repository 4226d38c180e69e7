/* Rules for every source file: the include table of docs/architecture.md, one meaning a type name, one initialiser a
 * set of options. */
#include <criterion/criterion.h>
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A file belongs to the first row whose prefix it has. It may include what begins with one of the row's names. A name
 * that ends in "*" allows the files of that folder, and none of its subfolders. */
typedef struct layer {
  const char *prefix;
  const char *may[20];
} layer;
#define BASE "runtime/base/", "kernels/op.h", "kernels/philox.h", "kernels/fnv.h"
#define GRAPH BASE, "runtime/graph/"
#define CORE GRAPH, "planner/planner.h", "planner/pack/", "planner/front/", "planner/core/"
#define SPACES GRAPH, "planner/spaces/spaces_tuning.h"
enum { MOST_NAMED = 20 };
static const layer layers[] = {
    {"kernels/op.", {"kernels/op.h", "kernels/op_rows.h"}},
    {"kernels/op_", {"kernels/op.h", "kernels/op_rows.h"}},
    {"kernels/philox.h", {NULL}},
    {"kernels/fnv.h", {NULL}},
    {"kernels/", {"kernels/"}},
    {"runtime/base/", {BASE}},
    {"runtime/graph/check/", {BASE, "runtime/graph/*", "runtime/graph/check/"}},
    {"runtime/graph/space/", {BASE, "runtime/graph/*", "runtime/graph/space/"}},
    {"runtime/graph/", {BASE, "runtime/graph/*"}},
    {"runtime/import/", {GRAPH, "runtime/import/"}},
    {"runtime/arena/", {GRAPH, "runtime/arena/"}},
    {"runtime/inspect/", {GRAPH, "runtime/arena/", "runtime/inspect/"}},
    {"runtime/net/", {GRAPH, "runtime/net/"}},
    {"planner/pack/", {GRAPH, "planner/pack/"}},
    {"planner/front/", {GRAPH, "planner/front/"}},
    {"planner/core/", {CORE}},
    {"planner/track/", {CORE, "planner/track/"}},
    {"planner/bound/", {CORE, "planner/bound/"}},
    {"planner/chain/", {CORE, "planner/chain/"}},
    {"planner/search/", {CORE, "planner/track/", "planner/chain/", "planner/search/"}},
    {"planner/solvers/", {BASE, "planner/solvers/"}},
    {"planner/spaces/problem/", {SPACES, "planner/spaces/problem/"}},
    {"planner/spaces/search/", {SPACES, "planner/spaces/problem/", "planner/spaces/search/"}},
    {"planner/spaces/bound/",
     {SPACES, "planner/spaces/problem/", "planner/spaces/search/space_search.h", "planner/spaces/bound/"}},
    {"planner/spaces/program/", {SPACES, "planner/solvers/", "planner/spaces/problem/", "planner/spaces/program/"}},
    {"planner/spaces/", {SPACES, "planner/front/", "planner/solvers/", "planner/spaces/"}},
    {"planner/paging/",
     {GRAPH, "planner/planner.h", "planner/one_arena/arena_plan.h", "planner_hash.h" /* generated */, "planner/pack/",
      "planner/front/", "planner/spaces/", "planner/paging/"}},
    {"planner/one_arena/",
     {CORE, "planner/search/", "planner/bound/", "planner/strategies/strategy.h", "planner/one_arena/"}},
    {"planner/exact/", {CORE, "planner/solvers/", "planner/exact/"}},
    {"planner/strategies/",
     {CORE, "planner_hash.h" /* generated */, "runtime/arena/", "planner/track/", "planner/bound/", "planner/chain/",
      "planner/search/", "planner/solvers/", "planner/exact/", "planner/strategies/"}},
    {"planner/", {GRAPH, "runtime/arena/", "planner/"}},
    {"runtime/simulate/", {GRAPH, "runtime/arena/", "runtime/inspect/", "planner/planner.h", "runtime/simulate/"}},
    {"runtime/device/",
     {GRAPH, "kernels_hash.h" /* generated */, "runtime/arena/", "kernels/table.h", "kernels/cuda/",
      "runtime/device/"}},
    {"runtime/profile/", {GRAPH, "kernels/table.h", "runtime/device/", "runtime/profile/"}},
    {"runtime/exec/",
     {GRAPH, "runtime/arena/", "kernels/table.h", "kernels/parts.h", "runtime/device/", "runtime/profile/",
      "runtime/exec/"}},
    {"runtime/program/",
     {GRAPH, "runtime/arena/", "runtime/net/", "runtime/device/", "runtime/profile/", "planner/planner.h",
      "runtime/program/"}},
    {"runtime/data/", {BASE, "runtime/data/"}},
    {"runtime/train/", {BASE, "runtime/", "planner/planner.h", "kernels/table.h"}},
    {"tools/include/", {"runtime/", "planner/", "kernels/op.h", "kernels/table.h", "plimsoll/"}},
    {"tools/gpu_probe", {"runtime/", "kernels/", "tools/"}}, /* it measures kernels and driver by themselves */
    {"tools/",
     {"runtime/", "planner/", "kernels/op.h", "kernels/philox.h", "kernels/table.h", "tools/",
      "trace_page.h" /* generated */}},
    {"examples/", {"runtime/", "planner/", "kernels/op.h", "kernels/philox.h", "kernels/table.h"}},
    {"tests/plain/", {"criterion/criterion.h" /* its own */}},
    {"tests/", {"runtime/", "planner/", "kernels/", "tests/", "tools/"}},
};
enum { N_LAYERS = sizeof layers / sizeof layers[0] };
static const char *const folders[] = {"kernels", "runtime", "planner", "tools", "examples", "tests"};

static int begins(const char *text, const char *prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

static int matches(const char *include, const char *name) {
  const size_t n = strlen(name);
  if (n == 0 || name[n - 1] != '*') return begins(include, name);
  return strncmp(include, name, n - 1) == 0 && !strchr(include + n - 1, '/');
}

static const layer *layer_of(const char *file) {
  for (int i = 0; i < N_LAYERS; i++) {
    if (begins(file, layers[i].prefix)) return &layers[i];
  }
  return NULL;
}

static int allowed(const layer *rule, const char *include) {
  for (int i = 0; i < MOST_NAMED && rule->may[i]; i++) {
    if (matches(include, rule->may[i])) return 1;
  }
  return 0;
}

static int is_source(const char *name) {
  const char *dot = strrchr(name, '.');
  return dot && (!strcmp(dot, ".c") || !strcmp(dot, ".h") || !strcmp(dot, ".inc") || !strcmp(dot, ".cu"));
}

/* Is it a header that the files of another folder of the planner share among themselves? Tests may include it, and
 * tools/solver, the program in which solvers run, those of planner/solvers. */
static int is_internal_elsewhere(const char *file, const char *include) {
  const char *base = strrchr(include, '/');
  if (!begins(include, "planner/") || !strstr(include, "_internal.h") || begins(file, "tests/")) return 0;
  if (begins(file, "tools/solver/") && begins(include, "planner/solvers/")) return 0;
  return strncmp(file, include, (size_t)(base - include) + 1) != 0;
}

static int files, includes;

static void check_file(const char *file) {
  const layer *rule = layer_of(file);
  cr_assert(rule, "%s is in no layer", file);
  char path[4096], line[4096], include[256];
  (void)snprintf(path, sizeof path, "%s/%s", PLIM_SOURCE_DIR, file);
  FILE *f = fopen(path, "r");
  cr_assert(f, "cannot read %s", path);
  files++;
  while (fgets(line, sizeof line, f)) {
    if (sscanf(line, " # include \"%255[^\"]\"", include) != 1) continue;
    includes++;
    cr_expect(allowed(rule, include), "%s may not include %s", file, include);
    cr_expect(!is_internal_elsewhere(file, include), "%s includes %s, of another folder alone", file, include);
  }
  (void)fclose(f);
}

/* Call `visit` with every source file of a folder. */
static void walk(const char *folder, void (*visit)(const char *file)) {
  char path[4096];
  (void)snprintf(path, sizeof path, "%s/%s", PLIM_SOURCE_DIR, folder);
  DIR *dir = opendir(path);
  if (!dir) return;
  for (struct dirent *entry; (entry = readdir(dir));) {
    if (entry->d_name[0] == '.') continue;
    char child[2048];
    (void)snprintf(child, sizeof child, "%s/%s", folder, entry->d_name);
    (void)snprintf(path, sizeof path, "%s/%s", PLIM_SOURCE_DIR, child);
    struct stat st;
    cr_assert(stat(path, &st) == 0);
    if (S_ISDIR(st.st_mode)) {
      walk(child, visit);
    } else if (is_source(entry->d_name)) {
      visit(child);
    }
  }
  (void)closedir(dir);
}

Test(layers, no_file_includes_what_its_layer_may_not_see) {
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) walk(folders[i], check_file);
  cr_assert(files > 20 && includes > 20, "only %d files and %d includes were found", files, includes);
}

Test(layers, the_rule_itself_can_refuse) {
  cr_assert(!allowed(layer_of("planner/search/portfolio.c"), "runtime/device/device.h"));
  cr_assert(!allowed(layer_of("runtime/graph/check/check.c"), "planner/core/problem.h"));
  cr_assert(!allowed(layer_of("runtime/graph/check/check.c"), "runtime/import/import.h"));
  cr_assert(!allowed(layer_of("runtime/graph/check/check.c"), "runtime/graph/space/space_plan.h"));
  cr_assert(!allowed(layer_of("runtime/graph/plan.c"), "runtime/graph/check/check.h"));
  cr_assert(allowed(layer_of("runtime/graph/check/check.c"), "runtime/graph/plan.h"));
  cr_assert(!allowed(layer_of("kernels/bn.inc"), "runtime/base/context.h"));
  cr_assert(!allowed(layer_of("planner/bound/cut.c"), "planner/search/searches.h"));
  cr_assert(!allowed(layer_of("planner/search/portfolio.c"), "planner/strategies/strategy.h"));
  cr_assert(!allowed(layer_of("runtime/device/device.c"), "runtime/profile/profiler.h"));
  cr_assert(allowed(layer_of("runtime/train/loop.c"), "planner/planner.h"));
  cr_assert(!allowed(layer_of("runtime/train/loop.c"), "planner/core/problem.h"));
  cr_assert(is_internal_elsewhere("planner/search/polish.c", "planner/solvers/solvers_internal.h"));
  cr_assert(is_internal_elsewhere("tools/plimsoll/cmd_pack.c", "planner/pack/exact_internal.h"));
  cr_assert(!is_internal_elsewhere("planner/pack/niche.c", "planner/pack/niche_internal.h"));
  cr_assert(!is_internal_elsewhere("tests/planner/pack/test_niche_cover.c", "planner/pack/niche_internal.h"));
}

/* Do the rows of two folders let each include the other, directly or through others? */
static int reaches(const layer *from, const layer *to, int depth) {
  if (depth == 0) return 0;
  for (int i = 0; i < N_LAYERS; i++) {
    const layer *next = &layers[i];
    if (next == from || !allowed(from, next->prefix)) continue;
    if (next == to || reaches(next, to, depth - 1)) return 1;
  }
  return 0;
}

/* The parts of the planner and of the runtime: rows of one folder each. */
static int is_part(const layer *row) {
  size_t n = strlen(row->prefix);
  return n > 0 && row->prefix[n - 1] == '/' && (begins(row->prefix, "planner/") || begins(row->prefix, "runtime/"));
}

Test(layers, arrows_between_folders_go_one_way) {
  int pairs = 0;
  for (int i = 0; i < N_LAYERS; i++) {
    for (int j = i + 1; j < N_LAYERS; j++) {
      if (!is_part(&layers[i]) || !is_part(&layers[j])) continue;
      pairs++;
      int both = reaches(&layers[i], &layers[j], 5) && reaches(&layers[j], &layers[i], 5);
      cr_expect(!both, "%s and %s may include each other", layers[i].prefix, layers[j].prefix);
    }
  }
  cr_assert_gt(pairs, 100);
}

/* Where the library may name the allocator of C. All other memory comes from the context's hook, is counted and can be
 * refused. */
static const struct {
  const char *file, *why;
} allocating[] = {
    {"runtime/base/context.c", "the hook of a caller that gives none"},
    {"kernels/memory.c", "the memory of a table that is made without a hook"},
    {"runtime/base/json_memory.c", "what jansson gets in threads that read no document of ours"},
};
enum { ALLOCATING = sizeof allocating / sizeof *allocating };
static int allocators_found[ALLOCATING];

/* The word, and no part of another one: "free(x)", "= malloc;", not "plim_graph_free(x)", "s->free(x)", ".free = ". */
static int names_allocator(const char *line) {
  static const char *const words[] = {"malloc",  "calloc",        "realloc",        "free",   "strdup",
                                      "strndup", "aligned_alloc", "posix_memalign", "getline"};
  for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
    const size_t length = strlen(words[w]);
    for (const char *at = line; (at = strstr(at, words[w])); at += length) {
      const char before = at == line ? ' ' : at[-1], after = at[length];
      const int starts = !strchr("_.>*\"'", before) && !isalnum((unsigned char)before);
      const int assigned = at - line >= 2 && strncmp(at - 2, "= ", 2) == 0 && strchr(";,}", after);
      if (starts && (after == '(' || assigned)) return 1;
    }
  }
  return 0;
}

/* The text of a line without comments, quotes kept; *inside: a comment continues. */
static void strip_comments(char *line, int *inside) {
  char *to = line;
  for (const char *from = line; *from; from++) {
    if (*inside) {
      if (from[0] == '*' && from[1] == '/') *inside = 0, from++;
    } else if (from[0] == '/' && from[1] == '*') {
      *inside = 1;
      from++;
    } else if (from[0] == '/' && from[1] == '/') {
      break;
    } else {
      *to++ = *from;
    }
  }
  *to = '\0';
}

static void check_allocators(const char *file) {
  char path[4096], line[4096];
  int inside = 0, row = 0;
  while (row < ALLOCATING && strcmp(allocating[row].file, file) != 0) row++;
  (void)snprintf(path, sizeof path, "%s/%s", PLIM_SOURCE_DIR, file);
  FILE *f = fopen(path, "r");
  cr_assert(f, "cannot read %s", path);
  files++;
  while (fgets(line, sizeof line, f)) {
    strip_comments(line, &inside);
    if (!names_allocator(line)) continue;
    cr_expect_lt(row, ALLOCATING, "%s takes memory past the context's hook: %s", file, line);
    if (row < ALLOCATING) allocators_found[row]++;
  }
  (void)fclose(f);
}

Test(layers, all_memory_of_the_library_comes_from_the_hook) {
  static const char *const parts[] = {"kernels", "runtime", "planner"};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) walk(parts[i], check_allocators);
  cr_assert(files > 200, "only %d files were found", files);
  for (int i = 0; i < ALLOCATING; i++) cr_expect_gt(allocators_found[i], 0, "%s needs no row", allocating[i].file);
}

Test(layers, an_allocator_is_told_from_what_is_called_alike) {
  cr_assert(names_allocator("  plan *p = calloc(1, sizeof *p);"));
  cr_assert(names_allocator("free(p);"));
  cr_assert(names_allocator("static _Atomic(json_malloc_t) malloc_before = malloc;"));
  cr_assert_not(names_allocator("  plim_graph_free(graph);"));
  cr_assert_not(names_allocator("  kernel->type.free(&memory, state);"));
  cr_assert_not(names_allocator("  c->free(answer);"));
  cr_assert(names_allocator("    .free = free,"));
  cr_assert_not(names_allocator("  int64_t free, used;"));
}

/* Names seen so far, each with the file that it was seen in. */
enum { MOST_NAMES = 2048, NAME_BYTES = 64 };
static struct { char name[NAME_BYTES], file[256]; } types[MOST_NAMES], options[MOST_NAMES];
static int n_types, n_options, twice, initialisers;

/* "} plim_thing;", which ends a definition; a name of a file's own has no prefix. */
static void find_types(const char *file) {
  char path[4096], line[4096], name[NAME_BYTES];
  (void)snprintf(path, sizeof path, "%s/%s", PLIM_SOURCE_DIR, file);
  FILE *f = fopen(path, "r");
  cr_assert(f, "cannot read %s", path);
  while (fgets(line, sizeof line, f)) {
    const char *end = strstr(line, "} plim_");
    char mark = 0;
    if (!end || (end != line && !begins(line, "typedef")) || sscanf(end, "} %63[a-z_0-9]%c", name, &mark) != 2)
      continue;
    if (mark != ';') continue;
    for (int i = 0; i < n_types; i++) {
      if (strcmp(types[i].name, name) != 0) continue;
      twice++;
      cr_expect(0, "%s is a type in %s and another in %s", name, types[i].file, file);
    }
    cr_assert(n_types < MOST_NAMES);
    (void)snprintf(types[n_types].name, NAME_BYTES, "%s", name);
    (void)snprintf(types[n_types++].file, sizeof types->file, "%s", file);
  }
  (void)fclose(f);
}

Test(layers, no_type_name_stands_for_two_types) {
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) walk(folders[i], find_types);
  cr_assert(n_types > 150, "only %d types were found", n_types);
  cr_assert_eq(twice, 0);
}

/* "size_t struct_bytes; ... sizeof(plim_thing_options)" in a header makes the struct one that a caller fills in. */
static void find_options(const char *file) {
  char path[4096], line[4096], name[NAME_BYTES];
  if (!strstr(file, ".h")) return;
  (void)snprintf(path, sizeof path, "%s/%s", PLIM_SOURCE_DIR, file);
  FILE *f = fopen(path, "r");
  cr_assert(f, "cannot read %s", path);
  while (fgets(line, sizeof line, f)) {
    if (sscanf(line, " size_t struct_bytes; /* sizeof(%63[a-z_0-9]", name) != 1 || !strstr(name, "_options")) continue;
    cr_assert(n_options < MOST_NAMES);
    (void)snprintf(options[n_options].name, NAME_BYTES, "%s", name);
    (void)snprintf(options[n_options++].file, sizeof options->file, "%s", file);
  }
  (void)fclose(f);
}

/* Lines "plim_thing_options plim_thing_options_default(..." of the header that has the struct. */
static int initialisers_of(const char *name, const char *file) {
  char path[4096], line[4096], wanted[2 * NAME_BYTES + 16];
  (void)snprintf(path, sizeof path, "%s/%s", PLIM_SOURCE_DIR, file);
  (void)snprintf(wanted, sizeof wanted, "%s %s_default(", name, name);
  FILE *f = fopen(path, "r");
  cr_assert(f, "cannot read %s", path);
  int count = 0;
  while (fgets(line, sizeof line, f)) count += begins(line, wanted);
  (void)fclose(f);
  return count;
}

Test(layers, every_set_of_options_has_one_initialiser_beside_it) {
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) walk(folders[i], find_options);
  cr_assert(n_options >= 10, "only %d sets of options were found", n_options);
  for (int i = 0; i < n_options; i++) {
    int count = initialisers_of(options[i].name, options[i].file);
    cr_expect_eq(count, 1, "%s has %d initialisers in %s", options[i].name, count, options[i].file);
    initialisers += count;
  }
  cr_assert_eq(initialisers, n_options);
}

/* File names seen so far, but those of umbrella headers, examples and a header that shadows another. */
static struct { char base[128], file[256]; } names[MOST_NAMES];
static int n_names, n_same, planner_headers, planner_public;
static char public_headers[16384];

static void find_name(const char *file) {
  const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
  if (begins(file, "tools/include/") || begins(file, "examples/") || begins(file, "tests/plain/")) return;
  for (int i = 0; i < n_names; i++) {
    if (strcmp(names[i].base, base) != 0) continue;
    n_same++;
    cr_expect(0, "%s and %s have one name", names[i].file, file);
  }
  cr_assert(n_names < MOST_NAMES);
  (void)snprintf(names[n_names].base, sizeof names->base, "%s", base);
  (void)snprintf(names[n_names++].file, sizeof names->file, "%s", file);
}

Test(layers, no_two_source_files_have_one_name) {
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) walk(folders[i], find_name);
  cr_assert_gt(n_names, 500);
  cr_assert_eq(n_same, 0);
}

/* The formatter breaks code at this width, and leaves comments as they are. */
enum { MOST_COLUMNS = 120 };

static int columns(const char *line) {
  int n = 0;
  for (; *line && *line != '\n'; line++) n += ((unsigned char)*line & 0xc0) != 0x80; /* no later byte of UTF-8 */
  return n;
}

static void check_columns(const char *file) {
  char path[4096], line[4096];
  (void)snprintf(path, sizeof path, "%s/%s", PLIM_SOURCE_DIR, file);
  FILE *f = fopen(path, "r");
  cr_assert(f, "cannot read %s", path);
  files++;
  for (int i = 1; fgets(line, sizeof line, f); i++) {
    cr_expect_leq(columns(line), MOST_COLUMNS, "line %d of %s is %d columns wide", i, file, columns(line));
  }
  (void)fclose(f);
}

Test(layers, no_line_is_wider_than_the_formatter_makes_one) {
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) walk(folders[i], check_columns);
  cr_assert_gt(files, 500);
}

/* A reader who opens a file is told first what it does. Macros that choose system interfaces come before. */
static void check_opening(const char *file) {
  char path[4096], line[4096];
  if (begins(file, "tests/") || begins(file, "examples/")) return;
  (void)snprintf(path, sizeof path, "%s/%s", PLIM_SOURCE_DIR, file);
  FILE *f = fopen(path, "r");
  cr_assert(f, "cannot read %s", path);
  char *read = fgets(line, sizeof line, f);
  while (read && begins(line, "#define ")) read = fgets(line, sizeof line, f);
  cr_expect(read && begins(line, "/*"), "%s does not begin with a comment", file);
  (void)fclose(f);
}

Test(layers, every_file_says_first_what_it_does) {
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) walk(folders[i], check_opening);
}

/* The folders that have tests. tests/FOLDER has those of FOLDER, and tests/project those of the whole. */
enum { MOST_FOLDERS = 128 };
static char tested[MOST_FOLDERS][256];
static int n_tested;

static int is_tested(const char *folder) {
  for (int i = 0; i < n_tested; i++) {
    if (strcmp(tested[i], folder) == 0) return 1;
  }
  return 0;
}

static void add_tested(const char *folder) {
  if (is_tested(folder)) return;
  cr_assert(n_tested < MOST_FOLDERS);
  (void)snprintf(tested[n_tested++], sizeof *tested, "%s", folder);
}

static void find_test(const char *file) {
  const char *base = strrchr(file, '/') + 1;
  char path[4096], folder[256];
  struct stat st;
  if (!begins(base, "test_") || !strstr(base, ".c") || begins(file, "tests/support/")) return;
  (void)snprintf(folder, sizeof folder, "%.*s", (int)(base - 1 - file), file);
  const char *of = strchr(folder, '/') ? folder + strlen("tests/") : "";
  (void)snprintf(path, sizeof path, "%s/%s", PLIM_SOURCE_DIR, of);
  cr_expect(*of && (strcmp(of, "project") == 0 || stat(path, &st) == 0), "%s lies in no folder of tests", file);
  add_tested(of);
}

static void check_tested(const char *file) {
  char folder[256];
  (void)snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(file, '/') - file), file);
  cr_expect(is_tested(folder), "%s has no test in tests/%s", folder, folder);
  add_tested(folder); /* it is named once */
}

Test(layers, every_folder_of_planner_and_runtime_has_its_tests_under_the_same_path) {
  walk("tests", find_test);
  cr_assert_gt(n_tested, 20, "only %d folders of tests were found", n_tested);
  walk("planner", check_tested);
  walk("runtime", check_tested);
}

/* A header holds one concept, so that a file includes what it uses. Longer than this, it holds several. */
enum { MOST_HEADER_LINES = 280, MOST_PLANNER_HEADERS = 47 };

static int lines_of(const char *file) {
  char path[4096];
  int lines = 0;
  (void)snprintf(path, sizeof path, "%s/%s", PLIM_SOURCE_DIR, file);
  FILE *f = fopen(path, "r");
  cr_assert(f, "cannot read %s", path);
  for (int c; (c = fgetc(f)) != EOF;) lines += c == '\n';
  (void)fclose(f);
  return lines;
}

static void check_header(const char *file) {
  size_t n = strlen(file);
  if (n < 2 || strcmp(file + n - 2, ".h") != 0) return;
  planner_headers++;
  planner_public += strstr(public_headers, file) != NULL;
  cr_expect_leq(lines_of(file), MOST_HEADER_LINES, "%s holds more than one concept", file);
}

/* Which headers a caller may include, tools/cmake/headers.cmake says. */
Test(layers, headers_of_the_planner_are_short_and_two_of_them_are_public) {
  FILE *f = fopen(PLIM_SOURCE_DIR "/tools/cmake/headers.cmake", "r");
  cr_assert(f);
  size_t n = fread(public_headers, 1, sizeof public_headers - 1, f);
  (void)fclose(f);
  cr_assert_lt(n, sizeof public_headers - 1, "the list of public headers is longer than this test reads");
  walk("planner", check_header);
  cr_expect_gt(planner_headers, 30, "only %d headers were found", planner_headers);
  cr_expect_leq(planner_headers, MOST_PLANNER_HEADERS, "%d headers: join those of one concept", planner_headers);
  cr_expect_eq(planner_public, 2, "%d public headers", planner_public);
}
