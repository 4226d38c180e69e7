/* Convolutions and attention by cuDNN: the library opened, what it offers for the problems that were asked for, and
 * prepared ones that can be run.
 *
 * Threads: a plim_dnn and its kernels belong to one thread at a time, whose current device is the one that it was
 * opened on (driver.h). Building a plan and running a kernel change the library's handle, so two threads need two
 * plim_dnn. plim_dnn_why has the library's words for the calling thread alone: ask on the thread that was refused. */
#ifndef PLIM_KERNELS_CUDA_DNN_H
#define PLIM_KERNELS_CUDA_DNN_H

#include "kernels/cuda/dnn_attention.h"
#include "kernels/cuda/dnn_conv.h"
#include "kernels/cuda/dnn_engines.h"
#include "kernels/cuda/driver.h"

typedef struct plim_dnn plim_dnn;
typedef struct plim_dnn_kernel plim_dnn_kernel; /* a problem in one configuration */

/* What the library is asked for: a convolution, or attention. The other one is zeros, and so is every unused byte. */
typedef struct plim_dnn_problem {
  int64_t is_attention;
  plim_dnn_conv conv;
  plim_dnn_attention attention;
} plim_dnn_problem;

/* Its operands, by PLIM_DNN_X, W, Y or by PLIM_DNN_Q and those after it. */
enum { PLIM_DNN_OPERANDS_MAX = PLIM_DNN_TENSORS };
int plim_dnn_kernel_operands(const plim_dnn_kernel *kernel);

/* *out is NULL when there is no library or it cannot use this GPU, and the text says why. Returns 0, or
 * PLIM_CUDA_NO_MEMORY. The driver's table must outlive it; `memory` is copied. */
int plim_dnn_open(const plim_cuda_driver *driver, const plim_kernel_memory *memory, plim_dnn **out, char *why,
                  size_t why_bytes);
void plim_dnn_close(plim_dnn *dnn);                /* NULL is legal; its kernels are to be freed before */
const char *plim_dnn_version(const plim_dnn *dnn); /* "9.28.0" */
int plim_dnn_has_attention(const plim_dnn *dnn);   /* 1: this version may know attention */

/* Plans that kernels have had built so far, refused ones included. */
int64_t plim_dnn_built(const plim_dnn *dnn);

/* Free execution plans that no kernel holds, with the code that was loaded for them. NULL is legal. */
void plim_dnn_trim(plim_dnn *dnn);

/* Configurations for a problem, by the library's expectation; *config is the library's own. Returns how many. The
 * first call asks the library's heuristics; later ones find their answer. */
int plim_dnn_find(plim_dnn *dnn, const plim_dnn_problem *problem, const plim_dnn_config **config);

/* Take n rows (name, how, workspace) for the configurations of a problem, and ask the library's heuristics only
 * when one of them is none of its any more. Without effect where the problem is known. */
void plim_dnn_recall(plim_dnn *dnn, const plim_dnn_problem *problem, const plim_dnn_config *row, int n);

/* The problem in a configuration of that name. The first kernel of a configuration builds its plan; the others
 * share it. 0, PLIM_CUDA_NO_MEMORY, PLIM_DNN_NO_CONFIG, PLIM_DNN_ROOM, or a code of the library above PLIM_CUDNN_CODES.
 */
enum { PLIM_DNN_NO_CONFIG = -1 };
int plim_dnn_make(plim_dnn *dnn, const plim_dnn_problem *problem, const char *name, plim_dnn_kernel **out);
void plim_dnn_free(plim_dnn_kernel *kernel); /* NULL is legal */

/* Forget what the library refused. NULL is legal. */
void plim_dnn_forget(plim_dnn *dnn);

/* What the library refused last: its status and, where it has them, its own words; "" when it refused nothing since
 * plim_dnn_forget. */
enum { PLIM_DNN_WHY_BYTES = 256 };
void plim_dnn_why(const plim_dnn *dnn, char *text, size_t bytes);

/* Queue it. `operand` [plim_dnn_kernel_operands]. Allocates only for operands at places where it has not run before. */
int plim_dnn_run(plim_dnn_kernel *kernel, void *const *operand, void *workspace, void *stream);

#endif
