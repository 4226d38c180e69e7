#include "tests/support/thread_block.h"
#define BLOCK_TABLE block_kernels_float
#include "tests/support/thread_block_kernels.inc"
