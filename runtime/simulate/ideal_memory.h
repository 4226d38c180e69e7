/* Simulates a handle program in ideal memory, which has no addresses: a storage fits when the sum of bytes fits. Papers
 * publish the figures of their policies for such a memory.
 * Source: the simulator of the DTR prototype (Kirisame et al., ICLR 2021). */
#ifndef PLIM_RUNTIME_SIMULATE_IDEAL_MEMORY_H
#define PLIM_RUNTIME_SIMULATE_IDEAL_MEMORY_H

#include "runtime/arena/policy.h"
#include "runtime/graph/handles.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a simulation ends. ok: the program ran to its end. oom: nothing more can be evicted. thrash: recomputing took
 * longer than the limit. */
#define PLIM_ONLINE_ENDS(X) X(OK, "ok") X(OOM, "oom") X(THRASH, "thrash")
#define PLIM_X(id, name) PLIM_ONLINE_##id,
typedef enum plim_online_end { PLIM_ONLINE_ENDS(PLIM_X) PLIM_ONLINE_END_COUNT } plim_online_end;
#undef PLIM_X

/* The name of an end that is in range, a static string. */
const char *plim_online_end_name(plim_online_end end);

typedef struct plim_online_result {
  plim_online_end end;
  int64_t total_ns;              /* time of every call once */
  int64_t recomputed_ns;         /* time of the calls that were recomputed */
  int64_t evictions, recomputes; /* number of storages evicted; number of calls recomputed */
  int64_t scores;                /* number of scores computed */
  int64_t depth;                 /* longest chain of calls that wait for each other */
} plim_online_result;

/* Simulate the program within `budget_bytes`. It ends as thrash when recomputed_ns > limit_ns.
 *   out  [1]  out  also set for oom and thrash, which are no failures
 * PLIM_EOVERFLOW: the calls have more than PLIM_IDEAL_PAIRS pairs of an argument and a result. PLIM_ECANCEL: the
 * context was cancelled, or its deadline is over. PLIM_ENOMEM. After these `out` is untouched. O(evictions x storages x
 * cost of the policy's score); memory: 8 bytes for every such pair. Deterministic. On the thread of the context;
 * `handles` is only read. */
enum { PLIM_IDEAL_PAIRS = 1 << 27 };
PLIM_MUST_USE plim_status plim_ideal_run(plim_context *ctx, const plim_handles *handles, const plim_policy *policy,
                                         int64_t budget_bytes, int64_t limit_ns, plim_online_result *out);

#ifdef __cplusplus
}
#endif
#endif
