/* What nvcc and ptxas make of the kernels, read from what they write: how wide they access memory, and whether they
 * keep to the registers that the list of kernels leaves them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/call.h"

enum { LANES = 256, REGISTERS = 65536 /* of a multiprocessor */, PATH = 512 };
static const char *const types[] = {"cuda_launch_float", "cuda_launch_bf16"};
static const char *const architectures[] = {"sm_75", "sm_80", "sm_90"};
/* Of a multiprocessor, for the smallest of each line (8.6 and 8.9 run the code of 8.0): CUDA C++ Programming Guide,
 * technical specifications per compute capability. A thread block also takes 1 KiB of the system's from 8.0 on. */
static const long shared_bytes[] = {64 << 10, 100 << 10, 228 << 10}, system_bytes[] = {0, 1 << 10, 1 << 10};
enum { TYPES = 2, ARCHITECTURES = 3 };

static const struct {
  const char *name;
  int blocks;
} kernels[] = {
#define K_X(name, blocks, per_tile) {#name, blocks},
    K_KERNELS(K_X)
#undef K_X
};

/* A file of the build as a string; the test is skipped where there is none, because there were no tools. */
static char *read_report(const char *type, const char *ending) {
  char path[PATH];
  (void)snprintf(path, sizeof path, "%s/ptx/%s.%s", PLIM_BINARY_DIR, type, ending);
  FILE *file = fopen(path, "rb");
  if (!file) cr_skip_test("SKIP: built without nvcc");
  cr_assert_eq(fseek(file, 0, SEEK_END), 0);
  long size = ftell(file);
  cr_assert_gt(size, 0);
  rewind(file);
  char *text = calloc((size_t)size + 1, 1);
  cr_assert_eq(fread(text, 1, (size_t)size, file), (size_t)size);
  cr_assert_eq(fclose(file), 0);
  return text;
}

/* From `mark` and the kernel's name on; C++ writes the length before a name. */
static const char *find_kernel(const char *text, const char *mark, const char *name) {
  char wanted[96];
  (void)snprintf(wanted, sizeof wanted, "%d%s%s", (int)(strlen("kernel_") + strlen(name)), "kernel_", name);
  for (const char *at = strstr(text, mark); at; at = strstr(at + 1, mark)) {
    const char *end = strchr(at, '\n'), *found = strstr(at, wanted);
    /* after it come its parameters: k_call */
    if (found && end && found < end && strncmp(found + strlen(wanted), "6k_call", 7) == 0) return at;
  }
  return NULL;
}

/* ---- accesses ---- */

/* Accesses of `words` words of 4 bytes (".v4.") among those that begin with `kind`, from `at` to the end of the kernel.
 */
static int wide_accesses(const char *at, const char *kind, const char *words) {
  const char *end = strstr(at, "\n}");
  int n = 0;
  cr_assert_not_null(end);
  for (at = strstr(at, kind); at && at < end; at = strstr(at + 1, kind)) {
    const char *line = strchr(at, '\n'), *many = strstr(at, words), *word = many ? many + strlen(words) : NULL;
    n += word && word < line && strncmp(word + 1, "32", 2) == 0;
  }
  return n;
}

/* Kernels that walk memory: how many bytes they read and write at an access, in each storage type; 0: as it comes. The
 * others serve a few numbers a channel or row (docs/kernels.md has why for each). */
static const struct {
  k_kernel kernel;
  int reads, writes;
} walks[] = {
    {K_KERNEL_image, 8, 16},
    {K_KERNEL_softmax_row, 16, 16},
    {K_KERNEL_softmax_bwd, 16, 16},
    {K_KERNEL_max_pool, 0, 8},
    {K_KERNEL_max_pool_bwd, 8, 0},
    {K_KERNEL_transpose, 0, 16},
    {K_KERNEL_transpose_f32, 0, 16},
    {K_KERNEL_transpose_widen, 0, 16},
    {K_KERNEL_conv_pack, 0, 16},
    {K_KERNEL_conv, 16, 16},
    {K_KERNEL_conv_bwd_data, 16, 16},
    {K_KERNEL_conv_bwd_weights, 16, 0},
    {K_KERNEL_cast, 16, 16},
    {K_KERNEL_relu, 16, 16},
    {K_KERNEL_relu_bwd, 16, 16},
    {K_KERNEL_add, 16, 16},
    {K_KERNEL_sgd, 16, 16},
    {K_KERNEL_adam, 16, 16},
    {K_KERNEL_adamw, 16, 16},
    {K_KERNEL_gelu, 16, 16},
    {K_KERNEL_gelu_bwd, 16, 16},
    {K_KERNEL_silu, 16, 16},
    {K_KERNEL_silu_bwd, 16, 16},
    {K_KERNEL_layer_norm, 16, 16},
    {K_KERNEL_layer_norm_bwd, 16, 16},
    {K_KERNEL_dropout, 16, 16},
    {K_KERNEL_dropout_bwd, 16, 16},
    {K_KERNEL_bn_stats_partial, 16, 0},
    {K_KERNEL_bn_apply, 16, 16},
    {K_KERNEL_bn_bwd_partial, 16, 0},
    {K_KERNEL_bn_bwd_apply, 16, 16},
    {K_KERNEL_bias_bwd_partial, 16, 0},
    {K_KERNEL_global_avg_pool, 16, 0},
    {K_KERNEL_global_avg_pool_bwd, 0, 16},
    {K_KERNEL_max_pool, 16, 16},
    {K_KERNEL_max_pool_bwd, 16, 16},
    {K_KERNEL_avg_pool, 16, 16},
    {K_KERNEL_avg_pool_bwd, 16, 16},
    {K_KERNEL_im2col, 16, 16},
    {K_KERNEL_col2im, 16, 16},
    {K_KERNEL_bias_rows, 0, 16},
    {K_KERNEL_bias_add, 16, 16},
    {K_KERNEL_row_softmax, 16, 16},
    {K_KERNEL_row_softmax_bwd, 16, 16},
    {K_KERNEL_concat, 16, 16},
    {K_KERNEL_split, 16, 16},
    {K_KERNEL_depthwise, 16, 16},
    {K_KERNEL_depthwise_bwd_weights, 16, 0},
};

static void expect_wide(const char *at, const char *kind, int bytes, const char *type, const char *name) {
  if (bytes == 0) return;
  cr_expect_gt(wide_accesses(at, kind, bytes == 16 ? ".v4." : ".v2."), 0, "%s: %s of %s is no access of %d bytes", type,
               kind, name, bytes);
}

Test(kernels_ptx, kernels_that_walk_memory_read_and_write_as_much_at_an_access_as_a_vector_has) {
  for (int t = 0; t < TYPES; t++) {
    char *text = read_report(types[t], "ptx");
    for (size_t i = 0; i < sizeof walks / sizeof *walks; i++) {
      const char *name = kernels[walks[i].kernel].name, *at = find_kernel(text, ".entry ", name);
      cr_assert_not_null(at, "%s: no %s", types[t], name);
      expect_wide(at, "ld.global", walks[i].reads, types[t], name);
      expect_wide(at, "st.global", walks[i].writes, types[t], name);
    }
    free(text);
  }
}

/* ---- registers ---- */

/* The number before a text of the next lines. */
static long number_before(const char *at, const char *text) {
  const char *found = strstr(at, text);
  cr_assert_not_null(found, "no \"%s\"", text);
  while (found > at && found[-1] >= '0' && found[-1] <= '9') found--;
  return strtol(found, NULL, 10);
}

/* Convolutions without a library keep sums in arrays that they index. */
static int may_have_frame(const char *name) {
  return strncmp(name, "conv", 4) == 0;
}

/* Thread blocks that the registers have room for need room for what they share, too. */
static void expect_shared(const char *at, const char *report, int architecture, const char *name, int blocks) {
  const char *used = strstr(at, "Used "), *end = used ? strchr(used, '\n') : NULL, *smem = strstr(at, " bytes smem");
  cr_assert_not_null(end);
  long shared = smem && smem < end ? number_before(at, " bytes smem") : 0;
  cr_expect_leq((shared + system_bytes[architecture]) * blocks, shared_bytes[architecture],
                "%s: %d teams of %s share %ld bytes each", report, blocks, name, shared);
}

static void expect_registers(const char *text, const char *report, int architecture, const char *name, int blocks) {
  const char *at = find_kernel(text, "Compiling entry function", name);
  cr_assert_not_null(at, "%s: no %s", report, name);
  long spilled = number_before(at, " bytes spill stores"), frame = number_before(at, " bytes stack frame");
  long registers = number_before(at, " registers");
  cr_expect_eq(spilled, 0, "%s: %s spills %ld bytes", report, name, spilled);
  cr_expect(frame == 0 || may_have_frame(name), "%s: %s has %ld bytes in local memory", report, name, frame);
  cr_expect(registers > 0 && registers * LANES * blocks <= REGISTERS,
            "%s: %ld registers of %s are too many for %d teams", report, registers, name, blocks);
  expect_shared(at, report, architecture, name, blocks);
}

Test(kernels_ptx, every_kernel_keeps_to_its_registers_on_every_architecture_and_spills_none) {
  for (int i = 0; i < TYPES * ARCHITECTURES; i++) {
    char ending[16], report[48];
    const char *type = types[i / ARCHITECTURES], *architecture = architectures[i % ARCHITECTURES];
    (void)snprintf(ending, sizeof ending, "%s.txt", architecture);
    (void)snprintf(report, sizeof report, "%s on %s", type, architecture);
    char *text = read_report(type, ending);
    for (int b = 0; b < K_KERNEL_COUNT; b++) {
      expect_registers(text, report, i % ARCHITECTURES, kernels[b].name, kernels[b].blocks);
    }
    free(text);
  }
}

/* Kernels that keep vectors of four arrays, or stand in for libraries of attention, products and convolutions. */
static int may_have_fewer_blocks(const char *name) {
  static const char *const prefix[] = {"bn_",          "adam",      "attention", "linear_xent", "layer_norm_bwd",
                                       "rms_norm_bwd", "depthwise", "matmul"};
  for (size_t i = 0; i < sizeof prefix / sizeof *prefix; i++) {
    if (strncmp(name, prefix[i], strlen(prefix[i])) == 0) return 1;
  }
  return 0;
}

/* Latencies hide after other thread blocks: only what stands in for libraries, and what keeps a channel's numbers, may
 * leave room for fewer. */
Test(kernels_ptx, kernels_leave_room_for_four_blocks_where_they_keep_nothing) {
  for (int b = 0; b < K_KERNEL_COUNT; b++) {
    const char *name = kernels[b].name;
    if (may_have_frame(name) || may_have_fewer_blocks(name)) continue;
    cr_expect_geq(kernels[b].blocks, 4, "%s", name);
  }
}
