/* An op reads one to three ops before it, mostly the one right before it; the last one reads what nothing else does. */
#include "tools/plimsoll-bench/joint_case.h"

#include "planner/spaces/problem/space_problem.h"
#include "runtime/base/random.h"
#include "runtime/base/text.h"
#include "runtime/import/importers.h"

enum { LEAST_OPS = 5, MOST_READS = 3, MOST_UNITS = 8, MOST_MFLOP = 20 };

static plim_status make_graph(plim_context *ctx, plim_random *random, int32_t n, plim_graph **out) {
  plim_text t = {.ctx = ctx};
  int32_t read[JOINT_OPS] = {0};
  const char *comma = "";
  plim_text_add(&t, "{\"graph\": {\"name\": \"joint\"}, \"nodes\": [");
  for (int32_t i = 0; i < n; i++) {
    int32_t units = 1 + plim_random_below(random, MOST_UNITS), mflop = 1 + plim_random_below(random, MOST_MFLOP);
    plim_text_format(&t, "%s{\"id\": %d, \"out_cost\": %d000000, \"flops\": %d000000}", i > 0 ? ", " : "", i, units,
                     mflop);
  }
  plim_text_add(&t, "], \"links\": [");
  for (int32_t i = 1; i < n; i++) {
    int32_t reads = 0;
    for (int32_t j = i - 1; j >= 0; j--) {
      int32_t percent = j == i - 1 ? 75 : reads == 0 ? 50 : 20;
      int wanted = reads < MOST_READS && (plim_random_percent(random, percent) || (j == 0 && reads == 0));
      if (i == n - 1 && read[j] == 0) wanted = 1;
      if (!wanted) continue;
      plim_text_format(&t, "%s{\"source\": %d, \"target\": %d}", comma, j, i);
      comma = ", ";
      read[j]++;
      reads++;
    }
  }
  plim_text_add(&t, "]}\n");
  plim_status status = t.status;
  if (status == PLIM_OK) status = plim_import_nx(ctx, "joint", t.chars, t.length, out);
  plim_text_free(&t);
  return status;
}

static plim_status make_platform(plim_context *ctx, plim_random *random, int two, plim_platform **out) {
  plim_text t = {.ctx = ctx};
  double copy = 0.2 + 1.8 * plim_random_unit(random);                      /* of an op */
  double rate = 0.5e6 * (MOST_UNITS + 1) / (copy * 1e-3 * MOST_MFLOP / 2); /* bytes a second */
  const char *first = two ? "m0" : "ram", *second = two ? "m1" : "disk";
  plim_text_format(
      &t, "{\"name\": \"joint\", \"devices\": [{\"name\": \"d0\", \"flop_per_second\": 1e9, \"idle_watt\": 0, ");
  plim_text_format(&t, "\"spaces\": [\"%s\", \"%s\"]}", first, second);
  if (two) {
    plim_text_format(
        &t, ", {\"name\": \"d1\", \"flop_per_second\": %d00000000, \"idle_watt\": 0, \"spaces\": [\"m1\", \"m0\"]}",
        5 + plim_random_below(random, 11));
  }
  plim_text_add(&t, "], \"links\": [");
  for (int i = 0; i < 2; i++) {
    plim_text_format(&t,
                     "%s{\"from\": \"%s\", \"to\": \"%s\", \"latency_s\": 0, \"bytes_per_second\": %.6g, \"watt\": 0, "
                     "\"duplex\": true}",
                     i > 0 ? ", " : "", i > 0 ? second : first, i > 0 ? first : second, rate);
  }
  plim_text_add(&t, "]}\n");
  plim_status status = t.status;
  if (status == PLIM_OK) status = plim_platform_parse(ctx, "joint", t.chars, t.length, out);
  plim_text_free(&t);
  return status;
}

plim_status joint_case_make(plim_context *ctx, uint64_t seed, int32_t most_ops, joint_case *out) {
  plim_random random = {seed + 1};
  int two = (int)(seed & 1U);
  *out = (joint_case){.graph = NULL};
  if (most_ops < LEAST_OPS || most_ops > JOINT_OPS) {
    return plim_fail(ctx, PLIM_EUSAGE, "joint: %d ops; it takes %d to %d", most_ops, LEAST_OPS, JOINT_OPS);
  }
  int32_t n = LEAST_OPS + plim_random_below(&random, most_ops - LEAST_OPS + 1);
  plim_status status = make_graph(ctx, &random, n, &out->graph);
  if (status == PLIM_OK) status = make_platform(ctx, &random, two, &out->platform);
  if (status == PLIM_OK) {
    int64_t least = plim_space_least_bytes(out->graph), more = plim_space_keep_all_bytes(out->graph) - least;
    out->budget[0] = least + more * plim_random_below(&random, 91) / 100;
    out->budget[1] = two ? least + more * plim_random_below(&random, 91) / 100 : PLIM_BYTES_UNLIMITED;
  }
  if (status != PLIM_OK) joint_case_free(out);
  return status;
}

void joint_case_free(joint_case *c) {
  plim_platform_free(c->platform);
  plim_graph_free(c->graph);
  *c = (joint_case){.graph = NULL};
}
