"""What Inductor's own scheduler makes of a plan: the peak of the kernels that it would fuse, in the order in which they
would run. Nothing is compiled by a C++ compiler, so this takes a tenth of a compilation.

The peak is that of kernels.py, most often to the byte what the step then takes. The measured peak corrects it.
"""

from __future__ import annotations

import collections
import typing

import torch
from torch import fx
from torch._inductor import graph as compiled_graph
from torch._inductor import ir, memory
from torch._inductor.compile_fx import compile_fx_inner
from torch._inductor.scheduler import Scheduler
from torch._inductor.virtualized import V
from torch.utils import _pytree as pytree
from torch.utils._ordered_set import OrderedSet

from . import inductor, kernels
from .joint import storage_of


class _Scheduled(BaseException):
    """Carries the peak out of the compiler before it writes code. No Exception: the compiler would wrap it."""

    def __init__(self, n_bytes: int, strides: list):
        super().__init__("scheduled")
        self.n_bytes, self.strides = n_bytes, strides


def _stop(scheduler: Scheduler):
    inputs = memory.get_freeable_input_buf(scheduler.nodes, OrderedSet(V.graph.graph_inputs.keys()))
    outputs = OrderedSet(V.graph.get_output_names())
    strides = [
        tuple(int(n) for n in out.get_layout().stride) if isinstance(out, ir.IRNode) and out.has_tensor_output() else None
        for out in V.graph.graph_outputs
    ]
    raise _Scheduled(kernels.estimate(scheduler.nodes, inputs, outputs)[0], strides)


def _restrided(value, stride):
    """A fake tensor as the forward has stored it."""
    if stride is None or not isinstance(value, torch.Tensor) or tuple(value.stride()) == stride:
        return value
    with value.fake_mode:
        return torch.empty_strided(tuple(value.shape), stride, dtype=value.dtype, device=value.device)


def _outputs(module: fx.GraphModule) -> list[str]:
    output = next(node for node in module.graph.nodes if node.op == "output")
    return [getattr(node, "name", "") for node in pytree.arg_tree_leaves(*output.args)]


def _given_away(forward: fx.GraphModule) -> set[str]:
    """Names of results whose storage nothing else has: the backward may write over those that it reads."""
    output = next(node for node in forward.graph.nodes if node.op == "output")
    results = [node for node in pytree.arg_tree_leaves(*output.args) if isinstance(node, fx.Node)]
    holders = [node for node in forward.graph.nodes if node.op == "placeholder"] + results
    keys = {node: storage_of(node.meta["val"]) for node in holders if isinstance(node.meta.get("val"), torch.Tensor)}
    count = collections.Counter(keys[node] for node in holders if node in keys)
    return {node.name for node in results if node in keys and count[keys[node]] == 1}


def _peak(
    module: fx.GraphModule, saved: dict[str, tuple] | None = None, given_away: typing.AbstractSet[str] = frozenset()
) -> tuple[int, dict[str, tuple]]:
    """(the peak of one graph without the bytes of primals, strides of its results by name). The module is changed.

    Where convolutions get filters and images in another layout, the forward keeps these copies in place of the primals. In
    the backward they count until their last use, under a name that is not that of a primal.

    saved       the strides in which the forward stores what the backward reads; None: this is the forward
    given_away  names of inputs that it may write over
    """
    places = [node for node in module.graph.nodes if node.op == "placeholder"]
    inputs = [_restrided(node.meta["val"], (saved or {}).get(node.name)) for node in places]
    for node, value in zip(places, inputs):
        if node.name.startswith("primals_") and value is not node.meta["val"]:
            node._rename(f"copy_of_{node.name}")
            node.target = node.name
    names = _outputs(module)
    donated = [place for place, node in enumerate(places) if node.name in given_away]
    off = torch._inductor.config.patch(fx_graph_cache=False, fx_graph_remote_cache=False)
    try:
        with (
            inductor.replaced(Scheduler, "codegen", _stop),
            inductor.replaced(compiled_graph, "get_donated_idxs", lambda: donated),
            off,
        ):
            compile_fx_inner(module, inputs, is_backward=saved is not None, graph_id=0)
    except _Scheduled as end:
        return end.n_bytes, dict(zip(names, end.strides))
    return 0, {}  # a graph without kernels


def forecast(
    forward: fx.GraphModule, backward: fx.GraphModule, level: int, room: int, sides: tuple[bool, bool] = (True, True)
) -> tuple[int, bool] | None:
    """(peak of forward and backward beyond the primals, whether that is of both: the backward is not asked for where the
    forward's is above the room). None: the compiler cannot be asked. Within inductor.settings(); level, room: as
    set_level() there.

    sides  False: a side's peak is known to be within the room. Without the forward results have the strides of the graph.
    """
    try:
        inductor.set_level(level, room)
        given_away = _given_away(forward)
        most, strides = _peak(forward) if sides[0] else (0, {})
        if most > room:
            return most, False
        return max(most, _peak(backward, strides, given_away)[0] if sides[1] else 0), True
    except Exception:  # what is private in PyTorch may change: then the measured peak alone decides
        return None
