/* Where the fields of public structs lie: one table, filled by the compiler. Languages that cannot read the headers
 * build their structs from it, so a struct that grows or is put in another order stays right for them. */
#include <stddef.h>

#include "planner/planner.h"

typedef struct struct_row {
  const char *type, *field;
  size_t offset, bytes;
} struct_row;

/* The struct itself; a field that is a pointer; any other field. */
#define TYPE(t) \
  { #t, "", 0, sizeof(t) }
#define POINTER(t, f) \
  { #t, #f, offsetof(t, f), sizeof(void *) }
#define FIELD(t, f) \
  { #t, #f, offsetof(t, f), sizeof(((t *)NULL)->f) }

static const struct_row rows[] = {
    TYPE(plim_shape),
    FIELD(plim_shape, dtype),
    FIELD(plim_shape, layout),
    FIELD(plim_shape, rank),
    FIELD(plim_shape, dim),
    TYPE(plim_pair),
    FIELD(plim_pair, out),
    FIELD(plim_pair, in),
    TYPE(plim_op_spec),
    POINTER(plim_op_spec, name),
    FIELD(plim_op_spec, kind),
    FIELD(plim_op_spec, cls),
    FIELD(plim_op_spec, phase),
    FIELD(plim_op_spec, n_in),
    FIELD(plim_op_spec, n_out),
    FIELD(plim_op_spec, n_upd),
    FIELD(plim_op_spec, n_pairs),
    FIELD(plim_op_spec, in),
    FIELD(plim_op_spec, out),
    FIELD(plim_op_spec, upd),
    POINTER(plim_op_spec, many_in),
    POINTER(plim_op_spec, many_out),
    POINTER(plim_op_spec, many_upd),
    FIELD(plim_op_spec, pair),
    FIELD(plim_op_spec, time_ns),
    POINTER(plim_op_spec, id),
    TYPE(plim_variant),
    FIELD(plim_variant, name),
    FIELD(plim_variant, numerics_key),
    FIELD(plim_variant, time_ns),
    FIELD(plim_variant, workspace_bytes),
    TYPE(plim_machine),
    FIELD(plim_machine, device),
    FIELD(plim_machine, cpu),
    FIELD(plim_machine, isa),
    FIELD(plim_machine, library),
    FIELD(plim_machine, build),
    FIELD(plim_machine, threads),
    TYPE(plim_plan_options),
    FIELD(plim_plan_options, struct_bytes),
    POINTER(plim_plan_options, planner),
    FIELD(plim_plan_options, budget_bytes),
    FIELD(plim_plan_options, order),
    FIELD(plim_plan_options, unpacked),
    FIELD(plim_plan_options, threads),
    FIELD(plim_plan_options, copies),
    FIELD(plim_plan_options, numerics),
    FIELD(plim_plan_options, seed),
    FIELD(plim_plan_options, iterations),
    FIELD(plim_plan_options, brief),
    FIELD(plim_plan_options, time_limit_ns),
    POINTER(plim_plan_options, front_folder),
    TYPE(plim_plan_floor),
    FIELD(plim_plan_floor, smallest_bytes),
    FIELD(plim_plan_floor, bound_bytes),
    FIELD(plim_plan_floor, outputs_bytes),
    FIELD(plim_plan_floor, op),
    FIELD(plim_plan_floor, keep_all_bytes),
    FIELD(plim_plan_floor, fixed_numerics),
    FIELD(plim_plan_floor, conflict),
    FIELD(plim_plan_floor, cut_short),
    TYPE(plim_command),
    FIELD(plim_command, kind),
    FIELD(plim_command, op),
    FIELD(plim_command, variant),
    FIELD(plim_command, queue),
    TYPE(plim_plan),
    FIELD(plim_plan, fingerprint),
    FIELD(plim_plan, planner),
    FIELD(plim_plan, plan_class),
    FIELD(plim_plan, packed),
    FIELD(plim_plan, n_commands),
    FIELD(plim_plan, n_buffers),
    FIELD(plim_plan, n_variants),
    POINTER(plim_plan, command),
    FIELD(plim_plan, budget_bytes),
    FIELD(plim_plan, peak_bytes),
    FIELD(plim_plan, arena_bytes),
    FIELD(plim_plan, time_ns),
    FIELD(plim_plan, keep_all_ns),
    FIELD(plim_plan, bound_ns),
    FIELD(plim_plan, proved),
    TYPE(plim_progress),
    POINTER(plim_progress, stage),
    FIELD(plim_progress, done),
    FIELD(plim_progress, total),
    FIELD(plim_progress, elapsed_ns),
    FIELD(plim_progress, best_percent),
    FIELD(plim_progress, bound_percent),
};

int plim_struct_field(int32_t place, const char **type, const char **field, size_t *offset, size_t *bytes) {
  if (place < 0 || (size_t)place >= sizeof rows / sizeof rows[0]) return 0;
  *type = rows[place].type;
  *field = rows[place].field;
  *offset = rows[place].offset;
  *bytes = rows[place].bytes;
  return 1;
}
