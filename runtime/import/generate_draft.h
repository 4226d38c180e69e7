/* A graph while it is generated: its nodes and links so far, and the random numbers of its seed. Equal options give
 * equal graphs on every machine. On the thread of the context.
 *
 * generate.c has the functions of a draft; generate_layered.c and generate_networks.c have the shapes. */
#ifndef PLIM_RUNTIME_IMPORT_GENERATE_DRAFT_H
#define PLIM_RUNTIME_IMPORT_GENERATE_DRAFT_H

#include "runtime/import/generate.h"
#include "runtime/import/node_link.h"

typedef struct plim_generated {
  plim_context *ctx;
  const plim_generate_options *options;
  plim_status status; /* first failure; later additions do nothing */
  uint64_t draws;     /* random numbers drawn so far */
  int64_t n, n_links, capacity, link_capacity;
  plim_node *node;
  plim_link *link;
} plim_generated;

/* Draw the next random number, uniform in [0, below) with below > 0; uniform in [0, 1). */
int64_t plim_generated_below(plim_generated *generated, int64_t below);
double plim_generated_unit(plim_generated *generated);

/* Add a node; returns its number, which is also its id. */
int32_t plim_generated_node(plim_generated *generated, const char *name, plim_phase phase, int64_t bytes,
                            int64_t time_ns);
/* Add a link: node `to` reads node `from`. */
void plim_generated_link(plim_generated *generated, int32_t from, int32_t to);

/* ---- the shapes: each adds all nodes and links ---- */
typedef void plim_generator(plim_generated *generated);
void plim_generate_layered(plim_generated *generated);
void plim_generate_chain(plim_generated *generated);
void plim_generate_residual(plim_generated *generated);
void plim_generate_unet(plim_generated *generated);
void plim_generate_transformer(plim_generated *generated);

#endif
