/* docs/experiments.md: every row of a table has all its columns filled, and every figure of the table of measurements
 * has a date, a commit, a machine and a command. */
#include <criterion/criterion.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 16, LINE = 1 << 14, ROWS_WITHOUT_COMMAND = 3 /* no new ones */ };
enum { DATE, COMMIT, MACHINE, COMMAND = 5, COLUMNS };

#define HASH "[0-9a-f]{7,8}"

typedef struct row {
  char text[LINE];
  char *cell[CELLS];
  int n_cells, number; /* the number of the line */
} row;

static int matches(const char *pattern, const char *text) {
  regex_t compiled;
  cr_assert_eq(regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB), 0);
  const int found = regexec(&compiled, text, 0, NULL, 0) == 0;
  regfree(&compiled);
  return found;
}

/* The cells of a line of a table, without the blanks around them. */
static void split(row *r) {
  char *at = r->text + 1;
  r->n_cells = 0;
  for (char *bar; (bar = strchr(at, '|')); at = bar + 1) {
    cr_assert_lt(r->n_cells, CELLS, "line %d", r->number);
    at += strspn(at, " ");
    for (char *end = bar; end >= at && (*end == '|' || *end == ' '); end--) *end = 0;
    r->cell[r->n_cells++] = at;
  }
}

static FILE *open_page(void) {
  FILE *page = fopen(PLIM_SOURCE_DIR "/docs/experiments.md", "r");
  cr_assert_not_null(page);
  return page;
}

/* Does the section of this commit have a block of commands? */
static int section_has_commands(const char *commits) {
  static char line[LINE];
  char head[64];
  int inside = 0, found = 0;
  FILE *page = open_page();
  (void)snprintf(head, sizeof head, "### %.*s\n", (int)strcspn(commits, ","), commits);
  while (fgets(line, sizeof line, page)) {
    if (line[0] == '#') inside = strcmp(line, head) == 0;
    found |= inside && strncmp(line, "```", 3) == 0;
  }
  (void)fclose(page);
  return found;
}

/* Calls `check` for each row of a table but heads; `head` is that of its table. Returns their number. */
static int each_row(void (*check)(const row *head, const row *r)) {
  static row r, head;
  int rows = 0, in_table = 0;
  FILE *page = open_page();
  for (r.number = 1; fgets(r.text, sizeof r.text, page); r.number++) {
    cr_assert(strchr(r.text, '\n'), "line %d is too long", r.number);
    const int is_row = r.text[0] == '|';
    if (is_row && strncmp(r.text, "|---", 4) != 0) {
      row *into = in_table ? &r : &head;
      if (!in_table) head = r;
      split(into);
      if (in_table) check(&head, &r);
      rows += in_table;
    }
    in_table = is_row;
  }
  (void)fclose(page);
  return rows;
}

static void expect_filled(const row *head, const row *r) {
  cr_expect_eq(r->n_cells, head->n_cells, "line %d has %d columns, its head %d", r->number, r->n_cells, head->n_cells);
  for (int i = 0; i < r->n_cells; i++) cr_expect_neq(r->cell[i][0], 0, "line %d, column %d is empty", r->number, i + 1);
}

static char last_date[LINE];
static int n_measured, n_without_command;

static void expect_measured(const row *head, const row *r) {
  if (strcmp(head->cell[DATE], "date") != 0) return;
  cr_assert_eq(r->n_cells, COLUMNS, "line %d", r->number);
  const char *command = r->cell[COMMAND], *date = r->cell[DATE];
  cr_expect(matches("^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$", date), "line %d: the date %s", r->number,
            date);
  cr_expect_geq(strcmp(date, last_date), 0, "line %d: %s stands below %s", r->number, date, last_date);
  cr_expect(matches("^" HASH "(, " HASH ")*$", r->cell[COMMIT]), "line %d: the commit %s", r->number, r->cell[COMMIT]);
  cr_expect(matches("^(EPYC|Intel|H100)$", r->cell[MACHINE]), "line %d: the machine %s", r->number, r->cell[MACHINE]);
  const int is_below = strcmp(command, "below") == 0, is_none = strcmp(command, "not kept") == 0;
  if (is_below) cr_expect(section_has_commands(r->cell[COMMIT]), "line %d: no command below", r->number);
  cr_expect(is_below || is_none || matches("`[^`]+`", command), "line %d: the command %s", r->number, command);
  n_without_command += is_none;
  n_measured++;
  (void)snprintf(last_date, sizeof last_date, "%s", date);
}

Test(experiments, every_row_of_a_table_has_all_columns_filled) {
  cr_assert_geq(each_row(expect_filled), 80);
}

Test(experiments, every_measurement_has_a_date_a_commit_a_machine_and_a_command) {
  (void)each_row(expect_measured);
  cr_assert_geq(n_measured, 60);
  cr_assert_leq(n_without_command, ROWS_WITHOUT_COMMAND);
}
