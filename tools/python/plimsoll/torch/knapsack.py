"""A solver for PyTorch's activation_memory_budget that keeps bytes: the weaker way, for those who keep torch.compile.

PyTorch tells its solver sizes as shares and a budget as a ratio. The bytes come by another way: the solver has them from
the user, and sizes from the graph. It is asked only which results of costly ops are saved. What else is saved, and
when the rest is recomputed, PyTorch decides, so the peak of a step is not bounded.
"""

from __future__ import annotations

import contextlib

import torch._functorch.config as functorch_config
from torch import fx
from torch._inductor.custom_graph_pass import CustomKnapsackSolver

from ..planning import parse_bytes
from .costs import modelled_ns
from .joint import storage_bytes, storage_of, tensors

ASKED = 1e-9  # of activation_memory_budget: at 0 PyTorch asks no solver, nor where a cut of its own saves a smaller share
GRAINS = 4096  # parts in which bytes are counted


class KnapsackSolver(CustomKnapsackSolver):
    """budget: bytes that may be saved between forward and backward beside the graph's inputs, or "64MiB"."""

    def __init__(self, budget: int | str):
        self.budget_bytes = parse_bytes(budget)
        self.saved_bytes: int | None = None  # by the last answer

    @contextlib.contextmanager
    def settings(self):
        """While the model is compiled. Whole steps are not taken from a cache, so that the solver is asked."""
        with functorch_config.patch(
            activation_memory_budget=ASKED, activation_memory_budget_solver=self, enable_autograd_cache=False
        ):
            yield self

    def __call__(self, memory, joint_graph, max_memory, node_info, all_recomputable_banned_nodes: list[fx.Node]):
        nodes = all_recomputable_banned_nodes
        sizes = [_bytes(node) for node in nodes]
        values = [modelled_ns(node) for node in nodes]
        saved = choose(sizes, values, self.budget_bytes)
        self.saved_bytes = sum(sizes[i] for i in saved)
        return saved, [i for i in range(len(nodes)) if i not in set(saved)]

    def uuid(self) -> str:
        from .. import __version__

        return f"plimsoll {__version__} {self.budget_bytes}"

    def __deepcopy__(self, memo):  # settings are copied; the answer belongs to the caller's solver
        return self


def _bytes(node: fx.Node) -> int:
    return sum({storage_of(t): storage_bytes(t) for t in tensors(node.meta.get("val"))}.values())


def choose(sizes: list[int], values: list[int], budget: int) -> list[int]:
    """Indices of the largest sum of values whose sizes fit. Sizes are rounded up to a part of the budget, so they do fit;
    O(n * GRAINS)."""
    grain = max(1, -(-budget // GRAINS))
    room = budget // grain
    best = [0] * (room + 1)
    taken: list[list[bool]] = []
    for size, value in zip(sizes, values):
        parts, row = -(-size // grain), [False] * (room + 1)
        for at in range(room, parts - 1, -1):
            if best[at - parts] + value > best[at]:
                best[at], row[at] = best[at - parts] + value, True
        taken.append(row)
    chosen, at = [], room
    for i in range(len(sizes) - 1, -1, -1):
        if taken[i][at]:
            chosen.append(i)
            at -= -(-sizes[i] // grain)
    return sorted(chosen)
