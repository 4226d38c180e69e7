"""Plans of a model's step that run nothing: the joint graph is traced with fake tensors, costs are modelled."""

from __future__ import annotations

import dataclasses

import torch
from torch.utils import _pytree as pytree

from ..planning import DoesNotFit, Error, Graph, Plan, format_bytes, parse_bytes
from .capture import trace
from .costs import Costs
from .joint import Joint
from .memory import resident_bytes
from .refusals import check_batch_is_dense, check_call, check_search


@dataclasses.dataclass
class Recomputed:
    """An op that runs again. above_bytes: by how much the budget would be exceeded at the run of `at` if its result were
    kept until then; 0: it would not be, alone."""

    op: str
    runs: int  # beside the first
    time_ns: int  # of these runs
    freed_bytes: int
    at: str
    above_bytes: int

    def __str__(self) -> str:
        again = f"{self.op} {self.runs} x" if self.runs > 1 else self.op
        if self.above_bytes <= 0:
            return f"{again}: makes room for others; {format_bytes(self.freed_bytes)}, {self.time_ns / 1e6:.2f} ms"
        return (
            f"{again}: kept, its {format_bytes(self.freed_bytes)} would exceed the budget by "
            f"{format_bytes(self.above_bytes)} at {self.at}; {self.time_ns / 1e6:.2f} ms"
        )


@dataclasses.dataclass
class StepPlan:
    """A plan of one training step.

    plan      the plan; its order has indices of graph.ops
    graph     the step as ops in program order
    keep_all  the plan that recomputes nothing, where it was made; else it is made when it is asked for
    modelled  times are modelled, and what ops take for themselves counts as nothing
    """

    plan: Plan
    graph: Graph
    keep_all: Plan | None = dataclasses.field(default=None, repr=False, compare=False)
    modelled: bool = False

    @property
    def keep_all_bytes(self) -> int:
        """Peak where nothing is recomputed."""
        if self.keep_all is None:
            self.keep_all = self.graph.plan(None)
        return self.keep_all.peak_bytes

    @property
    def ops(self) -> list[str]:
        return [op.name for op in self.graph.ops]

    def recomputed(self) -> dict[str, int]:
        """How often each op runs again."""
        return {row.op: row.runs for row in self.reasons()}

    def reasons(self) -> list[Recomputed]:
        """Each op that runs again, and what keeping its result would have cost, the costliest first."""
        runs: dict[int, int] = {}
        for op in self.plan.order:
            runs[op] = runs.get(op, -1) + 1
        live, lives = self.graph.live_bytes(self.plan.order)
        budget = self.plan.budget_bytes if self.plan.budget_bytes is not None else self.plan.peak_bytes
        rows = []
        for op, again in runs.items():
            if again == 0:
                continue
            spec = self.graph.ops[op]
            worst, at = -budget, 0
            for storage in spec.writes:
                n_bytes = self.graph.storages[storage][1]
                for (_, end), (begin, _) in zip(lives[storage], lives[storage][1:]):
                    step = max(range(end, begin), key=live.__getitem__, default=None)
                    if step is not None and live[step] + n_bytes - budget > worst:
                        worst, at = live[step] + n_bytes - budget, step
            freed = sum(self.graph.storages[s][1] for s in spec.writes)
            name = self.graph.ops[self.plan.order[at]].name
            rows.append(Recomputed(spec.name, again, again * spec.time_ns, freed, name, max(0, worst)))
        return sorted(rows, key=lambda row: -row.time_ns)

    def __str__(self) -> str:
        return self.text(self.plan.budget_bytes)

    def text(self, budget_bytes: int | None) -> str:
        """The plan in lines, for a budget that may be another one than it was made for."""
        p = self.plan
        budget = "none" if budget_bytes is None else f"{format_bytes(budget_bytes)} ({budget_bytes} bytes)"
        rows = [
            ("budget", budget),
            ("peak, planned", f"{format_bytes(p.peak_bytes)} ({p.peak_bytes} bytes)"),
            ("keep-all", f"{format_bytes(self.keep_all_bytes)} ({self.keep_all_bytes} bytes)"),
            ("overhead, predicted", f"{p.overhead_percent:.2f} %"),
            ("lower bound", f"{p.bound_percent:.2f} %{', proved' if p.proved else ''}"),
            ("gap", f"{max(0.0, p.overhead_percent - p.bound_percent):.2f} points at most to the fastest plan"),
            ("plan", f"{len(p.order)} runs for {len(self.graph.ops)} ops, by {p.planner}"),
        ]
        if self.modelled:
            rows.append(("not counted", "what ops take for themselves, as some convolutions do; measure=True counts it"))
        return "\n".join(f"{name:<20} {text}" for name, text in rows)


def bytes_beside(model: torch.nn.Module, batch, joints: list[Joint]) -> int:
    """Bytes of model and batch that no primal of the joint graphs has."""
    leaves = [leaf for leaf in pytree.tree_leaves(batch) if isinstance(leaf, torch.Tensor)]
    resident = resident_bytes(model.parameters(), model.buffers(), leaves)
    return max(0, resident - sum(joint.primal_bytes() for joint in joints))


def _graph(model: torch.nn.Module, batch: tuple, measure: bool, backend: str) -> Graph:
    if not isinstance(batch, (tuple, list)):
        raise TypeError(f"example_inputs is a tuple of what the model's forward takes, as (x, y), not {type(batch).__name__}")
    batch = tuple(batch)
    check_batch_is_dense(batch, {})
    check_call(model, batch, {})
    joint = trace(model, batch, backend)
    return joint.planner_graph(Costs().of(joint, measure), bytes_beside(model, batch, [joint]))


def plan(
    model: torch.nn.Module,
    example_inputs: tuple,
    budget: int | str | None = None,
    *,
    backend: str = "eager",
    time_limit: float | None = None,
    measure: bool = False,
    save: str | None = None,
) -> StepPlan:
    """A plan of one step of `model`, whose forward returns the loss. No step is run, and fake tensors will do.

    budget      bytes, "8GiB", or "40%" of the bytes that the step takes where nothing is recomputed; None: that plan
    backend     "eager", or "inductor": the graph that is left where kernels are fused
    time_limit  seconds for the search
    measure     True: each distinct op runs a few times for its time and its own bytes; False: the time is modelled, and its
                own bytes count as nothing, so that compile() may take more
    save        folder, which is made, for graph.json, profile.json and plan.json, which the program `plimsoll` reads
    DoesNotFit: there is no plan, with the smallest budget. Unsupported: the step has what cannot be planned yet.
    OSError: the folder cannot be made.
    """
    check_search(time_limit, 0)
    graph = _graph(model, example_inputs, measure, backend)
    keep_all = graph.plan(None, measured=measure, save=save if budget is None else None)
    found = keep_all
    if budget is not None:
        wanted = parse_bytes(budget, keep_all.peak_bytes)
        found = graph.plan(wanted, time_limit=time_limit, measured=measure, save=save)
    return StepPlan(found, graph, keep_all, modelled=not measure)


def _shortened(batch: tuple, size: int, to: int) -> tuple:
    """Tensors whose first dimension is `size`, cut to `to`."""
    return pytree.tree_map(
        lambda x: x[:to] if isinstance(x, torch.Tensor) and x.dim() and x.shape[0] == size else x, batch
    )


def largest_batch(model: torch.nn.Module, batch: tuple, budget_bytes: int, backend: str) -> int | None:
    """A batch size for which a plan was found, near the largest; None: even half a batch after half has none.

    The first dimension of the batch's first tensor counts as its size. From two sizes the smallest budget is a line; the
    size at which it meets the budget is tried, then less.
    """
    first = next((x for x in pytree.tree_leaves(batch) if isinstance(x, torch.Tensor) and x.dim()), None)
    if first is None or first.shape[0] < 2:
        return None
    size = first.shape[0]

    def smallest(n: int) -> int:
        return _graph(model, _shortened(batch, size, n), True, backend).plan_smallest(time_limit=5)[0].peak_bytes

    try:
        at_half, at_all = smallest(size // 2), smallest(size)
        slope = max(1.0, (at_all - at_half) / (size - size // 2))
        n = min(size - 1, size // 2 + int((budget_bytes - at_half) // slope))
        for _ in range(4):
            if n < 1:
                break
            if smallest(n) <= budget_bytes:
                return n
            n -= max(1, n // 8)
    except (Error, RuntimeError, ValueError, IndexError):  # a batch whose tensors cannot be cut like this
        pass
    return None


@dataclasses.dataclass
class Sweep:
    """Plans for several budgets, the smallest first. keep_all_bytes: peak where nothing is recomputed."""

    plans: list[Plan]
    keep_all_bytes: int

    def plot(self, path: str):
        """An SVG: overhead over budget, the plans and the proven bound. The file is replaced whole."""
        from .pictures import write_sweep

        write_sweep(self, path)


def sweep(
    model: torch.nn.Module,
    example_inputs: tuple,
    points: int = 10,
    *,
    backend: str = "eager",
    time_limit: float | None = 10.0,
    measure: bool = False,
) -> Sweep:
    """Plans for `points` budgets in even steps, from the smallest that has a plan to keep-all.

    time_limit  seconds for each search
    """
    if type(points) is not int or points < 2:
        raise ValueError(f"points is a whole number, at least 2, not {points!r}")
    check_search(time_limit, 0)
    graph = _graph(model, example_inputs, measure, backend)
    high = graph.plan(None, measured=measure).peak_bytes
    low = high
    try:
        graph.plan(1, time_limit=time_limit, measured=measure)
    except DoesNotFit as refusal:
        low = refusal.smallest_bytes
    plans: list[Plan] = []
    for i in range(points):
        budget = low + (high - low) * i // (points - 1)
        try:
            found = graph.plan(budget, time_limit=time_limit, measured=measure)
        except DoesNotFit:
            continue
        if plans and plans[-1].time_ns < found.time_ns:  # a plan for fewer bytes fits here too
            found = dataclasses.replace(plans[-1], budget_bytes=budget)
        plans.append(found)
    return Sweep(plans, high)
