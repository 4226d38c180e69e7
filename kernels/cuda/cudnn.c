/* cuDNN behind its table of functions. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "kernels/cuda/cudnn_api.h"
#include "kernels/cuda/library.h"

enum { MAJOR = 9, OF_MAJOR = 10000 };

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

void plim_cudnn_load(plim_cudnn_api *api, char *why, size_t why_bytes) {
  memset(api, 0, sizeof *api);
  api->opened = plim_cuda_library_open(&spec, api, why, why_bytes);
  void *last_error = api->opened ? dlsym(api->opened, "cudnnGetLastErrorString") : NULL;
  memcpy(&api->last_error, &last_error, sizeof last_error);
  if (!api->opened || api->version() / OF_MAJOR == MAJOR) return;
  (void)snprintf(why, why_bytes, "no cuDNN %d: the one that was found is version %zu", MAJOR,
                 api->version() / OF_MAJOR);
  plim_cudnn_unload(api);
}

void plim_cudnn_unload(plim_cudnn_api *api) {
  if (api->opened) (void)dlclose(api->opened);
  api->opened = NULL;
}
