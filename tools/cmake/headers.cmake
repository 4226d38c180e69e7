# The public headers: what `cmake --install` copies to include/plimsoll, in the folders that they have here. A program
# includes <plimsoll/plan.h> or <plimsoll/plimsoll.h>, which include all of a list. tests/outside/check says when a
# public header includes one that is not public, or when a list and its umbrella header differ.
set(plim_plan_headers
  kernels/op.h
  runtime/base/status.h runtime/base/context.h runtime/base/size.h
  runtime/graph/costs.h runtime/graph/handles.h runtime/graph/graph.h runtime/graph/profile.h runtime/graph/plan.h runtime/graph/check/check.h
  runtime/graph/trace.h runtime/import/import.h runtime/import/generate.h
  runtime/arena/policy.h runtime/arena/replay_search.h runtime/simulate/ideal_memory.h runtime/inspect/inspect.h
  planner/planner.h planner/pack/pack.h runtime/simulate/simulation.h
  runtime/simulate/inspected_run.h)
set(plim_run_headers
  kernels/table.h
  runtime/device/device.h runtime/device/device_check.h runtime/profile/profiler.h
  runtime/exec/exec.h runtime/net/net.h
  runtime/data/dataset.h
  runtime/program/program.h runtime/program/program_source.h runtime/program/paging_links.h runtime/program/online_plan.h
  runtime/train/preparation.h runtime/train/rate_schedule.h runtime/train/trainer.h runtime/train/checkpoint.h
  runtime/train/verification.h)
