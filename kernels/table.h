/* The op table: kernel types, each of which runs one op kind in some variants. Built-in types and a caller's own are
 * added by the same function. A table may be read by several threads, while none adds to it. A kernel runs on one
 * thread at a time. docs/kernels.md follows one op through the table to its kernels. */
#ifndef PLIM_KERNELS_TABLE_H
#define PLIM_KERNELS_TABLE_H

#include <stddef.h>

#include "kernels/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where kernels get memory on the host: resize `ptr` (NULL: allocate) from old_bytes to new_bytes (0: free, return
 * NULL). NULL on failure, `ptr` kept. A device passes its context's hook. */
typedef struct plim_kernel_memory {
  void *(*resize)(void *user, void *ptr, size_t old_bytes, size_t new_bytes);
  void *user;
} plim_kernel_memory;

/* [count] elements of `size` bytes each, zeroed; NULL when memory is short or there is nothing to allocate.
 * plim_kernel_release takes the same count and size; NULL is legal there. */
void *plim_kernel_allocate(const plim_kernel_memory *memory, size_t count, size_t size);
void plim_kernel_release(const plim_kernel_memory *memory, void *ptr, size_t count, size_t size);
const plim_kernel_memory *plim_kernel_malloc(void); /* malloc, realloc and free */

/* Results of the functions here that return int and do not count: OK; no such variant, kind or instruction set; memory
 * is short; the kernel failed. */
enum { PLIM_KERNEL_OK = 0, PLIM_KERNEL_UNSUPPORTED = -1, PLIM_KERNEL_NOMEM = -2, PLIM_KERNEL_FAILED = -3 };

/* Variants that are looked at: of one kernel type or own kernel for an op, and of an op in all. Others are left out. */
enum { PLIM_KERNEL_VARIANTS = 16, PLIM_KERNEL_NAME_BYTES = 32 };

typedef struct plim_kernel_info {
  char name[PLIM_KERNEL_NAME_BYTES];         /* unique among the op's: "onednn-direct-jit", "single-source" */
  char numerics_key[PLIM_KERNEL_NAME_BYTES]; /* equal keys, equal bits (on one machine, one thread count) */
  int64_t workspace_bytes;
  char how[160];  /* how it is prepared without a search, as the device writes it; "": there is nothing to search */
  int32_t builds; /* 1: preparing it may take a good part of a second, because a library compiles it */
} plim_kernel_info;

typedef struct plim_kernel_args {
  void *const *in, *const *out, *const *upd; /* by operand position */
  void *workspace;                           /* at least workspace_bytes, aligned to 512 */
  uint64_t seed;                             /* random ops draw from Philox keyed by (seed, step, op) */
  int64_t step;
  int32_t op;
  /* [2] seed and step in memory that the kernel can read: what is captured once and replayed reads them there. Set for
   * a program's own kernels; callers leave it NULL */
  const uint64_t *now;
} plim_kernel_args;

/* A program's own kernel for one op kind of one device (plim_device_add_kernel). It is profiled, planned and captured
 * like the built-in ones. The functions return PLIM_KERNEL_OK or another of the results above; `list` counts.
 *   name     the only variant, without workspace, where `list` is NULL; at most PLIM_KERNEL_NAME_BYTES - 1 characters.
 *            A kernel that gives other bits than before needs another name: measured times are kept by it
 *   list     writes at most `capacity` variants (zeroed before) and returns how many it has for the op, at most
 *            PLIM_KERNEL_VARIANTS; 0 when it does not serve it. An empty numerics key means that no other variant has
 *            these bits. Further variants are left out, and so are those whose name is empty or has an '@', which names
 *            kernels in parts
 *   prepare  what `run` needs for a variant of an op; NULL: *state is `user`
 *   run      cpu: computes, `queue` is NULL. cuda: puts its work on `queue`, a cudaStream_t that may be capturing, and
 *            does not wait. It allocates nothing, touches nothing but operands and workspace, and gives equal bits for
 *            equal operands. Declared in-place pairs may alias
 *   free     gives back what prepare made; NULL: nothing */
typedef struct plim_own_kernel {
  size_t struct_bytes; /* sizeof(plim_own_kernel) */
  const char *name;
  int (*list)(void *user, const plim_op_desc *op, plim_kernel_info *info, int capacity);
  int (*prepare)(void *user, const plim_op_desc *op, const char *variant, void **state);
  int (*run)(void *state, const plim_kernel_args *args, void *queue);
  void (*free)(void *user, void *state);
  void *user;
} plim_own_kernel;

/* Can a variant of that name be prepared? It has 1 to PLIM_KERNEL_NAME_BYTES - 1 characters and no '@'. NULL: no. */
int plim_own_is_name(const char *name);

/* One family of variants for one op kind. `list` writes at most `capacity` rows and returns how many it has (0 when
 * it does not serve this desc). `make` is handed the type's `user`, and prepares (op, variant) for a number of threads;
 * what it allocates comes from `memory`, to which `free` gives it back. `run` must not allocate in steady state, must
 * not touch memory outside operands and workspace, and must give the same bits every time; declared in-place pairs may
 * alias. */
typedef struct plim_kernel_type {
  size_t struct_bytes; /* sizeof(plim_kernel_type) */
  plim_op_kind kind;
  const char *family; /* "onednn", "single-source", ... */
  int (*list)(const plim_op_desc *op, int threads, plim_kernel_info *info, int capacity);
  int (*make)(const void *user, const plim_op_desc *op, const char *variant, int threads,
              const plim_kernel_memory *memory, void **state);
  int (*run)(void *state, const plim_kernel_args *args);
  void (*free)(const plim_kernel_memory *memory, void *state);
  const void *user; /* outlives the table; NULL is legal */
} plim_kernel_type;

typedef struct plim_kernel_table plim_kernel_table;

/* The instruction set that a table gets: `isa` ("x86-64-v2", "x86-64-v3", "x86-64-v4"), or with NULL the environment's
 * PLIM_ISA when set, else the best that this CPU has. *chosen is a static string. PLIM_KERNEL_UNSUPPORTED when there is
 * none of that name or the CPU lacks it, with a sentence in `why` (NULL: not wanted). */
int plim_kernel_isa_choose(const char *isa, const char **chosen, char *why, size_t why_bytes);

/* A table with the built-in types for the instruction set that plim_kernel_isa_choose(isa) gives, and its errors. It
 * and its kernels get their memory from `memory` (copied; NULL: malloc). */
int plim_kernel_table_new(const char *isa, const plim_kernel_memory *memory, plim_kernel_table **out);
void plim_kernel_table_free(plim_kernel_table *table); /* NULL is legal */

/* Add a type (copied). Rows added later are listed after the earlier ones.
 * PLIM_KERNEL_UNSUPPORTED when struct_bytes is not ours or a function is missing. */
int plim_kernel_table_add(plim_kernel_table *table, const plim_kernel_type *type);

/* Add a program's own kernel (copied), which is listed after all types.
 * PLIM_KERNEL_UNSUPPORTED when struct_bytes is not ours, or when it has no `run`, or neither `list` nor a
 * name without '@'. */
int plim_kernel_table_add_own(plim_kernel_table *table, plim_op_kind kind, const plim_own_kernel *kernel);

const char *plim_kernel_table_isa(const plim_kernel_table *table);

/* "onednn 2.6.3", or "none". */
const char *plim_kernel_library(void);

/* Variants of an op over all types that serve it; returns how many there are, writes at most `capacity`. */
int plim_kernel_list(const plim_kernel_table *table, const plim_op_desc *op, int threads, plim_kernel_info *info,
                     int capacity);

/* The variants that run `whole`, a listed variant of the op, over parts of its output, in less workspace
 * (kernels/parts.h); plim_kernel_make knows their names. Counts as plim_kernel_list does. */
int plim_kernel_list_parts(const plim_kernel_table *table, const plim_op_desc *op, int threads,
                           const plim_kernel_info *whole, plim_kernel_info *info, int capacity);

typedef struct plim_kernel plim_kernel; /* an op prepared for one variant */
/* Prepare a listed variant for so many threads; *out out. The table must outlive the kernel. */
int plim_kernel_make(const plim_kernel_table *table, const plim_op_desc *op, const char *variant, int threads,
                     plim_kernel **out);
/* Compute once, and return when it is done. Equal operands give equal bits every time. */
int plim_kernel_run(const plim_kernel *kernel, const plim_kernel_args *args);
int64_t plim_kernel_workspace(const plim_kernel *kernel); /* bytes that run needs; asked from the kernel */
void plim_kernel_free(plim_kernel *kernel);               /* NULL is legal */

#ifdef __cplusplus
}
#endif
#endif
