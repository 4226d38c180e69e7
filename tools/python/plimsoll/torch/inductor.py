"""A partition function as Inductor takes it, and the settings under which a step is compiled with it."""

from __future__ import annotations

import contextlib

import torch._functorch.config as functorch_config
import torch._inductor.config as inductor_config
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
        return self.key


_usual: dict = {}  # the user's settings, while settings() holds
APART = {
    "cpp.max_horizontal_fusion_size": 0,
    "fusion_memory_timeline_peak_memory_increase_gb": 0.0,
    "layout_optimization": False,
}


def set_apart(apart: bool):
    """Until settings() ends. apart: kernels are not fused where the peak would rise by it, and those that read the same not
    side by side: a repeat would run as early as the first of them. Nor are filters and images copied into another layout."""
    for name, value in (APART if apart else _usual).items():
        setattr(inductor_config, name, value)


@contextlib.contextmanager
def settings(partition, key: str | None = None):
    """While a step is compiled; the partition function may call set_apart(). The cache of whole steps is off: it would serve
    one without asking for a plan. That of single graphs is on, since what a plan changes is in the graph."""
    copy = inductor_config.get_config_copy()
    _usual.update({name: copy[name] for name in APART})
    with (
        inductor_config.patch({"custom_partitioner_fn": Partitioner(partition, key), **_usual}),
        functorch_config.patch(enable_autograd_cache=False, force_non_lazy_backward_lowering=True),
    ):
        yield
