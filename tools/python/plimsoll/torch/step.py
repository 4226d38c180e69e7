"""compile(): a model's training step that keeps a budget, op by op as in eager mode, with the same bits.

The joint graph of the step is planned when it is first called. Then one step runs under PyTorch's memory profiler: its
peak must be within the budget. Where it is above, the plan is made anew with the difference set aside.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.backends.debugging import boxed_nop
from torch._functorch.partitioners import _extract_fwd_bwd_modules, _is_tangent
from torch.utils import _pytree as pytree
from torch.utils._ordered_set import OrderedSet

from ..planning import Error, format_bytes, parse_bytes
from .costs import Costs
from .joint import Joint, Rebuilt
from .memory import peak_bytes, resident_bytes
from .plans import StepPlan

ROUNDS = 3


@dataclasses.dataclass
class Report:
    """What was planned, and what was measured.

    planned         the plan of the last round
    budget_bytes    as asked for
    measured_bytes  peak of a whole step, all that is there beside it included
    rounds          plans that were made until the measured peak was within the budget
    """

    planned: StepPlan
    budget_bytes: int
    measured_bytes: int
    rounds: int

    def __str__(self) -> str:
        p = self.planned.plan
        difference = self.measured_bytes - p.peak_bytes
        lines = [str(self.planned)]
        lines.append(
            f"{'peak, measured':<20} {format_bytes(self.measured_bytes)} ({self.measured_bytes} bytes), "
            f"{difference:+d} bytes beside the plan"
        )
        if self.budget_bytes != p.budget_bytes:
            lines.append(f"{'budget, asked for':<20} {format_bytes(self.budget_bytes)} ({self.budget_bytes} bytes)")
        lines.append(f"{'rounds':<20} {self.rounds}")
        again = self.planned.recomputed()
        if again:
            names = ", ".join(f"{name} {n} x" if n > 1 else name for name, n in again.items())
            lines.append(f"{'recomputed':<20} {names}")
        return "\n".join(lines)


class _Partition:
    """The partition function: joint graph -> plan -> forward and backward."""

    def __init__(self, step: "Step"):
        self.step = step
        self.calls = 0

    def __call__(self, module, joint_inputs, *, num_fwd_outputs, static_lifetime_input_indices=None, **_):
        self.calls += 1
        module.graph.eliminate_dead_code()
        joint = Joint(module, num_fwd_outputs)
        order = self.step._plan_joint(joint)
        rebuilt = Rebuilt(joint, order)
        primals = [n for n in rebuilt.graph.nodes if n.op == "placeholder" and not _is_tangent(n)]
        static = OrderedSet(p for i, p in enumerate(primals) if i in (static_lifetime_input_indices or []))
        return _extract_fwd_bwd_modules(
            rebuilt.module,
            list(rebuilt.saved),
            saved_sym_nodes=[],
            num_fwd_outputs=num_fwd_outputs,
            static_lifetime_input_nodes=static,
        )


class Step:
    """One training step of a model: step(*batch) -> (loss, gradients by parameter name).

    Sets each parameter's .grad, as loss.backward() does, in place of what was there. The first call plans and measures.
    One batch shape a step: another one is refused.
    """

    def __init__(self, model: torch.nn.Module, budget, time_limit: float | None, effort: int):
        self.model, self.budget, self.time_limit, self.effort = model, budget, time_limit, effort
        self.budget_bytes: int | None = None
        self.set_aside = 0
        self._report: Report | None = None
        self._planned: StepPlan | None = None
        self._compiled = None
        self._shapes = None
        if not isinstance(budget, str) or not budget.strip().endswith("%"):
            self.budget_bytes = parse_bytes(budget)
        else:
            parse_bytes(budget, 100)

    # ---- planning ----

    def _beside(self, joint: Joint) -> int:
        """Bytes of the model that are no primals of the joint graph."""
        primals = sum(s.n_bytes for s in joint.storage.values() if s.node is None and not s.tangent)
        return max(0, self._resident - primals)

    def _plan_joint(self, joint: Joint) -> list[int]:
        graph = joint.planner_graph(Costs().of(joint.nodes, True), self._beside(joint))
        keep_all = graph.plan(None, measured=True)
        if self.budget_bytes is None:
            self.budget_bytes = parse_bytes(self.budget, keep_all.peak_bytes)
        found = graph.plan(
            max(1, self.budget_bytes - self.set_aside),
            measured=True,
            time_limit=self.time_limit,
            iterations=self.effort,
        )
        self._planned = StepPlan(found, [op.name for op in graph.ops], keep_all.peak_bytes)
        return found.order

    def _compile(self):
        partition = _Partition(self)
        backend = aot_autograd(fw_compiler=boxed_nop, bw_compiler=boxed_nop, partition_fn=partition)
        self._partition = partition
        self._compiled = torch.compile(self.model, backend=backend, dynamic=False, fullgraph=True)

    def _run(self, batch):
        for parameter in self.model.parameters():
            parameter.grad = None
        loss = self._compiled(*batch)
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            raise Error("the model's forward must return the loss, one number")
        loss.backward()
        return loss.detach()

    @contextlib.contextmanager
    def _unchanged(self):
        """Buffers and random state are afterwards what they were before."""
        buffers = [(b, b.detach().clone()) for b in self.model.buffers()]
        devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
        with torch.random.fork_rng(devices=devices):
            try:
                yield
            finally:
                with torch.no_grad():
                    for buffer, was in buffers:
                        buffer.copy_(was)

    def _measure(self, batch) -> int:
        device = next((t.device.type for t in self.model.parameters()), "cpu")
        with self._unchanged():
            self._run(batch)
            for parameter in self.model.parameters():
                parameter.grad = None
            most, _ = peak_bytes(lambda: self._run(batch), device)
        return self._resident + most

    def _prepare(self, batch):
        """Plan, compile and measure, until a step's measured peak is within the budget."""
        leaves = [leaf for leaf in pytree.tree_leaves(batch) if isinstance(leaf, torch.Tensor)]
        self._resident = resident_bytes(self.model.parameters(), self.model.buffers(), leaves)
        for round_ in range(1, ROUNDS + 1):
            self._compile()
            try:
                measured = self._measure(batch)
            except torch._dynamo.exc.BackendCompilerFailed as failure:
                raise failure.inner_exception.with_traceback(None) from None
            if self._partition.calls != 1:
                raise Error(f"the step was compiled in {self._partition.calls} pieces; one is what can be planned")
            if measured <= self.budget_bytes:
                self._report = Report(self._planned, self.budget_bytes, measured, round_)
                return
            self.set_aside += measured - self.budget_bytes
        raise Error(
            f"after {ROUNDS} plans a step still took {measured} bytes, {measured - self.budget_bytes} above the budget"
        )

    # ---- use ----

    def __call__(self, *batch):
        shapes = [(tuple(t.shape), t.dtype) for t in pytree.tree_leaves(batch) if isinstance(t, torch.Tensor)]
        if self._report is None:
            self._shapes = shapes
            self._prepare(batch)
        if shapes != self._shapes:
            raise Error(f"the step was planned for a batch of {self._shapes}, not of {shapes}; compile another one")
        loss = self._run(batch)
        return loss, {name: p.grad for name, p in self.model.named_parameters() if p.grad is not None}

    def report(self) -> Report:
        """What was planned and measured. Error: no step has run yet."""
        if self._report is None:
            raise Error("nothing is planned before the first step: call step(*batch) first")
        return copy.copy(self._report)


def compile(
    model: torch.nn.Module,
    budget: int | str,
    *,
    backend: str = "eager",
    time_limit: float | None = None,
    effort: int = 0,
) -> Step:
    """A training step of `model`, whose forward returns the loss, within `budget` bytes.

    budget      bytes, "8GiB", or "40%" of the bytes that the step takes where nothing is recomputed
    backend     "eager": ops run one by one, with the bits of a step without a budget
    time_limit  seconds for the search; the default is a number of moves, which gives equal plans in every run
    effort      moves of the search instead; 0: the default
    The first call may raise DoesNotFit (with the smallest budget) or Unsupported.
    """
    if backend != "eager":
        raise ValueError(f"backend '{backend}' is none; there is 'eager'")
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"the model must be a torch.nn.Module, not {type(model).__name__}")
    return Step(model, budget, time_limit, effort)
