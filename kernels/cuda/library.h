/* Libraries of CUDA that are opened when they are first asked for: neither they nor their headers are needed to build,
 * and a program starts without them. */
#ifndef PLIM_KERNELS_CUDA_LIBRARY_H
#define PLIM_KERNELS_CUDA_LIBRARY_H

#include <stddef.h>

/* One function and where its address goes: the offset of a function pointer in the caller's struct. */
typedef struct plim_cuda_symbol {
  const char *name;
  size_t offset;
} plim_cuda_symbol;

typedef struct plim_cuda_library {
  const char *name;        /* "cuBLAS" */
  const char *environment; /* variable that names the file, and no other is tried then; "none": there is none */
  const char *const *file; /* names, the newest first; NULL after the last */
  int symbols;
  const plim_cuda_symbol *symbol;
} plim_cuda_library;

/* Look in the folders of PLIM_CUDA_LIBS (a list of absolute paths with colons), then where the loader does, then in the
 * nvidia-* packages of the python3 on the PATH. Fills the functions; NULL when none was found or one lacks a function,
 * and `why` says what was looked for. To be given to dlclose. */
void *plim_cuda_library_open(const plim_cuda_library *library, void *functions, char *why, size_t why_bytes);

#endif
