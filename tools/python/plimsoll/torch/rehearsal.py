"""What Inductor's own scheduler makes of a plan: the peak of the kernels that it would fuse, in the order in which they
would run. Nothing is compiled by a C++ compiler, so this takes a tenth of a compilation.

Inductor's own estimate counts a buffer that lives inside one kernel, and a kernel's result beside the operand that it
writes over: most often it is exact or too high. What ops take for themselves is not counted. The measured peak corrects it.
"""

from __future__ import annotations

import torch
from torch import fx
from torch._inductor import memory
from torch._inductor.compile_fx import compile_fx_inner
from torch._inductor.scheduler import Scheduler
from torch._inductor.virtualized import V
from torch.utils._ordered_set import OrderedSet

from . import inductor


class _Scheduled(BaseException):
    """Carries the peak out of the compiler before it writes code. No Exception: the compiler would wrap it."""

    def __init__(self, n_bytes: int):
        super().__init__("scheduled")
        self.n_bytes = n_bytes


def _stop(scheduler: Scheduler):
    inputs = memory.get_freeable_input_buf(scheduler.nodes, OrderedSet(V.graph.graph_inputs.keys()))
    outputs = OrderedSet(V.graph.get_output_names())
    raise _Scheduled(memory.estimate_peak_memory(scheduler.nodes, inputs, outputs)[0])


def _peak(module: fx.GraphModule, backward: bool) -> int:
    """Of one graph, without the bytes of primals. The module is changed."""
    inputs = [node.meta["val"] for node in module.graph.nodes if node.op == "placeholder"]
    was, Scheduler.codegen = Scheduler.codegen, _stop
    try:
        with torch._inductor.config.patch(fx_graph_cache=False, fx_graph_remote_cache=False):
            compile_fx_inner(module, inputs, is_backward=backward, graph_id=0)
    except _Scheduled as end:
        return end.n_bytes
    finally:
        Scheduler.codegen = was
    return 0  # a graph without kernels


def forecast(forward: fx.GraphModule, backward: fx.GraphModule, apart: bool, room: int) -> int | None:
    """Peak of forward and backward beyond the primals; of the backward alone where that is above `room`. None: the compiler
    cannot be asked. Within inductor.settings(); apart: as set_apart() there."""
    try:
        inductor.set_apart(apart)
        most = _peak(backward, True)
        return most if most > room else max(most, _peak(forward, False))
    except Exception:  # what is private in PyTorch may change: then the measured peak alone decides
        return None
