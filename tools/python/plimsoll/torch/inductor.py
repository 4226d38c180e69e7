"""A partition function as Inductor takes it, and the settings under which a step is compiled with it."""

from __future__ import annotations

import contextlib
import typing

import torch._functorch.config as functorch_config
import torch._inductor.config as inductor_config
from torch._inductor import memory
from torch._inductor.codegen import cpp
from torch._inductor.codegen.wrapper import PythonWrapperCodegen
from torch._inductor.custom_graph_pass import CustomPartitionerFn


class Partitioner(CustomPartitionerFn):
    """For torch._inductor.config.custom_partitioner_fn.

    partition  (module, joint_inputs, *, num_fwd_outputs, ...) -> forward and backward
    key        what decides its result beside the graph; None: unknown, and nothing is taken from caches
    """

    def __init__(self, partition, key: str | None):
        self.partition, self.key = partition, key

    def __call__(self, module, joint_inputs, **keywords):
        return self.partition(module, joint_inputs, **keywords)

    def __deepcopy__(self, memo):  # settings are copied, graphs with fake tensors cannot be
        return self

    def __reduce__(self):  # keys of caches pickle all settings
        return type(self), (None, self.key)

    def uuid(self) -> str | None:
        """Of graphs in caches: the order of their kernels depends on the room, too."""
        return self.key if self.key is None or _room is None else f"{self.key} {_room}"


WORKSPACES = "plimsoll_workspaces"  # in a node's meta: bytes that its op takes for itself, by level
ALL, APART, PLAIN = range(3)  # levels: how much the compiler may do that takes memory
_MOST_ARGUMENTS = cpp.CppScheduling.MAX_FUSED_KERNEL_ARGS_NUM  # of a call that runs several kernels
_usual: dict = {}  # the user's settings, while settings() holds
_level = ALL
_room: int | None = None
_ALWAYS = {"cpp.use_two_step_variance_threshold": 1 << 62}  # in two passes: one takes two to three times as long
_OFF: tuple[dict[str, typing.Any], ...] = (
    {},
    {"cpp.max_horizontal_fusion_size": 0, "fusion_memory_timeline_peak_memory_increase_gb": 0.0},
    {"layout_optimization": False},
)


def set_level(level: int, room: int | None = None):
    """Until settings() ends. APART: kernels are not fused where the peak would rise by it, and those that read the same not
    side by side: a repeat would run as early as the first of them; they run in the planner's order, and on a CPU by a call
    each. PLAIN: nor are filters and images copied into another layout.

    room  bytes that a graph may take beyond the primals: the compiler's order of kernels is taken where it has that room;
          None: unknown
    """
    global _level, _room
    _level, _room = level, room
    off = {name: value for row in _OFF[: level + 1] for name, value in row.items()}
    for name, value in {**_usual, **off}.items():
        setattr(inductor_config, name, value)
    cpp.CppScheduling.MAX_FUSED_KERNEL_ARGS_NUM = _MOST_ARGUMENTS if level < APART else 0


def level() -> int:
    return _level


def room() -> int | None:
    return _room


@contextlib.contextmanager
def replaced(owner: typing.Any, name: str, value: typing.Any):
    """owner.name is `value` meanwhile."""
    was = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, was)


@contextlib.contextmanager
def settings(partition, key: str | None = None):
    """While a step is compiled; the partition function may call set_level(). The cache of whole steps is off: it would serve
    one without asking for a plan. That of single graphs is on, since what a plan changes is in the graph. The compiler's
    estimate of a peak, its order of kernels and when inputs end are those of kernels.py."""
    from . import kernels

    global _room
    copy = inductor_config.get_config_copy()
    _usual.update({name: copy[name] for row in _OFF for name in row})
    with (
        replaced(memory, "estimate_peak_memory", kernels.estimate),
        replaced(memory, "reorder_for_peak_memory", kernels.ordered),
        replaced(PythonWrapperCodegen, "generate", kernels.generate),
        replaced(cpp.CppScheduling, "MAX_FUSED_KERNEL_ARGS_NUM", _MOST_ARGUMENTS),
        inductor_config.patch({"custom_partitioner_fn": Partitioner(partition, key), **_ALWAYS, **_usual}),
        functorch_config.patch(enable_autograd_cache=False, force_non_lazy_backward_lowering=True),
    ):
        try:
            yield
        finally:
            _room = None
