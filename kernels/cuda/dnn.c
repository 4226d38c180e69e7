/* Problems that were asked for stay in a list with what the library offers for them. The plan of a configuration is
 * built for its first kernel, because some are compiled, and shared by all kernels of the configuration. It outlives
 * them until plim_dnn_trim: who measures a kernel frees it before the executor prepares the same one.
 *
 * A run needs its addresses in a descriptor of the library, which cannot be changed. A planned step uses the same
 * addresses every time, so that descriptors are kept: from the second step on a run allocates nothing. */
#include "kernels/cuda/dnn.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PACKS = 64 /* places a kernel runs at; the one made first makes room */ };

typedef struct offer {
  struct offer *next;
  plim_dnn_problem problem;
  float scale, fill; /* of attention: what scores are multiplied by; what those become that the mask hides */
  plim_dnn_graph graph;
  int n;
  plim_dnn_config config[PLIM_DNN_CONFIGS];
} offer;

struct plim_dnn {
  const plim_cuda_driver *driver;
  plim_kernel_memory memory;
  plim_cudnn_api api;
  void *handle;
  char version[24];
  int has_attention;
  int status;    /* of what it refused last */
  int64_t built; /* plans for kernels so far */
  offer *offers;
};

/* Addresses that were bound once: operands, then the workspace. */
typedef struct pack {
  void *place[PLIM_DNN_OPERANDS_MAX + 1];
  void *descriptor;
} pack;

struct plim_dnn_kernel {
  plim_dnn *dnn;
  offer *offer;
  plim_dnn_config *config; /* of the offer, with its plan */
  int packs, oldest;
  pack pack[PACKS];
};

/* ---- the library ---- */

static void free_dnn(plim_dnn *dnn) {
  const plim_kernel_memory memory = dnn->memory;
  plim_kernel_release(&memory, dnn, 1, sizeof *dnn);
}

int plim_dnn_open(const plim_cuda_driver *driver, const plim_kernel_memory *memory, plim_dnn **out, char *why,
                  size_t why_bytes) {
  *out = NULL;
  plim_dnn *dnn = plim_kernel_allocate(memory, 1, sizeof *dnn);
  if (!dnn) return PLIM_CUDA_NO_MEMORY;
  dnn->memory = *memory;
  dnn->driver = driver;
  driver->dnn_load(&dnn->api, why, why_bytes);
  if (!dnn->api.opened) {
    free_dnn(dnn);
    return 0;
  }
  size_t version = dnn->api.version();
  (void)snprintf(dnn->version, sizeof dnn->version, "%d.%d.%d", (int)(version / 10000), (int)(version / 100 % 100),
                 (int)(version % 100));
  dnn->has_attention = version >= PLIM_DNN_ATTENTION_SINCE;
  int code = dnn->api.create(&dnn->handle);
  if (code == 0) {
    *out = dnn;
    return 0;
  }
  (void)snprintf(why, why_bytes, "no cuDNN: version %s refuses to start here (status %d)", dnn->version, code);
  driver->dnn_unload(&dnn->api);
  free_dnn(dnn);
  return 0;
}

void plim_dnn_close(plim_dnn *dnn) {
  if (!dnn) return;
  while (dnn->offers) {
    offer *o = dnn->offers;
    dnn->offers = o->next;
    plim_dnn_configs_free(&dnn->api, o->config, o->n);
    plim_dnn_graph_free(&dnn->api, &o->graph);
    plim_kernel_release(&dnn->memory, o, 1, sizeof *o);
  }
  (void)dnn->api.destroy(dnn->handle);
  dnn->driver->dnn_unload(&dnn->api);
  free_dnn(dnn);
}

const char *plim_dnn_version(const plim_dnn *dnn) {
  return dnn->version;
}

int plim_dnn_has_attention(const plim_dnn *dnn) {
  return dnn->has_attention;
}

void plim_dnn_forget(plim_dnn *dnn) {
  if (dnn) dnn->status = 0;
}

void plim_dnn_why(const plim_dnn *dnn, char *text, size_t bytes) {
  char words[PLIM_DNN_WHY_BYTES] = "";
  if (bytes > 0) text[0] = '\0';
  if (dnn->status == 0) return;
  if (dnn->api.last_error) dnn->api.last_error(words, sizeof words);
  (void)snprintf(text, bytes, "cuDNN status %d%s%s", dnn->status, words[0] ? ": " : "", words);
}

int64_t plim_dnn_built(const plim_dnn *dnn) {
  return dnn->built;
}

/* A code of the library's, remembered. */
static int fail(plim_dnn *dnn, int status) {
  dnn->status = status;
  return PLIM_CUDNN_CODES + status;
}

void plim_dnn_trim(plim_dnn *dnn) {
  for (offer *o = dnn ? dnn->offers : NULL; o; o = o->next) {
    for (int i = 0; i < o->n; i++) {
      if (o->config[i].users == 0) plim_dnn_unmake(&dnn->api, &o->config[i].plan);
    }
  }
}

/* ---- offers ---- */

static int count_operands(const plim_dnn_problem *problem) {
  if (!problem->is_attention) return PLIM_DNN_OPERANDS;
  return problem->attention.backward ? PLIM_DNN_TENSORS : PLIM_DNN_FORWARD_TENSORS;
}

static offer *known_offer(const plim_dnn *dnn, const plim_dnn_problem *problem) {
  offer *o = dnn->offers;
  while (o && memcmp(&o->problem, problem, sizeof *problem) != 0) o = o->next;
  return o;
}

static offer *add_offer(plim_dnn *dnn, const plim_dnn_problem *problem) {
  offer *o = plim_kernel_allocate(&dnn->memory, 1, sizeof *o);
  if (!o) return NULL;
  memcpy(&o->problem, problem, sizeof *problem);
  o->fill = -INFINITY;
  if (problem->is_attention) o->scale = 1 / sqrtf((float)problem->attention.depth);
  o->next = dnn->offers;
  dnn->offers = o;
  return o;
}

/* Its operation graph, made where there is none yet. */
static int reach_graph(plim_dnn *dnn, offer *o) {
  if (o->graph.part[PLIM_DNN_GRAPH]) return 0;
  if (o->problem.is_attention) {
    return plim_dnn_attention_graph(&dnn->api, dnn->handle, &o->problem.attention, &o->graph);
  }
  return plim_dnn_graph_make(&dnn->api, dnn->handle, &o->problem.conv, &o->graph);
}

static int ask(plim_dnn *dnn, offer *o, plim_dnn_config *config) {
  return plim_dnn_configs_make(&dnn->api, dnn->handle, o->graph.part[PLIM_DNN_GRAPH], o->problem.conv.strict != 0,
                               config);
}

/* What the library offers for the problem; NULL when memory is short. Nothing is an offer too. */
static offer *offer_of(plim_dnn *dnn, const plim_dnn_problem *problem) {
  offer *o = known_offer(dnn, problem);
  if (o) return o;
  o = add_offer(dnn, problem);
  if (o && reach_graph(dnn, o) == 0) o->n = ask(dnn, o, o->config);
  return o;
}

void plim_dnn_recall(plim_dnn *dnn, const plim_dnn_problem *problem, const plim_dnn_config *row, int n) {
  offer *o = n > PLIM_DNN_CONFIGS || known_offer(dnn, problem) ? NULL : add_offer(dnn, problem);
  if (!o) return;
  memcpy(o->config, row, (size_t)n * sizeof *row);
  o->n = n;
}

/* The descriptor of a recalled row: made by hand, or else found among what the heuristics name. */
static int reach_config(plim_dnn *dnn, offer *o, plim_dnn_config *row) {
  plim_dnn_config asked[PLIM_DNN_CONFIGS];
  int code = row->config ? 0 : reach_graph(dnn, o);
  if (row->config || code != 0) return code;
  code = plim_dnn_config_make(&dnn->api, o->graph.part[PLIM_DNN_GRAPH], row);
  if (code == 0) return 0;
  const int n = ask(dnn, o, asked);
  for (int i = 0; i < n && !row->config; i++) {
    if (strcmp(asked[i].name, row->name) != 0 || asked[i].workspace_bytes > row->workspace_bytes) continue;
    row->config = asked[i].config;
    asked[i].config = NULL;
  }
  plim_dnn_configs_free(&dnn->api, asked, n);
  return row->config ? 0 : code;
}

int plim_dnn_find(plim_dnn *dnn, const plim_dnn_problem *problem, const plim_dnn_config **config) {
  const offer *o = offer_of(dnn, problem);
  if (!o) return 0;
  *config = o->config;
  return o->n;
}

/* ---- kernels ---- */

int plim_dnn_make(plim_dnn *dnn, const plim_dnn_problem *problem, const char *name, plim_dnn_kernel **out) {
  offer *o = offer_of(dnn, problem);
  if (!o) return PLIM_CUDA_NO_MEMORY;
  int i = 0;
  while (i < o->n && strcmp(o->config[i].name, name) != 0) i++;
  if (i == o->n) return PLIM_DNN_NO_CONFIG;
  int code = 0;
  if (!o->config[i].plan) {
    code = reach_config(dnn, o, &o->config[i]);
    if (code == 0) code = plim_dnn_plan_make(&dnn->api, dnn->handle, &o->config[i]);
    dnn->built++;
  }
  if (code != 0) return code == PLIM_DNN_ROOM ? code : fail(dnn, code);
  plim_dnn_kernel *kernel = plim_kernel_allocate(&dnn->memory, 1, sizeof *kernel);
  if (!kernel) return PLIM_CUDA_NO_MEMORY;
  *kernel = (plim_dnn_kernel){.dnn = dnn, .offer = o, .config = &o->config[i]};
  kernel->config->users++;
  *out = kernel;
  return 0;
}

void plim_dnn_free(plim_dnn_kernel *kernel) {
  if (!kernel) return;
  for (int i = 0; i < kernel->packs; i++) plim_dnn_unmake(&kernel->dnn->api, &kernel->pack[i].descriptor);
  kernel->config->users--;
  plim_kernel_release(&kernel->dnn->memory, kernel, 1, sizeof *kernel);
}

/* The numbers of attention are read from the host when the plan is executed. */
static int make_pack(const plim_dnn_kernel *kernel, pack *p) {
  offer *o = kernel->offer;
  int64_t id[PLIM_DNN_ATTENTION_END];
  void *place[PLIM_DNN_ATTENTION_END];
  int n = count_operands(&o->problem);
  for (int i = 0; i < n; i++) {
    id[i] = i + 1;
    place[i] = p->place[i];
  }
  if (o->problem.is_attention) {
    id[n] = PLIM_DNN_SCALE + 1;
    place[n++] = &o->scale;
    id[n] = PLIM_DNN_FILL + 1;
    place[n++] = &o->fill;
  }
  const plim_dnn_attribute attribute[] = {
      {DNN_ATTR_VARIANT_PACK_UNIQUE_IDS, DNN_TYPE_INT64, n, id},
      {DNN_ATTR_VARIANT_PACK_DATA_POINTERS, DNN_TYPE_VOID_PTR, n, place},
      {DNN_ATTR_VARIANT_PACK_WORKSPACE, DNN_TYPE_VOID_PTR, 1, &p->place[PLIM_DNN_OPERANDS_MAX]}};
  return plim_dnn_build(&kernel->dnn->api, DNN_BACKEND_VARIANT_PACK_DESCRIPTOR, attribute, 3, &p->descriptor);
}

/* The row of these addresses, made when there is none. */
static int pack_of(plim_dnn_kernel *kernel, const pack *wanted, const pack **out) {
  const plim_cudnn_api *api = &kernel->dnn->api;
  for (int i = 0; i < kernel->packs; i++) {
    *out = &kernel->pack[i];
    if (memcmp((*out)->place, wanted->place, sizeof wanted->place) == 0) return 0;
  }
  pack made = *wanted;
  int code = make_pack(kernel, &made);
  if (code != 0) return code;
  pack *row = &kernel->pack[kernel->oldest];
  if (kernel->packs < PACKS)
    row = &kernel->pack[kernel->packs++];
  else
    kernel->oldest = (kernel->oldest + 1) % PACKS;
  plim_dnn_unmake(api, &row->descriptor);
  *row = made;
  *out = row;
  return 0;
}

int plim_dnn_kernel_operands(const plim_dnn_kernel *kernel) {
  return count_operands(&kernel->offer->problem);
}

int plim_dnn_run(plim_dnn_kernel *kernel, void *const *operand, void *workspace, void *stream) {
  const plim_cudnn_api *api = &kernel->dnn->api;
  pack wanted = {.descriptor = NULL};
  const pack *bound = NULL;
  for (int i = 0; i < plim_dnn_kernel_operands(kernel); i++) wanted.place[i] = operand[i];
  wanted.place[PLIM_DNN_OPERANDS_MAX] = workspace;
  int code = pack_of(kernel, &wanted, &bound);
  if (code == 0) code = api->set_stream(kernel->dnn->handle, stream);
  if (code == 0) code = api->execute(kernel->dnn->handle, kernel->config->plan, bound->descriptor);
  return code == 0 ? 0 : fail(kernel->dnn, code);
}
