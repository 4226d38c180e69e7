"""Plans of a model's step that run nothing: the joint graph is traced with fake tensors, costs are modelled."""

from __future__ import annotations

import contextlib
import dataclasses

import torch
from torch._functorch.aot_autograd import aot_export_joint_with_descriptors
from torch._guards import detect_fake_mode
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils import _pytree as pytree

from ..planning import DoesNotFit, Graph, Plan, format_bytes, parse_bytes
from .costs import Costs
from .joint import Joint


@dataclasses.dataclass
class StepPlan:
    """A plan of one training step.

    plan       the plan; its order has indices of `ops`
    ops        names of the ops in program order
    keep_all_bytes  peak where nothing is recomputed
    """

    plan: Plan
    ops: list[str]
    keep_all_bytes: int

    def recomputed(self) -> dict[str, int]:
        """How often each op runs again."""
        runs: dict[str, int] = {}
        for op in self.plan.order:
            runs[self.ops[op]] = runs.get(self.ops[op], -1) + 1
        return {name: again for name, again in runs.items() if again > 0}

    def __str__(self) -> str:
        p = self.plan
        budget = "none" if p.budget_bytes is None else f"{format_bytes(p.budget_bytes)} ({p.budget_bytes} bytes)"
        rows = [
            ("budget", budget),
            ("peak, planned", f"{format_bytes(p.peak_bytes)} ({p.peak_bytes} bytes)"),
            ("keep-all", f"{format_bytes(self.keep_all_bytes)} ({self.keep_all_bytes} bytes)"),
            ("overhead, predicted", f"{p.overhead_percent:.2f} %"),
            ("lower bound", f"{p.bound_percent:.2f} %{', proved' if p.proved else ''}"),
            ("plan", f"{len(p.order)} runs for {len(self.ops)} ops, by {p.planner}"),
        ]
        return "\n".join(f"{name:<20} {text}" for name, text in rows)


def _fake_mode(model: torch.nn.Module, example_inputs: tuple) -> FakeTensorMode:
    """That of the fake tensors among parameters, buffers and inputs; a new one where there are none."""
    leaves = [*model.parameters(), *model.buffers(), *pytree.tree_leaves(tuple(example_inputs))]
    return detect_fake_mode(leaves) or FakeTensorMode(allow_non_fake_inputs=True)


def _fake(mode: FakeTensorMode, tensor: torch.Tensor) -> torch.Tensor:
    return tensor if isinstance(tensor, FakeTensor) else mode.from_tensor(tensor, static_shapes=True)


def _trace(model: torch.nn.Module, example_inputs: tuple) -> Joint:
    """The joint graph of model(*example_inputs), whose first output is the loss. Nothing is computed."""
    mode = _fake_mode(model, example_inputs)
    inputs = pytree.tree_map(
        lambda leaf: _fake(mode, leaf) if isinstance(leaf, torch.Tensor) else leaf,
        tuple(example_inputs),
    )
    with contextlib.ExitStack() as stack:
        joint = aot_export_joint_with_descriptors(stack, model, inputs)
        output = next(n for n in joint.graph_module.graph.nodes if n.op == "output")
        kinds = [type(d).__name__ for d in output.meta["desc"]]
        n_forward = next((i for i, kind in enumerate(kinds) if kind == "GradAOTOutput"), len(kinds))
        joint.graph_module.graph.eliminate_dead_code()
        return Joint(joint.graph_module, n_forward)


def _graph(model: torch.nn.Module, example_inputs: tuple, measure: bool) -> Graph:
    joint = _trace(model, example_inputs)
    return joint.planner_graph(Costs().of(joint.nodes, measure), 0)


def plan(
    model: torch.nn.Module,
    example_inputs: tuple,
    budget: int | str | None = None,
    *,
    time_limit: float | None = None,
    measure: bool = False,
    save: str | None = None,
) -> StepPlan:
    """A plan of one step of `model`, whose forward returns the loss. No step is run, and fake tensors will do.

    budget      bytes, "8GiB", or "40%" of the bytes that the step takes where nothing is recomputed; None: that plan
    time_limit  seconds for the search
    measure     True: each distinct op runs a few times for its time and its own bytes; False: both are modelled
    save        folder for graph.json, profile.json and plan.json, which the program `plimsoll` reads
    DoesNotFit: there is no plan, with the smallest budget. Unsupported: the step has what cannot be planned yet.
    """
    graph = _graph(model, example_inputs, measure)
    options = {"time_limit": time_limit, "measured": measure, "save": save}
    keep_all = graph.plan(None, **{**options, "time_limit": None})
    found = keep_all
    if budget is not None:
        found = graph.plan(parse_bytes(budget, keep_all.peak_bytes), **options)
    return StepPlan(found, [op.name for op in graph.ops], keep_all.peak_bytes)


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
    time_limit: float | None = 10.0,
    measure: bool = False,
) -> Sweep:
    """Plans for `points` budgets in even steps, from the smallest that has a plan to keep-all.

    time_limit  seconds for each search
    """
    if points < 2:
        raise ValueError(f"a sweep has at least 2 points, not {points}")
    graph = _graph(model, example_inputs, measure)
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
