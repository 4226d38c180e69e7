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


def fusions(apart: bool):
    """apart: kernels are not fused where the peak would rise by it, and those that read the same not side by side: a repeat
    would run as early as the first of them."""
    apart_settings = {"cpp.max_horizontal_fusion_size": 0, "fusion_memory_timeline_peak_memory_increase_gb": 0.0}
    return inductor_config.patch(apart_settings if apart else {})


@contextlib.contextmanager
def settings(partition, key: str | None = None, apart: bool = False):
    """While a step is compiled. The cache of whole steps is off: it would serve one without asking for a plan. That of
    single graphs is on, since what a plan changes is in the graph. apart: see fusions()."""
    with (
        inductor_config.patch({"custom_partitioner_fn": Partitioner(partition, key)}),
        fusions(apart),
        functorch_config.patch(enable_autograd_cache=False, force_non_lazy_backward_lowering=True),
    ):
        yield
