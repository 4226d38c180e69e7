/* What the tables of bench online share. */
#ifndef PLIM_TOOLS_PLIMSOLL_BENCH_ONLINE_H
#define PLIM_TOOLS_PLIMSOLL_BENCH_ONLINE_H

#include "runtime/base/text.h"
#include "runtime/simulate/simulation.h"
#include "tools/plimsoll-bench/bench.h"

enum { BENCH_NAME = 64 };

typedef struct bench_online_table {
  session *s;
  json_t *rows;
  plim_text *markdown; /* the same table for documents; NULL: not wanted */
} bench_online_table;

/* Overhead or how the run ended, on standard output; the same as an object, without the share of the budget. */
void bench_online_cell(const plim_simulated *result);
json_t *bench_online_row(const plim_simulation *sim, const char *by, const plim_simulated *result);

/* Copy the first of names with commas between them; returns what is left. */
const char *bench_next_name(const char *names, char name[BENCH_NAME]);

/* --sweep FROM%:TO%:STEP%: budgets close together, and where more memory fails or costs more than less. */
plim_status bench_online_sweep(const bench_online_table *table, const plim_simulation *sim);

#endif
