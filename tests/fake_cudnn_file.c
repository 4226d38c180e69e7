/* A cuDNN of CUDA 13 to be found by its name: it says its version, and nothing else works. */
#include <stddef.h>
#include <stdint.h>

size_t cudnnGetVersion(void);
size_t cudnnGetCudartVersion(void);
int cudnnCreate(void **handle);
int cudnnDestroy(void *handle);
int cudnnSetStream(void *handle, void *stream);
int cudnnBackendCreateDescriptor(int kind, void **out);
int cudnnBackendDestroyDescriptor(void *descriptor);
int cudnnBackendSetAttribute(void *descriptor, int name, int type, int64_t count, const void *values);
int cudnnBackendFinalize(void *descriptor);
int cudnnBackendGetAttribute(const void *descriptor, int name, int type, int64_t wanted, int64_t *count, void *values);
int cudnnBackendExecute(void *handle, void *plan, void *pack);

enum { VERSION = 92800, CUDA_VERSION = 13000, NOT_INITIALIZED = 1001 };

size_t cudnnGetVersion(void) {
  return VERSION;
}
size_t cudnnGetCudartVersion(void) {
  return CUDA_VERSION;
}
int cudnnCreate(void **handle) {
  (void)handle;
  return NOT_INITIALIZED;
}
int cudnnDestroy(void *handle) {
  (void)handle;
  return NOT_INITIALIZED;
}
int cudnnSetStream(void *handle, void *stream) {
  (void)handle, (void)stream;
  return NOT_INITIALIZED;
}
int cudnnBackendCreateDescriptor(int kind, void **out) {
  (void)kind, (void)out;
  return NOT_INITIALIZED;
}
int cudnnBackendDestroyDescriptor(void *descriptor) {
  (void)descriptor;
  return NOT_INITIALIZED;
}
int cudnnBackendSetAttribute(void *descriptor, int name, int type, int64_t count, const void *values) {
  (void)descriptor, (void)name, (void)type, (void)count, (void)values;
  return NOT_INITIALIZED;
}
int cudnnBackendFinalize(void *descriptor) {
  (void)descriptor;
  return NOT_INITIALIZED;
}
int cudnnBackendGetAttribute(const void *descriptor, int name, int type, int64_t wanted, int64_t *count, void *values) {
  (void)descriptor, (void)name, (void)type, (void)wanted, (void)count, (void)values;
  return NOT_INITIALIZED;
}
int cudnnBackendExecute(void *handle, void *plan, void *pack) {
  (void)handle, (void)plan, (void)pack;
  return NOT_INITIALIZED;
}
