/* CPU model, instruction set, library and build, as short strings. */
#include "runtime/device/machine.h"

#include <stdio.h>
#include <string.h>

#include "kernels_hash.h" /* generated: PLIM_KERNELS_HASH */

/* Copy the text after the colon of the first line that begins with `field`. */
static void cpuinfo_field(const char *field, char *out, size_t size) {
  FILE *file = fopen("/proc/cpuinfo", "r");
  char line[256];
  while (file && fgets(line, sizeof line, file)) {
    const char *colon = strchr(line, ':');
    if (!colon || strncmp(line, field, strlen(field)) != 0) continue;
    const char *text = colon + 1 + strspn(colon + 1, " \t");
    (void)snprintf(out, size, "%.*s", (int)strcspn(text, "\n"), text);
    break;
  }
  if (file) (void)fclose(file);
}

static void describe_build(plim_machine *machine) {
  (void)snprintf(machine->build, sizeof machine->build, "%s-%s", PLIM_VERSION, PLIM_KERNELS_HASH);
}

void plim_machine_describe(const char *device, const plim_kernel_table *table, int32_t threads, plim_machine *out) {
  memset(out, 0, sizeof *out);
  (void)snprintf(out->device, sizeof out->device, "%s", device);
  cpuinfo_field("model name", out->cpu, sizeof out->cpu);
  (void)snprintf(out->isa, sizeof out->isa, "%s", plim_kernel_table_isa(table));
  (void)snprintf(out->library, sizeof out->library, "%s", plim_kernel_library());
  describe_build(out);
  out->threads = threads;
}

void plim_machine_layouts(plim_device *device) {
  device->n_layouts = 2;
  device->layout[0] = PLIM_NHWC;
  device->layout[1] = strcmp(device->machine.isa, "x86-64-v4") == 0 ? PLIM_NCHW16C : PLIM_NCHW8C;
}

void plim_machine_describe_gpu(const char *name, int32_t major, int32_t minor, const char *libraries,
                               plim_machine *out) {
  memset(out, 0, sizeof *out);
  (void)snprintf(out->device, sizeof out->device, "cuda");
  (void)snprintf(out->cpu, sizeof out->cpu, "%s", name);
  (void)snprintf(out->isa, sizeof out->isa, "sm_%d%d", (int)major, (int)minor);
  (void)snprintf(out->library, sizeof out->library, "%s", libraries);
  describe_build(out);
  out->threads = 1;
}
