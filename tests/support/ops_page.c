/* A section a kind: what it computes, its operands with types and shapes, and what else the row says. */
#include "tests/support/ops_page.h"

#include <string.h>

#include "kernels/op.h"

static const char head[] =
    "# Ops\n"
    "\n"
    "This page is generated from the table in kernels/op_rows.c; a test compares them. [kernels.md](kernels.md) says "
    "how to\n"
    "add a kind. A program adds its own with `plim_op_kind_add`.\n"
    "\n"
    "| type | element |\n"
    "|---|---|\n"
    "| t | the op's own type, f32 or bf16, equal for all such operands |\n"
    "| f32, bf16, i32, u8, bits | that type |\n"
    "| any | every type |\n"
    "\n"
    "A name in a shape is one size in all operands of the op. `...` is any number of sizes, equal in all of them.\n"
    "Sizes `+C` of several operands add up to C. *one or more* has no limit. An operand in [brackets] may be left out, "
    "and then all after it are. "
    "*over x*: the output may be written over input "
    "x.\n"
    "Elements lie in any layout that the operands share, unless the text says another thing.\n"
    "\n"
    "*FLOP* and *bytes* are what the cost model and `profile --ceilings` take for the least that an op needs. A\n"
    "multiply-add counts 2. Padding counts as zeros, and attention as half of all pairs of tokens. Bytes are those of\n"
    "memory: each operand once, what is updated twice, and of some operands only what is read. *t* is 4 bytes, or 2 "
    "in\n"
    "bf16. Workspaces are not counted, since they differ by variant, nor what a cache holds.\n";

static const char *type_name(char type) {
  switch (type) {
    case 'f':
      return "f32";
    case 'h':
      return "bf16";
    case 'i':
      return "i32";
    case 'u':
      return "u8";
    case 'b':
      return "bits";
    case '*':
      return "any";
    default:
      return "t";
  }
}

static void write_pairs(FILE *to, const plim_op_row *row, int output) {
  const char *before = ", over ";
  for (int i = 0; i < row->n_pairs; i++) {
    if (row->pair[i].out != output) continue;
    (void)fprintf(to, "%s%s", before, row->in[row->pair[i].in].name);
    before = " or ";
  }
}

static void write_list(FILE *to, const plim_op_row *row, const char *what, const plim_op_operand *list, int outputs) {
  for (int i = 0; i < PLIM_ROW_OPERANDS && list[i].name; i++) {
    const plim_op_operand *o = &list[i];
    const char *open = o->optional ? "[" : "", *close = o->optional ? "]" : "";
    (void)fprintf(to, "| %s | %s%s%s | %s | %s%s%s | ", what, open, o->name, close, type_name(o->type),
                  o->shape ? "`" : "", o->shape ? o->shape : "any", o->shape ? "`" : "");
    if (o->contents == PLIM_CONTENTS_INDICES) (void)fprintf(to, "below %s", o->below);
    if (o->contents == PLIM_CONTENTS_POSITIONS) (void)fprintf(to, "positions in a window");
    if (o->many) (void)fprintf(to, "one or more");
    if (o->strided) (void)fprintf(to, "%sany strides", o->many ? ", " : "");
    if (outputs) write_pairs(to, row, i);
    (void)fprintf(to, " |\n");
  }
}

/* Operands whose elements have as many bytes: `bytes x (elements + elements)`. */
static void write_moved(FILE *to, const plim_op_operand *list, const char *types, int *terms) {
  for (int i = 0; i < PLIM_ROW_OPERANDS && list[i].name; i++) {
    const plim_op_operand *o = &list[i];
    if (!strchr(types, o->type)) continue;
    const char *open = o->optional ? "[" : o->many ? "all " : "", *close = o->optional ? "]" : "";
    (void)fprintf(to, "%s%s", (*terms)++ ? " + " : "", open);
    if (o->moves) (void)fprintf(to, "min(%s, %s)", o->moves, o->shape);
    if (!o->moves) (void)fprintf(to, "%s", o->shape);
    (void)fprintf(to, "%s", close);
  }
}

static int count_types(const plim_op_operand *list, const char *types) {
  int n = 0;
  for (int i = 0; i < PLIM_ROW_OPERANDS && list[i].name; i++) n += strchr(types, list[i].type) != NULL;
  return n;
}

static const struct {
  const char *types, *bytes;
} classes[] = {{"t", "t"}, {"fi", "4"}, {"h", "2"}, {"u", "1"}, {"b", "1/8"}};

static void write_bytes(FILE *to, const plim_op_row *row) {
  const char *before = "- Bytes: ";
  for (size_t c = 0; c < sizeof classes / sizeof *classes; c++) {
    const char *types = classes[c].types, *bytes = classes[c].bytes;
    int terms = 0, updated = 0;
    if (count_types(row->in, types) + count_types(row->out, types) > 0) {
      (void)fprintf(to, "%s%s (", before, bytes);
      write_moved(to, row->in, types, &terms);
      write_moved(to, row->out, types, &terms);
      (void)fprintf(to, ")");
      before = " + ";
    }
    if (count_types(row->upd, types) > 0) {
      (void)fprintf(to, "%s2 %s (", before, bytes);
      write_moved(to, row->upd, types, &updated);
      (void)fprintf(to, ")");
      before = " + ";
    }
  }
  (void)fprintf(to, "\n");
}

static void write_gradients(FILE *to, const plim_op_row *row) {
  for (int i = 0; i < PLIM_ROW_GRADIENTS && row->gradient[i].of; i++) {
    const plim_op_gradient *g = &row->gradient[i];
    if (g->kind == PLIM_OP_CUSTOM) {
      (void)fprintf(to, "- Gradient of %s: %s\n", g->of, g->from);
    } else {
      (void)fprintf(to, "- Gradient of %s: `%s` of %s\n", g->of, plim_op_kind_name(g->kind), g->from);
    }
  }
}

static void write_row(FILE *to, const plim_op_row *row) {
  (void)fprintf(to, "\n## %s\n\n%s.\n\n", row->name, row->doc);
  if (row->in[0].name) {
    (void)fprintf(to, "| | operand | type | shape | |\n|---|---|---|---|---|\n");
    write_list(to, row, "in", row->in, 0);
    write_list(to, row, "out", row->out, 1);
    write_list(to, row, "upd", row->upd, 0);
    (void)fprintf(to, "\n");
  }
  (void)fprintf(to, "- Class: %s\n", plim_op_class_name(row->cls));
  if (row->attrs) (void)fprintf(to, "- Attributes: %s\n", row->attrs);
  if (row->in[0].name) {
    (void)fprintf(to, "- FLOP: %s\n", row->flops ? row->flops : "4 for each element of the largest operand");
    write_bytes(to, row);
  }
  write_gradients(to, row);
}

void ops_page_write(FILE *to) {
  (void)fputs(head, to);
  for (int kind = 0; kind < PLIM_OP_KIND_COUNT; kind++) write_row(to, plim_op_kind_row((plim_op_kind)kind));
}
