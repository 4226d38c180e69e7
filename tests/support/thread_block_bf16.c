#include "tests/support/thread_block.h"
#define K_BF16
#define BLOCK_TABLE block_kernels_bf16
#include "tests/support/thread_block_kernels.inc"
