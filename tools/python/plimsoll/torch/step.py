"""compile(): a model's training step that keeps a budget.

The joint graph of the step is planned when it is first called with a batch of a new shape. Then one step runs under
PyTorch's memory profiler: its peak must be within the budget. Where it is above, the plan is made anew with the
difference set aside. With backend "eager" ops run one by one, with the same bits. With "inductor" kernels are fused, so a
plan is a forecast, and the measured peak decides: plans that were measured stay candidates for every budget.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import hashlib
import threading
import traceback
import typing

import torch
from torch._dynamo.backends.debugging import boxed_nop
from torch._dynamo.utils import counters
from torch._functorch.partitioners import _extract_fwd_bwd_modules, _is_tangent
from torch.utils import _pytree as pytree
from torch.utils._ordered_set import OrderedSet

from ..planning import DoesNotFit, Error, Graph, Plan, format_bytes, parse_bytes
from . import capture
from .costs import Costs
from .joint import Joint, Rebuilt
from .memory import Metered, peak_bytes, resident_bytes, step_figures
from .plans import StepPlan, largest_batch
from .refusals import (
    check_batch_is_dense, check_call, check_gradients_are_on, check_leaves, check_model_has_numbers, check_search,
    device_of, failed, forward_failure, quiet,
)  # fmt: skip

if typing.TYPE_CHECKING:
    from .fused import FusedPlans

_PLANNING = threading.RLock()  # the compiler's settings and the profiler are the process's
FORM = 2  # of what is compiled for a plan, for caches: from 2 on inputs that no kernel reads end at once
ROUNDS = 3
FAR = 0.02  # of the budget: a step that is further above it, by a plan of the smallest budget, is not planned again
LOOSE = 0.05  # of the budget: what a fused step may leave free without another round
MOST_ROWS = 12  # of the report
CLOSE = 0.001  # of the peak: what a plan may be above the measured step


@dataclasses.dataclass
class Report:
    """What was planned, and what was measured.

    planned         the plan of the last round; of a step in several graphs that of the first
    budget_bytes    as asked for
    measured_bytes  peak of a whole step, all that is there beside it included
    rounds          plans that were made until the measured peak was within the budget
    pieces          the plans of a step in several graphs, which share the budget
    breaks          why the compiler broke the graph
    reserved_bytes  on a GPU: most that the allocator of PyTorch took from the device meanwhile, all tensors of the process
                    and what lies unused between them included; elsewhere None
    """

    planned: StepPlan
    budget_bytes: int
    measured_bytes: int
    rounds: int
    pieces: list[StepPlan] = dataclasses.field(default_factory=list)
    breaks: list[str] = dataclasses.field(default_factory=list)
    reserved_bytes: int | None = None

    def __str__(self) -> str:
        p = self.planned.plan
        lines = [self.planned.text(self.budget_bytes if len(self.pieces) == 1 else p.budget_bytes)]
        beside = f", {self.measured_bytes - p.peak_bytes:+d} bytes beside the plan" if len(self.pieces) == 1 else ""
        lines.append(
            f"{'peak, measured':<20} {format_bytes(self.measured_bytes)} ({self.measured_bytes} bytes){beside}"
        )
        if self.reserved_bytes is not None:
            lines.append(f"{'reserved, measured':<20} {format_bytes(self.reserved_bytes)} ({self.reserved_bytes} bytes)")
        if len(self.pieces) == 1 and p.budget_bytes not in (None, self.budget_bytes):
            how = "more" if p.budget_bytes < self.budget_bytes else "less"
            budget = f"{format_bytes(p.budget_bytes)} ({p.budget_bytes} bytes)"
            lines.append(f"{'planned for':<20} {budget}: a step takes {how} than plans count")
        lines.append(f"{'rounds':<20} {self.rounds}")
        if len(self.pieces) > 1:
            lines.append(f"{'budget, asked for':<20} {format_bytes(self.budget_bytes)} ({self.budget_bytes} bytes)")
            shares = ", ".join(format_bytes(piece.plan.budget_bytes or 0) for piece in self.pieces)
            lines.append(f"{'graphs':<20} {len(self.pieces)}, which share the budget: {shares}, parameters in each")
        lines += [f"{'graph break':<20} {reason}" for reason in self.breaks]
        for piece in self.pieces:
            rows = piece.reasons()
            lines += [f"{'recomputed':<20} {row}" for row in rows[:MOST_ROWS]]
            if len(rows) > MOST_ROWS:
                left = sum(row.time_ns for row in rows[MOST_ROWS:])
                lines.append(f"{'recomputed':<20} {len(rows) - MOST_ROWS} more ops, {left / 1e6:.2f} ms together")
        return "\n".join(lines)


@dataclasses.dataclass
class _Piece:
    """graph: in which each of several graphs is planned, whatever the level"""

    joint: Joint
    graph: Graph
    planned: StepPlan


class _Partition:
    """The partition function: joint graph -> plan -> forward and backward."""

    def __init__(self, shaped: _Shaped):
        self.shaped = shaped

    def __call__(self, module, joint_inputs, *, num_fwd_outputs, static_lifetime_input_indices=None, **_):
        joint = capture.joint_of(module, num_fwd_outputs, self.shaped.step.backend)

        def split(order: list[int]):
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

        return split(self.shaped.plan_piece(joint, split))


class _Compiler:
    """Runs a graph of ops one by one; while the step is metered, with a mark for each."""

    def __init__(self, shaped: _Shaped):
        self.shaped = shaped

    def __call__(self, module, example_inputs):
        fast = boxed_nop(module, example_inputs)

        def run(arguments):
            if self.shaped.rows is None:
                return fast(arguments)
            return Metered(module, self.shaped.device, self.shaped.rows).boxed_run(arguments)

        run._boxed_call = True
        return run


class _Finished(torch.autograd.Function):
    """The loss as it is handed out: a second backward is refused with a sentence."""

    @staticmethod
    def forward(ctx, loss, *parameters):
        return loss.clone()

    @staticmethod
    def backward(ctx, _):
        raise Error(
            "the step has run its backward: the gradients are in .grad. retain_graph, a second backward and gradients of "
            "gradients need what the plan has dropped; call the step again for new gradients"
        )


def _differs(x: torch.Tensor, was: torch.Tensor) -> bool:
    """In bits, so that what is not a number equals itself. Only of dense tensors."""
    if x.layout != torch.strided:
        return False
    bits, before = (t.detach().reshape(-1).contiguous().view(torch.uint8) for t in (x, was))
    return not torch.equal(bits, before)


def _is_own(failure: BaseException) -> bool:
    """Was it raised while a plan was made, and not in the model's forward?"""
    return any(frame.f_code is _Partition.__call__.__code__ for frame, _ in traceback.walk_tb(failure.__traceback__))


class _Members:
    """The modules of a model, and its parameters by name, each once, in the order of named_parameters(). A step looks at them
    each time; a small model's would feel the five walks of modules() and parameters(), and feels one."""

    def __init__(self, model: torch.nn.Module):
        self.modules: list[torch.nn.Module] = []
        self.parameters: dict[str, torch.nn.Parameter] = {}
        self._walk(model, "", set())
        self._inner = self._inner_now()

    def are_those_now(self) -> bool:
        return self._inner == self._inner_now()

    def _inner_now(self) -> list[int]:
        return [id(x) for m in self.modules for x in (*m._parameters.values(), *m._modules.values())]

    def _walk(self, module: torch.nn.Module, prefix: str, seen: set[int]):
        seen.add(id(module))
        self.modules.append(module)
        for name, parameter in module._parameters.items():
            if parameter is not None and id(parameter) not in seen:
                seen.add(id(parameter))
                self.parameters[prefix + name] = parameter
        for name, child in module._modules.items():
            if child is not None and id(child) not in seen:
                self._walk(child, f"{prefix}{name}.", seen)


class _Shaped:
    """The step for batches of one shape: planned, compiled and measured.

    rows  while a step is metered: figures by step of the plan
    """

    def __init__(self, step: Step, batch, named):
        self.step, self.batch, self.named = step, batch, named
        self.rows: dict | None = None
        self.pieces: list[_Piece] = []
        self.shares: list[int] | None = None
        self.sharers: list[list[str]] = []  # names of the ops of the graphs that have them
        self.set_aside = 0
        self.times: list[int] = []  # by step of the plan, as metered
        self.fused: FusedPlans | None = None  # None: ops run one by one
        self.within: Plan | None = None  # of ops run one by one, of an earlier round that was within the budget
        self.last_resort = False  # that plan is taken
        self.compiling = False  # the compiler may be asked
        self.has_run = False  # once: what a first forward sets up is there
        self.breaks: list[str] = []  # why the compiler broke the graph
        self.breaks_before: dict[str, int] = {}  # the compiler's counts, before it looked at the step
        self.peaks: list[int] = []  # of the steps that were measured
        self.reserved: int | None = None  # of the GPU, as Report.reserved_bytes
        leaves = [leaf for leaf in pytree.tree_leaves((batch, named)) if isinstance(leaf, torch.Tensor)]
        self.device = device_of(step.model)
        self.resident = resident_bytes(step.model.parameters(), step.model.buffers(), leaves)
        if step.backend == "inductor":
            from .fused import FusedPlans  # it imports the compiler

            self.fused = FusedPlans(step.costs, self.device, self.resident, self._plan)
        self.budget_bytes: int = step.budget_bytes or 0  # 0: a share of what is known when the step is planned
        self.report = self._prepare()
        self.batch = self.named = None

    # ---- planning ----

    def plan_piece(self, joint: Joint, split) -> list[int]:
        """The order in which the ops of one graph run. split: forward and backward of an order."""
        step, index = self.step, len(self.pieces)
        if self.shares and not self._is_shared(index, joint):
            raise capture.Changed("its graphs are other ones when it is compiled once more")
        costs, extra = step.costs.of(joint, True), max(0, self.resident - joint.primal_bytes())
        graph = joint.planner_graph(costs, extra)
        if not self.has_run and self._new_breaks():  # the next pass has its graphs
            found = graph.plan(None, measured=True)
            self.pieces.append(_Piece(joint, graph, StepPlan(found, graph, found)))
            return found.order
        keep_all = None if self.budget_bytes else graph.plan(None, measured=True)
        if keep_all and not self._new_breaks():
            self.budget_bytes = parse_bytes(step.budget, keep_all.peak_bytes)
        own = graph
        budget = max(1, (self.shares[index] if self.shares else self.budget_bytes) - self.set_aside)
        if self.fused:
            self.fused.look_at(joint, costs, extra)
        if not self.budget_bytes:  # a percentage of more than this graph: see _first_run()
            assert keep_all
            found = keep_all
        elif self.fused and self.shares is None:
            found, own = self.fused.plan(self.budget_bytes, budget, split), self.fused.graph()
        elif self.last_resort:
            assert self.within
            found = self.within
        else:
            found = self._plan(graph, budget)
        if self.fused:
            self._set_level()
        self.pieces.append(_Piece(joint, graph, StepPlan(found, own, keep_all)))
        return found.order

    def _is_shared(self, index: int, joint: Joint) -> bool:
        """Is it the graph that has this place in the shares? A forward that sets something up when it first runs may then be
        compiled to other graphs."""
        return index < len(self.sharers) and [node.name for node in joint.nodes] == self.sharers[index]

    def _set_level(self):
        from . import inductor

        assert self.fused
        alone = self.budget_bytes > 0 and not self.shares
        inductor.set_level(self.fused.level, self.fused.room_bytes() if alone else None)

    def _plan(self, graph: Graph, budget_bytes: int, seed: int = 1) -> Plan:
        step = self.step
        return graph.plan(budget_bytes, measured=True, time_limit=step.time_limit, iterations=step.effort, seed=seed)

    def _share(self):
        """Budgets of the graphs of one step. Each has the parameters and its own bytes, which add up to the budget."""
        self.sharers = [[node.name for node in piece.joint.nodes] for piece in self.pieces]
        least = [piece.graph.plan_smallest(measured=True)[0].peak_bytes for piece in self.pieces]
        most = [max(piece.graph.plan(None, measured=True).peak_bytes, low) for piece, low in zip(self.pieces, least)]
        room = self.budget_bytes - self.resident - sum(low - self.resident for low in least)
        if room < 0:
            small = self.budget_bytes - room
            raise DoesNotFit(
                f"no plan was found within {format_bytes(self.budget_bytes)} ({self.budget_bytes} bytes): the step is "
                f"{len(least)} graphs, and the smallest budget with a plan for all of them is {format_bytes(small)} "
                f"({small} bytes)",
                small,
                self.resident,
                "",
            )
        wanted = sum(high - low for high, low in zip(most, least))
        given = min(1.0, room / wanted) if wanted else 0.0
        self.shares = [low + int(given * (high - low)) for high, low in zip(most, least)]

    # ---- compiling and running ----

    def _compile(self):
        self.pieces = []
        step = self.step
        self.partition = _Partition(self)
        call = capture.fresh_call(step.model)
        compiler = _Compiler(self)
        self.compiled = capture.compiled(call, step.backend, self.partition, False, compiler, self._may_compile)

    def _may_compile(self):
        """Only while the step is planned: what the compiler made later would have no plan."""
        if not self.compiling:
            raise capture.Changed(capture.change())

    def run(self, batch, named, parameters):
        for parameter in parameters:
            parameter.grad = None
        try:
            with capture.many_plans():  # above its limits the compiler would run a step that has changed without a plan
                loss = self.compiled(*batch, **named)
        except torch._dynamo.exc.BackendCompilerFailed as failure:
            if self.compiling or not isinstance(capture.inner_error(failure), capture.Changed):
                raise
            raise capture.inner_error(failure).with_traceback(None) from None
        capture.check_loss(loss)
        loss.backward()
        return loss.detach()

    @contextlib.contextmanager
    def _unchanged(self):
        """Batch, buffers and random state are afterwards what they were before. Hooks that run once a gradient is there do
        not run: an optimizer's step in one could not be taken back."""
        batch = [x for x in pytree.tree_leaves((self.batch, self.named)) if isinstance(x, torch.Tensor)]
        gradients = [(x, x.grad) for x in batch if x.is_leaf and x.requires_grad]
        others = [x for m in self.step.model.modules() for x in vars(m).values() if isinstance(x, torch.Tensor)]
        kept = [x for x in [*batch, *self.step.model.buffers(), *others] if not x.is_inference()]
        kept = [(x, x._version, x.detach().clone()) for x in kept]
        found = [x._post_accumulate_grad_hooks for x in [*self.step.model.parameters(), *batch]]
        hooks = [(now, dict(now)) for now in found if now]
        for now, _ in hooks:
            now.clear()
        for x, _ in gradients:
            x.grad = None
        with torch.random.fork_rng(devices=[self.device] if self.device.type == "cuda" else []):
            try:
                yield
            finally:
                with torch.no_grad():
                    for x, version, was in kept:
                        if x._version != version or _differs(x, was):  # a norm in no graph counts no versions
                            x.detach().copy_(was)
                for x, gradient in gradients:
                    x.grad = gradient
                for now, were in hooks:
                    now.update(were)

    def _run_once(self):
        return self.run(self.batch, self.named, self.step.model.parameters())

    def _first_run(self):
        """Compiles and plans. A step with graph breaks is compiled once more, since a forward may do something only when it
        first runs. Then one of several graphs is planned again, with shares of the budget. So is one with a part in no graph
        whose budget is a percentage: of the step that recomputes nothing, as it was measured."""
        self._plan_and_run()
        if self.shares:
            return
        if self._new_breaks() and not self.peaks:
            self._plan_and_run()
        self.breaks = self._new_breaks()
        is_known = self.budget_bytes > 0
        if not is_known:
            with self._unchanged():
                whole = self._measure()
            graphs = sum(piece.planned.keep_all_bytes - self.resident for piece in self.pieces)
            self.budget_bytes = parse_bytes(self.step.budget, max(whole, self.resident + graphs))
        if len(self.pieces) > 1:
            self._share()
        if self.shares or not is_known:
            self._plan_and_run()

    def _new_breaks(self) -> list[str]:
        """Why the compiler broke the graph since _plan_and_run() began."""
        rows = counters["graph_break"].items()
        new = [" ".join(reason.split()) for reason, n in rows if n > self.breaks_before.get(reason, 0)]
        return [reason.split(" Hint:")[0][:200].rstrip(" .") for reason in new]

    def _plan_and_run(self):
        self.breaks_before = dict(counters["graph_break"])
        self._compile()
        self.compiling = True
        try:
            settings = capture.settings(self.step.backend, self.partition, self.step.key())
            given = capture.messages_given() if self.has_run else contextlib.nullcontext()
            with quiet(), self._unchanged(), settings, given:
                self._run_once()
            self.has_run = True
        except torch._dynamo.exc.BackendCompilerFailed as failure:
            raise capture.inner_error(failure).with_traceback(None) from None
        except (TypeError, ValueError, RuntimeError, IndexError) as failure:
            sentence = forward_failure(self.step.model, self.batch, self.named)
            if sentence is None and (isinstance(failure, torch._dynamo.exc.TorchDynamoException) or _is_own(failure)):
                raise
            raise sentence or failed(self.batch, self.named, failure) from failure
        finally:
            self.compiling = False
        if not self.pieces:
            raise capture.Unsupported(
                "the compiler found no graph with a backward in the step; torch.compile(model, fullgraph=True)(*batch) says what "
                "of the forward it cannot trace"
            )
        if self.shares and len(self.pieces) < len(self.shares):
            raise capture.Changed("it has fewer graphs when it is compiled once more")

    def _meter(self):
        """Run the step node by node, and learn what each op takes in it."""
        self.rows = {}
        try:
            figures = step_figures(self._run_once)
            figures.update(self.rows)
        finally:
            self.rows = None
        (piece,) = self.pieces
        order, joint = piece.planned.plan.order, piece.joint
        self.times = [figures[step][0] if step in figures else 0 for step in range(len(order))]
        seen: dict = {}
        for step, (_, most, left) in figures.items():
            op = order[step]
            if op != joint.boundary:
                node = joint.nodes[op - (op > joint.boundary)]
                seen.setdefault(node, []).append(max(0, most - left))
        by_key: dict = {}
        for node, amounts in seen.items():
            by_key.setdefault(self.step.costs.key_of(node), []).append((node, max(amounts)))
        for rows in by_key.values():
            self.step.costs.learn(rows[0][0], max(amount for _, amount in rows))
        self.step.costs.keep()

    def _measure(self) -> int:
        for parameter in self.step.model.parameters():
            parameter.grad = None
        if self.device.type == "cuda":
            torch.cuda.empty_cache()  # what the allocator keeps of earlier runs is none of this step's
        most, _ = peak_bytes(self._run_once, self.device)
        if self.device.type == "cuda":
            self.reserved = torch.cuda.max_memory_reserved(self.device)
        return self.resident + most

    def _round(self) -> int:
        self._first_run()
        if self.step.backend == "eager" and len(self.pieces) == 1:
            with self._unchanged():
                self._meter()
        with self._unchanged():
            measured = self._measure()
        self.peaks.append(measured)
        if self.fused and len(self.pieces) == 1:
            self.fused.add(self.pieces[0].planned.plan, measured)
        return measured

    def _report(self, measured: int, rounds: int) -> Report:
        plans = [piece.planned for piece in self.pieces]
        return Report(plans[0], self.budget_bytes, measured, rounds, plans, self.breaks, self.reserved)

    def _prepare(self) -> Report:
        """Plan, compile and measure, until a step's measured peak is within the budget, and the plan is close to it."""
        for round_ in range(1, ROUNDS + 1):
            try:
                measured = self._round()
            except DoesNotFit as refusal:
                if self.within:
                    break
                fused = self.fused
                if self.shares and fused and fused.level < fused.top:  # what was above came of this level
                    fused.level, self.set_aside = fused.top, 0
                    continue
                if self.set_aside == 0 or self.shares or self.step.backend == "inductor":
                    raise self._beside(refusal) from None
                return self._report(self._measure_smallest(refusal), round_)
            over = measured - self.budget_bytes
            plan = self.pieces[0].planned.plan
            if over <= 0 and (round_ == ROUNDS or not self._again(plan, measured)):
                return self._report(measured, round_)
            if self.step.backend == "eager" or (over > 0 and self.breaks and not self.shares):
                if over <= 0:
                    self.within = plan
                self._set_aside(plan, measured, round_)
                if self.fused and self.fused.forecast_bytes is not None:
                    self.fused.next_round(measured)  # what is in no graph is in no forecast
                continue
            fused = self.fused
            assert fused
            hopeless = fused.refusal or (fused.at_smallest and over > FAR * self.budget_bytes)
            if over > 0 and hopeless and fused.level == fused.top:
                break
            if over <= 0:  # another plan may use what is left
                self.set_aside = self.budget_bytes - plan.peak_bytes + over
            elif fused.forecast_bytes is not None:
                fused.next_round(measured)
            else:  # nothing was recomputed, or there are several graphs
                fused.level = min(fused.top, fused.level + (len(self.pieces) > 1))
                self.set_aside += over
        if self._settles():
            measured = self._round()
            if measured <= self.budget_bytes:
                return self._report(measured, round_)
        raise self._too_large(measured, round_)

    def _settles(self) -> bool:
        """A plan of an earlier round is taken, where one was measured within the budget."""
        self.last_resort = self.within is not None
        if self.fused and self.fused.front and self.fused.front.fastest(self.budget_bytes):
            self.fused.settled = True
        return self.last_resort or bool(self.fused and self.fused.settled)

    def _set_aside(self, plan: Plan, measured: int, round_: int):
        """What the next plan leaves free. A part in no graph may have its peak elsewhere than the plan: then that is all
        that was measured beside the plan, where setting aside less has not helped, or would give the same plan."""
        aside = self.set_aside + max(0, measured - self.budget_bytes)
        is_same = bool(self.breaks) and plan.peak_bytes <= self.budget_bytes - aside
        if len(self.pieces) == 1 and (round_ > 1 or is_same):
            aside = max(aside, measured - plan.peak_bytes)
        self.set_aside = aside

    def _measure_smallest(self, refusal: DoesNotFit) -> int:
        """The peak of a step by the plan of the fewest bytes: what is beside a plan may be less there than was set aside.
        DoesNotFit: it is above the budget."""
        self.set_aside = max(0, self.budget_bytes - refusal.smallest_bytes)
        try:
            measured = self._round()
        except DoesNotFit as again:  # a time limit may lose that plan
            raise self._beside(again) from None
        if measured > self.budget_bytes:
            self.set_aside = measured - refusal.smallest_bytes
            raise self._beside(refusal) from None
        return measured

    def _beside(self, refusal: DoesNotFit) -> DoesNotFit:
        """A refusal in bytes of the whole step, where it is of a plan for what a measured step left."""
        if self.set_aside == 0 or self.step.backend == "inductor":
            return refusal
        small = refusal.smallest_bytes + self.set_aside
        sentence = (
            f"no plan was found within {format_bytes(self.budget_bytes)} ({self.budget_bytes} bytes): a step with "
            f"a plan within it took {self.set_aside} bytes more, and the smallest budget with a plan beside these is "
            f"{format_bytes(small)} ({small} bytes)"
        )
        return DoesNotFit(sentence + self._beside_graphs(), small, refusal.bound_bytes, refusal.op)

    def _beside_graphs(self) -> str:
        """Why there is something that no plan can change, for a refusal."""
        return "".join(f"; not all of the step is in its graphs, which are planned: {why}" for why in self.breaks[:1])

    def _again(self, plan: Plan, measured: int) -> bool:
        """Is another plan worth a round? In eager mode, where what ops take in the step is known only now; with fused
        kernels, once, where the forecast was so high that a faster plan may fit."""
        if len(self.pieces) > 1:
            return False
        if self.step.backend == "eager":
            return plan.peak_bytes - measured > CLOSE * measured
        loose = self.budget_bytes - measured > LOOSE * self.budget_bytes
        return loose and plan.overhead_percent > 1 and self.set_aside == 0 and not (self.fused and self.fused.refusal)

    def _too_large(self, measured: int, rounds: int) -> DoesNotFit:
        over = measured - self.budget_bytes
        fused = self.fused
        measurements = [*self.peaks, *(row.measured_bytes for row in (fused.front.rows if fused and fused.front else ()))]
        least = min(peak for peak in measurements if peak > self.budget_bytes)
        sentence = (
            f"after {rounds} plan{'s' if rounds > 1 else ''} a step still took {format_bytes(measured)} ({measured} bytes), "
            f"{over} above the budget"
        )
        sentence += f"; the smallest peak that was measured is {format_bytes(least)} ({least} bytes)"
        refusal = fused.refusal if fused else None
        if not refusal or self.breaks:
            return DoesNotFit(sentence + self._beside_graphs(), least, self.resident, "", measured=True)
        return DoesNotFit(f"{refusal}; {sentence}", least, refusal.bound_bytes, refusal.op)


class Step:
    """One training step of a model: step(*batch) -> (loss, gradients by parameter name).

    Sets each parameter's .grad, as loss.backward() does, in place of what was there. The first call with a batch of a new
    shape plans and measures; each shape has a plan of its own.
    """

    def __init__(self, model: torch.nn.Module, budget, backend: str, time_limit: float | None, effort: int):
        self.model, self.budget, self.backend = model, budget, backend
        self.time_limit, self.effort = time_limit, effort
        self.budget_bytes: int | None = None
        self.costs = Costs()
        self._shaped: dict[tuple, _Shaped] = {}
        self._last: _Shaped | None = None
        self._members = _Members(model)
        if not isinstance(budget, str) or not budget.strip().endswith("%"):
            self.budget_bytes = parse_bytes(budget)
        else:
            parse_bytes(budget, 2**40)  # of what is known at the first step; here for its form

    def key(self) -> str | None:
        """Names what decides a plan beside the graph: version, budget and effort. None: the clock does too."""
        from .. import __version__

        if self.time_limit:
            return None
        return hashlib.sha256(f"plimsoll {__version__} {FORM} {self.budget} {self.effort}".encode()).hexdigest()

    def __call__(self, *batch, **named):
        check_gradients_are_on()
        check_batch_is_dense(batch, named)
        key = self._key_of(batch, named, self._look())
        if key not in self._shaped:
            check_model_has_numbers(self.model)
            check_call(self.model, batch, named)
        try:
            loss = self._run(key, batch, named)
        except BaseException:
            for parameter in self.model.parameters():
                parameter.grad = None
            raise
        parameters = self._members.parameters
        gradients = {name: p.grad for name, p in parameters.items() if p.grad is not None}
        return _Finished.apply(loss, *(p for p in parameters.values() if p.requires_grad)), gradients

    def _look(self) -> _Members:
        """At the model as it is now."""
        if not self._members.are_those_now():
            self._members = _Members(self.model)
        return self._members

    def _key_of(self, batch, named, members: _Members) -> tuple:
        """Equal for calls that have a plan in common. Other changes are the compiler's to find."""
        leaves, form = pytree.tree_flatten((batch, named))
        shapes = tuple(
            (tuple(x.shape), x.stride(), x.dtype, x.device, x.requires_grad) if isinstance(x, torch.Tensor) else x
            for x in leaves
        )
        try:
            hash(shapes)
        except TypeError:
            check_leaves(leaves)
        trained = tuple(parameter.requires_grad for parameter in members.parameters.values())
        modes = tuple(module.training for module in members.modules)
        kinds = {"cpu", *(x.device.type for x in leaves if isinstance(x, torch.Tensor))}
        cast = [(k, torch.get_autocast_dtype(k)) for k in sorted(kinds) if k != "meta" and torch.is_autocast_enabled(k)]
        return form, shapes, modes, trained, tuple(cast)

    def _run(self, key: tuple, batch, named):
        """The loss. The step is planned where it is not, and once more where the compiler takes it for another one."""
        for last in (False, True):
            try:
                with _PLANNING:
                    if key not in self._shaped:
                        self._shaped[key] = _Shaped(self, batch, named)
                        self._look()  # a forward may add parameters when it first runs
                    self._last = self._shaped[key]
                return self._last.run(batch, named, self._members.parameters.values())
            except DoesNotFit as refusal:
                raise self._with_batch(refusal, batch) from None
            except capture.Changed as change:
                self._shaped.pop(key, None)
                if last:
                    raise capture.Unsupported(
                        f"the step is another one whenever it runs, so that no plan is of use: {change}; take from its "
                        "forward what changes Python's numbers and lists, or give it tensors"
                    ) from None

    def _with_batch(self, refusal: DoesNotFit, batch) -> DoesNotFit:
        budget = self.budget_bytes
        if refusal.measured:  # by plans alone the batch fits
            return refusal
        fits = largest_batch(self.model, batch, budget, self.backend) if budget else None
        if not fits:
            return refusal
        sentence = f"{refusal}; a batch of {fits} fits"
        return DoesNotFit(sentence, refusal.smallest_bytes, refusal.bound_bytes, refusal.op)

    def __getstate__(self):
        """A copy has no plans yet: its model is another one."""
        return {**vars(self), "_shaped": {}, "_last": None}

    def report(self) -> Report:
        """What was planned and measured for the shape of the last batch. Error: no step has run yet."""
        if self._last is None:
            raise Error("nothing is planned before the first step: call step(*batch) first")
        return copy.copy(self._last.report)

    def trace(self, path: str):
        """The trace of the step that was metered when the last batch's shape was planned; `plimsoll trace ACTION path`
        and its page show it. Plan and graph are written beside it. Error: there is no such step."""
        report, last = self.report(), self._last
        if last is None or not last.times:
            raise Error("a trace has the time of each op: backend='eager', and a step that is one graph")
        report.planned.plan.write_trace(path, last.times)


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
    backend     "eager": ops run one by one, with the bits of a step without a budget; "inductor": fused kernels
    time_limit  seconds for the search; the default is a number of moves, which gives equal plans in every run
    effort      moves of the search instead; 0: the default
    The first call with a batch of a new shape runs the forward several times; batch, buffers and random state are then as
    before. It may raise DoesNotFit (with the smallest budget) or Unsupported. A call that ends with an exception leaves no
    gradients.
    """
    capture.check_backend(backend)
    check_search(time_limit, effort)
    capture.check_model(model)
    return Step(model, budget, backend, time_limit, effort)
