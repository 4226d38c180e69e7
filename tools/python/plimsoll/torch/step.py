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

import torch
from torch._dynamo.backends.debugging import boxed_nop
from torch._dynamo.utils import counters
from torch._functorch.partitioners import _extract_fwd_bwd_modules, _is_tangent
from torch.utils import _pytree as pytree
from torch.utils._ordered_set import OrderedSet

from ..planning import DoesNotFit, Error, Graph, Plan, format_bytes, parse_bytes
from . import capture
from .costs import Cost, Costs, copied_filters_bytes
from .front import Front
from .joint import Joint, Rebuilt
from .memory import Metered, peak_bytes, resident_bytes, step_figures
from .plans import StepPlan, largest_batch
from .refusals import (
    check_batch_is_dense, check_call, check_gradients_are_on, check_leaves, check_model_has_numbers, check_search,
    device_of, failed, forward_failure, quiet,
)  # fmt: skip

_PLANNING = threading.RLock()  # the compiler's settings and the profiler are the process's
FORM = 2  # of what is compiled for a plan, for caches: from 2 on inputs that no kernel reads end at once
ROUNDS = 3
TIGHT_PERCENT = 5  # overhead from which kernels are compiled apart at once: repeats cost more than that does
AMPLE = 2  # times keep-all: from such a budget on no forecast is asked for where nothing is recomputed
AMPLE_PLAIN = 1.1  # the same at the highest level, where the plan itself is within a percent of the measured peak
REHEARSALS = 5  # plans whose forecast the compiler's scheduler is asked for in one round
MOST_STEP = 0.03  # of the budget: by how much less the next of them is planned at most
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
        lines = [str(self.planned)]
        beside = f", {self.measured_bytes - p.peak_bytes:+d} bytes beside the plan" if len(self.pieces) == 1 else ""
        lines.append(
            f"{'peak, measured':<20} {format_bytes(self.measured_bytes)} ({self.measured_bytes} bytes){beside}"
        )
        if self.reserved_bytes is not None:
            lines.append(f"{'reserved, measured':<20} {format_bytes(self.reserved_bytes)} ({self.reserved_bytes} bytes)")
        if self.budget_bytes != p.budget_bytes:
            lines.append(f"{'budget, asked for':<20} {format_bytes(self.budget_bytes)} ({self.budget_bytes} bytes)")
        lines.append(f"{'rounds':<20} {self.rounds}")
        if len(self.pieces) > 1:
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


class _Shaped:
    """The step for batches of one shape: planned, compiled and measured.

    rows  while a step is metered: figures by step of the plan
    """

    def __init__(self, step: Step, batch, named):
        self.step, self.batch, self.named = step, batch, named
        self.rows: dict | None = None
        self.pieces: list[_Piece] = []
        self.shares: list[int] | None = None
        self.set_aside = 0
        self.seed = 1  # of the search
        self.at_smallest = False  # plans of the smallest budget were tried
        self.times: list[int] = []  # by step of the plan, as metered
        self.front: Front | None = None
        self.refusal: DoesNotFit | None = None
        self.level = self.top = 0  # of inductor.set_level(): at which to compile, and the highest that differs
        self.forecast_bytes: int | None = None  # of the compiler's scheduler, for the plan of this round
        self.beyond = 0  # what was measured beyond such a forecast
        self.level_ns = (0, 0, 0)  # by how much a step takes longer at a level
        self.copied_bytes = 0  # of filters in another layout, which the forward keeps for the backward below level PLAIN
        self.settled = False  # a measured plan is taken, where there is one within the budget
        self.compiling = False  # the compiler may be asked
        self.breaks: list[str] = []  # why the compiler broke the graph
        self.breaks_before: dict[str, int] = {}  # the compiler's counts, before it looked at the step
        self.peaks: list[int] = []  # of the steps that were measured
        self.reserved: int | None = None  # of the GPU, as Report.reserved_bytes
        leaves = [leaf for leaf in pytree.tree_leaves((batch, named)) if isinstance(leaf, torch.Tensor)]
        self.device = device_of(step.model)
        self.resident = resident_bytes(step.model.parameters(), step.model.buffers(), leaves)
        self.budget_bytes: int = step.budget_bytes or 0  # 0: a share of what is known when the step is planned
        self.report = self._prepare()
        self.batch = self.named = None

    # ---- planning ----

    def plan_piece(self, joint: Joint, split) -> list[int]:
        """The order in which the ops of one graph run. split: forward and backward of an order."""
        step, index = self.step, len(self.pieces)
        costs, extra = step.costs.of(joint, True), max(0, self.resident - joint.primal_bytes())
        graph = joint.planner_graph(costs, extra)
        keep_all = None if self.budget_bytes else graph.plan(None, measured=True)
        if keep_all and not self._new_breaks():
            self.budget_bytes = parse_bytes(step.budget, keep_all.peak_bytes)
        budget = max(1, (self.shares[index] if self.shares else self.budget_bytes) - self.set_aside)
        if step.backend == "inductor":
            self._note_workspaces(joint, costs)
        if not self.budget_bytes:  # a percentage of more than this graph: see _first_run()
            assert keep_all
            found = keep_all
        elif step.backend == "inductor" and self.shares is None:
            found = self._plan_fused(graph, joint, joint.planner_graph(costs, extra, in_place=True), budget, split)
        else:
            found = self._plan(graph, budget)
        if step.backend == "inductor":
            from . import inductor

            inductor.set_level(self.level, self._room() if self.budget_bytes and not self.shares else None)
        self.pieces.append(_Piece(joint, graph, StepPlan(found, graph, keep_all)))
        return found.order

    def _note_workspaces(self, joint: Joint, costs: list[Cost]):
        """What ops take for themselves at each level, for the forecast; convolutions take other bytes in other layouts."""
        from . import inductor

        last = self.step.costs.of_channels_last(joint)
        self.top = inductor.PLAIN if last else max(self.top, inductor.APART)
        self.copied_bytes = copied_filters_bytes(joint)
        longer = self.step.costs.channels_last_ns(joint, costs, last) if last and self.device.type == "cpu" else 0
        self.level_ns = (max(0, longer), max(0, longer), 0)
        if longer > 0:
            self.level = self.top
        for node, cost in zip(joint.nodes, costs):
            other = last.get(node, cost).workspace_bytes
            joint.workspaces[node] = (other, other, cost.workspace_bytes)

    def _plan_fused(self, graph: Graph, joint: Joint, in_place: Graph, budget_bytes: int, split) -> Plan:
        """A plan of a graph whose kernels are fused: a measured one where none is faster, else one that keeps the budget by
        the forecast of the compiler's scheduler."""
        from . import inductor

        if self.front is None:
            about = f"{torch.__version__} {self.step.costs.path.name} {self.device.type}"
            self.front = Front(self.step.costs.path.parent, graph, about, self.level_ns)
        self.forecast_bytes = None
        found = self._forecast(graph, in_place, budget_bytes)
        if found.overhead_percent > TIGHT_PERCENT:
            self.level = max(self.level, inductor.APART)
        known = self._known(found)
        if known:
            return known
        ample = AMPLE_PLAIN if self.level == inductor.PLAIN else AMPLE
        if len(found.order) > len(graph.ops) or self.budget_bytes < ample * found.peak_bytes:
            found = self._rehearsed(graph, in_place, joint, found, split)
            return self._known(found) or found
        return found

    def _known(self, found: Plan) -> Plan | None:
        """The fastest measured plan within the budget, where `found` is not faster, or was measured above the budget. The
        level comes first: a plan is not taken at a higher one before its forecast at the lower one was too large."""
        assert self.front
        row = self.front.fastest(self.budget_bytes)
        if not row:
            return None
        above = [old for old in self.front.rows if old.order == found.order and old.measured_bytes > self.budget_bytes]
        tried = any(old.level == self.level for old in above)
        tried |= self.forecast_bytes is not None and self.forecast_bytes > self.budget_bytes
        now_ns = self.front.time_ns(found.order, self.level)
        as_fast = row.level <= self.level and self.front.time_ns(row.order, row.level) <= now_ns
        if not (self.settled or tried or as_fast):
            return None
        self.level = row.level
        return dataclasses.replace(
            found,
            order=row.order,
            peak_bytes=row.planned_bytes,
            time_ns=self.front.time_ns(row.order),
            proved=False,
            documents=None,
        )

    def _forecast(self, graph: Graph, in_place: Graph, budget_bytes: int) -> Plan:
        """Where no plan fits, one that counts on kernels that write in place; else that of the smallest budget, which may
        still fit when it is measured."""
        with contextlib.suppress(DoesNotFit):
            return self._plan(graph, budget_bytes)
        try:
            return self._plan(in_place, budget_bytes)
        except DoesNotFit as refusal:
            self.refusal = refusal
            return self._smallest(in_place)

    def _rehearsed(self, graph: Graph, in_place: Graph, joint: Joint, found: Plan, split) -> Plan:
        """Plans for less and less, until the scheduler's forecast is within the budget; else that of the least forecast."""
        rows, smallest = [], False
        if self.copied_bytes and self._between(graph, found.order) + self.copied_bytes > self.budget_bytes:
            self.level = self.top  # whatever the forecast says
        for _ in range(REHEARSALS):
            while self.level < self.top and self._is_hopeless(in_place, found.order, joint):
                self.level += 1
            now = self._rehearsal(in_place, joint, found, split)
            if now is None:
                return found
            peak, whole = now
            rows.append((not whole, peak, found, self.level))
            over = peak - self.budget_bytes
            if over <= 0:
                break
            if self.level < self.top:
                self.level += 1  # the same plan: most of what is above comes of what the compiler does beyond it
            elif smallest:
                found = self._smallest(in_place)  # another one, whose kernels may take less
            else:
                found, smallest = self._less(graph, in_place, found, over)
        self.at_smallest = smallest
        _, self.forecast_bytes, found, self.level = min(rows, key=lambda row: row[:2])
        return found

    @staticmethod
    def _between(graph: Graph, order: list[int]) -> int:
        """Bytes that are there between forward and backward."""
        boundary = next(place for place, op in enumerate(graph.ops) if op.name == "boundary")
        return graph.live_bytes(order)[0][order.index(boundary)]

    def _planned(self, graph: Graph, order: list[int], joint: Joint) -> tuple[int, int]:
        """Peaks of forward and backward by the plan, with what ops take for themselves at this level."""
        live, boundary = graph.live_bytes(order)[0], joint.boundary
        for step, op in enumerate(order):
            if op != boundary:
                at_level = joint.workspaces.get(joint.nodes[op - (op > boundary)])
                live[step] += at_level[self.level] - graph.ops[op].workspace_bytes if at_level else 0
        begin = order.index(boundary)
        return max(live[: begin + 1]), max(live[begin:])

    def _is_hopeless(self, graph: Graph, order: list[int], joint: Joint) -> bool:
        """By what ops take for themselves at this level, far above the budget."""
        return max(self._planned(graph, order, joint)) > AMPLE_PLAIN * self.budget_bytes

    def _room(self) -> int:
        """Bytes that a graph may take beyond the primals, by the forecast."""
        return self.budget_bytes - self.resident - self.beyond

    def _rehearsal(self, graph: Graph, joint: Joint, found: Plan, split) -> tuple[int, bool] | None:
        """(the peak of a step: as measured before, or forecast; whether it is that of the whole step). None: unknown."""
        from . import rehearsal  # not for steps whose ops run one by one: it imports the compiler

        for row in self.front.rows if self.front else ():
            if row.order == found.order and row.level == self.level:
                return row.measured_bytes, True
        peaks = self._planned(graph, found.order, joint)
        first, second = (self.level < self.top or AMPLE_PLAIN * peak > self.budget_bytes for peak in peaks)
        near = first, second
        forward, backward = split(found.order)
        now = rehearsal.forecast(forward, backward, self.level, self._room(), near)
        if now is None:
            return None
        planned = max((peak for peak, asked in zip(peaks, near) if not asked), default=0)
        return max(planned, now[0] + self.resident + self.beyond), now[1]

    def _less(self, graph: Graph, in_place: Graph, found: Plan, over: int) -> tuple[Plan, bool]:
        """(a plan for fewer bytes, whether it is that of the smallest budget)"""
        target = found.peak_bytes - min(over, int(MOST_STEP * self.budget_bytes))
        for candidate in (graph, in_place):
            with contextlib.suppress(DoesNotFit):
                return self._plan(candidate, target), False
        return self._smallest(in_place), True

    def _smallest(self, graph: Graph) -> Plan:
        """A plan of the smallest budget that is found, each time by another search."""
        self.seed += 1
        return graph.plan_smallest(measured=True, seed=self.seed)[0]

    def _plan(self, graph: Graph, budget_bytes: int) -> Plan:
        step = self.step
        return graph.plan(
            budget_bytes, measured=True, time_limit=step.time_limit, iterations=step.effort, seed=self.seed
        )

    def _share(self):
        """Budgets of the graphs of one step. Each has the parameters and its own bytes, which add up to the budget."""
        least = [piece.graph.plan_smallest(measured=True)[0].peak_bytes for piece in self.pieces]
        most = [max(piece.planned.keep_all_bytes, low) for piece, low in zip(self.pieces, least)]
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

    def run(self, batch, named):
        for parameter in self.step.model.parameters():
            parameter.grad = None
        try:
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
                        if x._version != version:
                            x.detach().copy_(was)
                for x, gradient in gradients:
                    x.grad = gradient
                for now, were in hooks:
                    now.update(were)

    def _run_once(self):
        return self.run(self.batch, self.named)

    def _first_run(self):
        """Compiles and plans. A step of several graphs is planned a second time, with shares of the budget. So is one with a
        part in no graph whose budget is a percentage: of the step that recomputes nothing, as it was measured."""
        self._plan_and_run()
        if self.shares:
            return
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
            with quiet(), self._unchanged(), capture.many_plans(), settings:
                self._run_once()
        except torch._dynamo.exc.BackendCompilerFailed as failure:
            raise capture.inner_error(failure).with_traceback(None) from None
        except (TypeError, ValueError, RuntimeError, IndexError) as failure:
            sentence = forward_failure(self.step.model, self.batch, self.named)
            if sentence is None and isinstance(failure, torch._dynamo.exc.TorchDynamoException):
                raise
            raise sentence or failed(self.batch, self.named, failure) from failure
        finally:
            self.compiling = False
        if not self.pieces:
            raise capture.Unsupported("the compiler found no graph with a backward in the step")

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
        if self.front and len(self.pieces) == 1:
            plan = self.pieces[0].planned.plan
            self.front.add(plan.order, plan.peak_bytes, measured, self.level)
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
                if self.set_aside == 0 or self.shares or self.step.backend == "inductor":
                    raise self._beside(refusal) from None
                return self._report(self._measure_smallest(refusal), round_)
            over = measured - self.budget_bytes
            plan = self.pieces[0].planned.plan
            if over <= 0 and (round_ == ROUNDS or not self._again(plan, measured)):
                return self._report(measured, round_)
            if self.step.backend == "eager" or (over > 0 and self.breaks and not self.shares):
                self._set_aside(plan, measured, round_)
                continue
            hopeless = self.refusal or (self.at_smallest and over > FAR * self.budget_bytes)
            if over > 0 and hopeless and self.level == self.top:
                break
            if over <= 0:  # another plan may use what is left
                self.set_aside = self.budget_bytes - plan.peak_bytes + over
            elif self.forecast_bytes is not None:
                self.seed += 1
                self.beyond += max(0, measured - self.forecast_bytes)
            else:  # nothing was recomputed, or there are several graphs
                self.level = min(self.top, self.level + (len(self.pieces) > 1))
                self.set_aside += over
        if self.front and self.front.fastest(self.budget_bytes):  # found in an earlier round
            self.settled = True
            measured = self._round()
            if measured <= self.budget_bytes:
                return self._report(measured, round_)
        raise self._too_large(measured, round_)

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
        return loose and plan.overhead_percent > 1 and self.set_aside == 0 and not self.refusal

    def _too_large(self, measured: int, rounds: int) -> DoesNotFit:
        over = measured - self.budget_bytes
        measurements = [*self.peaks, *(row.measured_bytes for row in (self.front.rows if self.front else ()))]
        least = min(peak for peak in measurements if peak > self.budget_bytes)
        sentence = (
            f"after {rounds} plan{'s' if rounds > 1 else ''} a step still took {format_bytes(measured)} ({measured} bytes), "
            f"{over} above the budget"
        )
        sentence += f"; the smallest peak that was measured is {format_bytes(least)} ({least} bytes)"
        refusal = self.refusal
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
        key = self._key_of(batch, named)
        if key not in self._shaped:
            check_model_has_numbers(self.model)
            check_call(self.model, batch, named)
        try:
            loss = self._run(key, batch, named)
        except BaseException:
            for parameter in self.model.parameters():
                parameter.grad = None
            raise
        gradients = {name: p.grad for name, p in self.model.named_parameters() if p.grad is not None}
        return _Finished.apply(loss, *(p for p in self.model.parameters() if p.requires_grad)), gradients

    def _key_of(self, batch, named) -> tuple:
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
        trained = tuple(parameter.requires_grad for parameter in self.model.parameters())
        modes = tuple(module.training for module in self.model.modules())
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
                    self._last = self._shaped[key]
                return self._last.run(batch, named)
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
