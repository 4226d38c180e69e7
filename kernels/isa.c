/* Instruction sets: names, what the CPU reports, and which one a table gets. Features are asked for one by one because
 * not every compiler knows the x86-64-v* names in __builtin_cpu_supports. */
#include "kernels/isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/table.h"

#define PLIM_X(id, name) name,
static const char *const names[] = {PLIM_ISAS(PLIM_X)};
#undef PLIM_X

const char *plim_isa_name(plim_isa isa) {
  return (int)isa >= 0 && (int)isa < PLIM_ISA_COUNT ? names[isa] : NULL;
}

int plim_isa_find(const char *name) {
  for (int i = 0; name && i < PLIM_ISA_COUNT; i++) {
    if (strcmp(names[i], name) == 0) return i;
  }
  return -1;
}

#if defined(__x86_64__)
/* The features of a level for which older compilers have no name, by cpuid. The kernels are compiled for the whole
 * level, so any of its instructions may be in them. A CPU without lzcnt runs it as another instruction, with other
 * numbers. */
static int cpuid_bit(unsigned leaf, int is_ebx, int bit) {
  unsigned eax, ebx, ecx, edx;
  if (!__get_cpuid_count(leaf, 0, &eax, &ebx, &ecx, &edx)) return 0;
  return (int)((is_ebx ? ebx : ecx) >> bit & 1);
}

int plim_isa_supported(plim_isa isa) {
  const unsigned extended = 0x80000001U;
  int cmpxchg16b = cpuid_bit(1, 0, 13), lahf = cpuid_bit(extended, 0, 0);
  int movbe = cpuid_bit(1, 0, 22), f16c = cpuid_bit(1, 0, 29), bmi = cpuid_bit(7, 1, 3),
      lzcnt = cpuid_bit(extended, 0, 5);
  int v2 = __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt") &&
           cmpxchg16b && lahf;
  int v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") &&
           movbe && f16c && bmi && lzcnt;
  int v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
  return isa == PLIM_ISA_V2 ? v2 : isa == PLIM_ISA_V3 ? v3 : isa == PLIM_ISA_V4 ? v4 : 0;
}
#else
int plim_isa_supported(plim_isa isa) {
  return isa == PLIM_ISA_GENERIC;
}
#endif

/* ---- the choice ---- */

static plim_isa best_isa(void) {
  int best = 0;
  for (int i = 0; i < PLIM_ISA_COUNT; i++) {
    if (plim_isa_supported((plim_isa)i)) best = i;
  }
  return (plim_isa)best;
}

int plim_kernel_isa_choose(const char *isa, const char **chosen, char *why, size_t why_bytes) {
  const char *from = isa ? "instruction set" : "PLIM_ISA";
  if (!isa) isa = getenv("PLIM_ISA");
  if (!isa || !*isa) {
    *chosen = plim_isa_name(best_isa());
    return PLIM_KERNEL_OK;
  }
  int found = plim_isa_find(isa);
  if (found >= 0 && plim_isa_supported((plim_isa)found)) {
    *chosen = plim_isa_name((plim_isa)found);
    return PLIM_KERNEL_OK;
  }
  if (why) {
    int n = snprintf(why, why_bytes, "%s \"%s\" %s; this CPU runs", from, isa,
                     found < 0 ? "is not one that the kernels are built for" : "needs a newer CPU");
    for (int i = 0; i < PLIM_ISA_COUNT && n >= 0 && (size_t)n < why_bytes; i++) {
      if (!plim_isa_supported((plim_isa)i)) continue;
      n += snprintf(why + n, why_bytes - (size_t)n, "%s %s", i ? "," : "", plim_isa_name((plim_isa)i));
    }
  }
  return PLIM_KERNEL_UNSUPPORTED;
}
