/* cuDNN behind its table of functions. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cudnn_api.h"
#include "kernels/cuda/library.h"

enum { MAJOR = 9, OF_MAJOR = 10000, OF_CUDA_MAJOR = 1000 };

#define SYMBOL(name, field) \
  { name, offsetof(plim_cudnn_api, field) }
static const plim_cuda_symbol symbols[] = {SYMBOL("cudnnGetVersion", version),
                                           SYMBOL("cudnnCreate", create),
                                           SYMBOL("cudnnDestroy", destroy),
                                           SYMBOL("cudnnSetStream", set_stream),
                                           SYMBOL("cudnnBackendCreateDescriptor", make),
                                           SYMBOL("cudnnBackendDestroyDescriptor", unmake),
                                           SYMBOL("cudnnBackendSetAttribute", set),
                                           SYMBOL("cudnnBackendFinalize", finalize),
                                           SYMBOL("cudnnBackendGetAttribute", get),
                                           SYMBOL("cudnnBackendExecute", execute)};
#undef SYMBOL
static const char *const files[] = {"libcudnn.so.9", "libcudnn.so", NULL};
static const plim_cuda_library spec = {"cuDNN", "PLIM_CUDNN", files, sizeof symbols / sizeof *symbols, symbols};

/* NVRTC by the CUDA that cuDNN was built for. */
static const plim_cuda_symbol compiler_symbols[] = {{"nvrtcVersion", 0}};
static const char *const compiler_files[][2] = {{"libnvrtc.so.12", NULL}, {"libnvrtc.so.13", NULL}};
static const char *const compiler_packages[] = {"nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc"};
enum { FIRST_CUDA = 12, CUDAS = sizeof compiler_packages / sizeof *compiler_packages };

/* cuDNN opens it by its name: what the loader finds it finds as well, or one that was made for it. Else it finds what
 * we have open. Without it the heuristics silently offer less. */
static void find_compiler(plim_cudnn_api *api, char *why, size_t why_bytes) {
  int (*version)(int *, int *) = NULL;
  size_t (*built_for)(void) = NULL;
  char ignored[200];
  void *symbol = dlsym(api->opened, "cudnnGetCudartVersion");
  memcpy(&built_for, &symbol, sizeof symbol);
  const int i = built_for ? (int)(built_for() / OF_CUDA_MAJOR) - FIRST_CUDA : -1;
  if (i < 0 || i >= CUDAS) return; /* nothing knows what it wants */
  void *there = getenv("PLIM_NVRTC") ? NULL : dlopen(compiler_files[i][0], RTLD_NOW | RTLD_LOCAL);
  if (there) {
    (void)dlclose(there);
    return;
  }
  const plim_cuda_library compiler = {"NVRTC", "PLIM_NVRTC", compiler_files[i], 1, compiler_symbols};
  api->compiler = plim_cuda_library_open(&compiler, &version, ignored, sizeof ignored);
  if (api->compiler) return;
  (void)snprintf(why, why_bytes,
                 "cuDNN finds no %s, by which it compiles most engines: install %s, or name its folder in "
                 "PLIM_CUDA_LIBS",
                 compiler_files[i][0], compiler_packages[i]);
}

void plim_cudnn_load(plim_cudnn_api *api, char *why, size_t why_bytes) {
  memset(api, 0, sizeof *api);
  api->opened = plim_cuda_library_open(&spec, api, why, why_bytes);
  void *last_error = api->opened ? dlsym(api->opened, "cudnnGetLastErrorString") : NULL;
  memcpy(&api->last_error, &last_error, sizeof last_error);
  if (!api->opened) return;
  if (api->version() / OF_MAJOR == MAJOR) {
    find_compiler(api, why, why_bytes);
    return;
  }
  (void)snprintf(why, why_bytes, "no cuDNN %d: the one that was found is version %zu", MAJOR,
                 api->version() / OF_MAJOR);
  plim_cudnn_unload(api);
}

void plim_cudnn_unload(plim_cudnn_api *api) {
  if (api->opened) (void)dlclose(api->opened);
  if (api->compiler) (void)dlclose(api->compiler);
  api->opened = api->compiler = NULL;
}
