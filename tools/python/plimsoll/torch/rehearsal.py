"""What Inductor's own scheduler makes of a plan: the peak of the kernels that it would fuse, in the order in which they
would run. Nothing is compiled by a C++ compiler, so this takes a tenth of a compilation.

Inductor's own estimate counts a buffer that lives inside one kernel, and a kernel's result beside the operand that it
writes over: most often it is exact or too high. What ops of PyTorch take for themselves it does not count; settings() adds
what the plan knows of it, here and where the compiler chooses an order by its estimate. The measured peak corrects it.
"""

from __future__ import annotations

import torch
from torch import fx
from torch._inductor import ir, memory
from torch._inductor.compile_fx import compile_fx_inner
from torch._inductor.scheduler import Scheduler
from torch._inductor.virtualized import V
from torch.utils import _pytree as pytree
from torch.utils._ordered_set import OrderedSet

from . import inductor


class _Scheduled(BaseException):
    """Carries the peak out of the compiler before it writes code. No Exception: the compiler would wrap it."""

    def __init__(self, n_bytes: int, strides: list):
        super().__init__("scheduled")
        self.n_bytes, self.strides = n_bytes, strides


def _workspace(node) -> int:
    """What the op of PyTorch that a scheduler's node calls takes for itself; 0 for kernels that the compiler writes."""
    most = 0
    for part in node.get_nodes():
        if isinstance(part.node, ir.ExternKernel) and not isinstance(part.node, ir.MultiOutput):
            rows = (origin.meta.get(inductor.WORKSPACES) for origin in part.node.origins)
            most = max([most, *(row[inductor.level()] for row in rows if row)])
    return most


_estimate = memory.estimate_peak_memory


def estimate_with_workspaces(nodes, inputs, outputs) -> tuple[int, list[int]]:
    """As memory.estimate_peak_memory, in whose place it stands."""
    _, live = _estimate(nodes, inputs, outputs)
    live = [n_bytes + _workspace(node) for n_bytes, node in zip(live, nodes)] + live[len(nodes) :]
    return max(live), live


def _stop(scheduler: Scheduler):
    inputs = memory.get_freeable_input_buf(scheduler.nodes, OrderedSet(V.graph.graph_inputs.keys()))
    outputs = OrderedSet(V.graph.get_output_names())
    strides = [
        tuple(int(n) for n in out.get_layout().stride) if isinstance(out, ir.IRNode) and out.has_tensor_output() else None
        for out in V.graph.graph_outputs
    ]
    raise _Scheduled(estimate_with_workspaces(scheduler.nodes, inputs, outputs)[0], strides)


def _restrided(value, stride):
    """A fake tensor as the forward has stored it."""
    if stride is None or not isinstance(value, torch.Tensor) or tuple(value.stride()) == stride:
        return value
    with value.fake_mode:
        return torch.empty_strided(tuple(value.shape), stride, dtype=value.dtype, device=value.device)


def _outputs(module: fx.GraphModule) -> list[str]:
    output = next(node for node in module.graph.nodes if node.op == "output")
    return [getattr(node, "name", "") for node in pytree.arg_tree_leaves(*output.args)]


def _peak(module: fx.GraphModule, saved: dict[str, tuple] | None = None) -> tuple[int, dict[str, tuple]]:
    """(the peak of one graph without the bytes of primals, strides of its results by name). The module is changed.

    Where convolutions get filters and images in another layout, the forward keeps these copies in place of the primals. In
    the backward they count until their last use, under a name that is not that of a primal.

    saved  the strides in which the forward stores what the backward reads; None: this is the forward
    """
    places = [node for node in module.graph.nodes if node.op == "placeholder"]
    inputs = [_restrided(node.meta["val"], (saved or {}).get(node.name)) for node in places]
    for node, value in zip(places, inputs):
        if node.name.startswith("primals_") and value is not node.meta["val"]:
            node._rename(f"copy_of_{node.name}")
            node.target = node.name
    names = _outputs(module)
    off = torch._inductor.config.patch(fx_graph_cache=False, fx_graph_remote_cache=False)
    try:
        with inductor.replaced(Scheduler, "codegen", _stop), off:
            compile_fx_inner(module, inputs, is_backward=saved is not None, graph_id=0)
    except _Scheduled as end:
        return end.n_bytes, dict(zip(names, end.strides))
    return 0, {}  # a graph without kernels


def forecast(forward: fx.GraphModule, backward: fx.GraphModule, level: int, room: int) -> int | None:
    """Peak of forward and backward beyond the primals; of the forward alone where that is above `room`. None: the compiler
    cannot be asked. Within inductor.settings(); level: as set_level() there."""
    try:
        inductor.set_level(level)
        most, strides = _peak(forward)
        return most if most > room else max(most, _peak(backward, strides)[0])
    except Exception:  # what is private in PyTorch may change: then the measured peak alone decides
        return None
