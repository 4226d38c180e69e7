/* Instruction sets that the kernels are compiled for, and the choice among them at start. */
#ifndef PLIM_KERNELS_ISA_H
#define PLIM_KERNELS_ISA_H

#ifdef __cplusplus
extern "C" {
#endif

/* X(id, name): ascending; a CPU that has a row has all the rows before it. */
#if defined(__x86_64__)
#define PLIM_ISAS(X) X(V2, "x86-64-v2") X(V3, "x86-64-v3") X(V4, "x86-64-v4")
#else
#define PLIM_ISAS(X) X(GENERIC, "generic")
#endif

#define PLIM_X(id, name) PLIM_ISA_##id,
typedef enum plim_isa { PLIM_ISAS(PLIM_X) PLIM_ISA_COUNT } plim_isa;
#undef PLIM_X

const char *plim_isa_name(plim_isa isa); /* NULL when out of range */
int plim_isa_find(const char *name);     /* -1 when there is none of that name */

/* 1 when this CPU can run code compiled for `isa`. */
int plim_isa_supported(plim_isa isa);

#ifdef __cplusplus
}
#endif
#endif
