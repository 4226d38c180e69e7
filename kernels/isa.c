/* Instruction sets: names and what the CPU reports. Features are asked for one by one because not every compiler
 * knows the x86-64-v* names in __builtin_cpu_supports. */
#include "kernels/isa.h"

#include <stddef.h>
#include <string.h>

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
int plim_isa_supported(plim_isa isa) {
  int v2 = __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  int v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
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
