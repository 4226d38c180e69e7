"""Plans of one graph whose kernels are fused: forecast by the compiler's scheduler, corrected by what was measured.

A plan of ops says little of what fused kernels take. So the scheduler is asked for the peak of a plan before anything is
compiled, and plans for less and less are made until that peak is within the budget. Each is made at one of the levels of
inductor.set_level(): at a higher one the compiler does less that takes memory, and a step may take longer.
"""

from __future__ import annotations

import dataclasses
import typing

import torch

from ..planning import DoesNotFit, Graph, Plan
from . import inductor, rehearsal
from .costs import Cost, Costs
from .front import Front, Row
from .joint import Joint
from .levels import RATES, Levels

TIGHT_PERCENT = 5  # overhead from which kernels are compiled apart at once: repeats cost more than that does
AMPLE = 2  # times keep-all: from such a budget on no forecast is asked for where nothing is recomputed
AMPLE_PLAIN = 1.1  # the same at the highest level, where the plan itself is within a percent of the measured peak
REHEARSALS = 5  # plans whose forecast the compiler's scheduler is asked for in one round
MOST_STEP = 0.03  # of the budget: by how much less the next of them is planned at most
FREE = 0.01  # of the budget: what a forecast may leave free without a plan for more
FURTHER = 2  # plans for more, at most
SLOW_PERCENT = 1  # overhead up to which no faster plan is looked for, and what one gains at least for a forecast of it


Search = typing.Callable[[Graph, int, int], Plan]  # a plan within bytes, by a seed; DoesNotFit: none was found


@dataclasses.dataclass
class Candidate:
    """plan         by the graph of its level and rate, as Levels.graphs() takes them
    parts           as Levels.divide() returns; they take a step longer_ns longer than the fastest ones
    is_smallest     a plan of the fewest bytes that were found
    """

    plan: Plan
    level: int
    parts: list[list[int]]
    longer_ns: int
    rate: float
    is_smallest: bool = False

    @property
    def way(self) -> tuple:
        """How the order is compiled."""
        return self.level, self.parts


class FusedPlans:
    """level        at which to compile; top: the highest that differs from the others, in any graph of the step
    front           plans that were measured; None: nothing was planned yet
    refusal         no plan of ops is within the budget
    at_smallest     plans of the fewest bytes were tried
    forecast_bytes  of the compiler's scheduler, for the plan made last; None: it was not asked
    settled         a measured plan is taken, where there is one within the budget
    """

    def __init__(self, costs: Costs, device: torch.device, resident_bytes: int, search: Search):
        self.costs, self.device, self.resident_bytes, self.search = costs, device, resident_bytes, search
        self.level = self.top = inductor.ALL
        self.front: Front | None = None
        self.refusal: DoesNotFit | None = None
        self.refused: DoesNotFit | None = None  # the last search
        self.at_smallest = self.settled = False
        self.forecast_bytes: int | None = None
        self.beyond_bytes = 0  # what was measured beyond such a forecast
        self.seed = 1  # of the search
        self.budget_bytes = 0
        self.taken: Candidate | None = None
        self.plain: Candidate | None = None  # of this round, at the highest level
        self.levels: Levels | None = None

    def look_at(self, joint: Joint, costs: list[Cost], extra_bytes: int):
        """The graph that is planned now. costs, extra_bytes: as those of Joint.planner_graph()."""
        self.levels = Levels(joint, self.costs, costs, extra_bytes, self.device)
        self.top, self.level = max(self.top, self.levels.top), max(self.level, self.levels.first)
        self.taken = self.forecast_bytes = None

    def room_bytes(self) -> int:
        """Bytes that a graph may take beyond the primals, by the forecast."""
        return self.budget_bytes - self.resident_bytes - self.beyond_bytes

    def graph(self) -> Graph:
        """That of the plan made last."""
        assert self.levels
        rate = self.taken.rate if self.taken else RATES[0]
        return self.levels.graphs(self.level, rate)[0]

    def plan(self, budget_bytes: int, plan_bytes: int, split) -> Plan:
        """A measured plan where none is faster, else one that keeps the budget by the forecast. plan_bytes: the budget without
        what is set aside. split: forward and backward of an order."""
        assert self.levels
        self.budget_bytes = budget_bytes
        about = f"{torch.__version__} {self.costs.path.name} {self.device.type}"
        front = Front(self.costs.path.parent, self.levels.graphs(inductor.PLAIN, RATES[0])[0], about, self.levels.ns)
        if self.front is None or self.front.path != front.path:  # another graph than in the last round
            self.front = front
            self._forget_other_parts()
        self.plain = None
        now = self._first(plan_bytes)
        known = self._known(now)
        if not known:
            ample = AMPLE_PLAIN if now.level == inductor.PLAIN else AMPLE
            recomputes = len(now.plan.order) > len(self.graph().ops)
            if recomputes or budget_bytes < ample * now.plan.peak_bytes:
                now = self._rehearsed(now, plan_bytes, split)
                known = self._known(now)
        self.taken = known or now
        self.level = self.taken.level
        self.levels.take(self.taken.parts)
        return self.taken.plan

    def _forget_other_parts(self):
        """Rows whose parts cannot be taken now say nothing of this step."""
        assert self.front and self.levels
        rows = []
        for row in self.front.rows:
            longer = self.levels.parts_ns(row.parts)
            if longer is not None:
                rows.append(dataclasses.replace(row, longer_ns=longer))
        self.front.rows = rows

    def add(self, plan: Plan, measured_bytes: int):
        """What a step by the plan made last was measured to take."""
        if self.front and self.taken:
            row = self.taken
            self.front.add(Row(plan.order, plan.peak_bytes, measured_bytes, self.level, row.parts, row.longer_ns))

    def next_round(self, measured_bytes: int):
        """The next plan is another one, and its forecast counts what the last one left out."""
        self.seed += 1
        self.beyond_bytes += max(0, measured_bytes - (self.forecast_bytes or measured_bytes))

    # ---- plans of ops ----

    def _fitting(self, level: int, n_bytes: int, rate: float | None = None) -> Candidate | None:
        """The fastest by the rates. Where no plan fits, one that counts on kernels that write in place. None: none fits."""
        assert self.levels
        rates = self.levels.rates(level) if rate is None else (rate,)
        for in_place in (False, True):
            found = [self._at_rate(level, n_bytes, rate, in_place) for rate in rates]
            fits = [row for row in found if row]
            if fits:
                return min(fits, key=self._time_ns)
        return None

    def _at_rate(self, level: int, n_bytes: int, rate: float, in_place: bool) -> Candidate | None:
        assert self.levels
        try:
            plan = self.search(self.levels.graphs(level, rate)[in_place], n_bytes, self.seed)
        except DoesNotFit as refusal:
            self.refused = refusal
            return None
        return self._candidate(plan, level, rate, n_bytes)

    def _candidate(self, plan: Plan, level: int, rate: float, n_bytes: int, is_smallest: bool = False) -> Candidate:
        assert self.levels
        parts = self.levels.divide(plan.order, level, rate, n_bytes)
        return Candidate(plan, level, parts, self.levels.longer_ns, rate, is_smallest)

    def _smallest(self, level: int) -> Candidate:
        """A plan of the smallest budget that is found, each time by another search. It may still fit when it is measured."""
        assert self.levels
        self.seed += 1
        rate = self.levels.rates(level)[-1]
        plan = self.levels.graphs(level, rate)[1].plan_smallest(measured=True, seed=self.seed)[0]
        return self._candidate(plan, level, rate, plan.peak_bytes, True)

    def _time_ns(self, row: Candidate) -> int:
        assert self.front
        return self.front.time_ns(row.plan.order, row.level) + row.longer_ns

    def _first(self, plan_bytes: int) -> Candidate:
        assert self.front and self.levels
        now = self._fitting(self.level, plan_bytes)
        if now and now.plan.overhead_percent > TIGHT_PERCENT:
            now.level = max(now.level, inductor.APART)
        keep_all = self.front.time_ns(list(range(len(self.graph().ops))), inductor.PLAIN)
        if self.level < inductor.PLAIN == self.top and (not now or self._time_ns(now) > keep_all):
            now = self._better(now, self._plain(plan_bytes))
        if not now or now.is_smallest:
            self.refusal = self.refused
        return now or self._smallest(self.level)

    def _plain(self, plan_bytes: int) -> Candidate:
        """At the level where nothing is copied into another layout."""
        if not self.plain:
            self.plain = self._fitting(inductor.PLAIN, plan_bytes)
        if not self.plain:
            self.plain = self._smallest(inductor.PLAIN)
        return self.plain

    def _better(self, below: Candidate | None, plain: Candidate) -> Candidate:
        """Of one that fits at a lower level, and of that at the highest, which may not."""
        if below and (plain.is_smallest or self._time_ns(below) <= self._time_ns(plain)):
            return below
        return plain

    def _known(self, now: Candidate) -> Candidate | None:
        """The fastest measured plan within the budget, where `now` is not faster, or was measured above the budget. The
        level comes first: a plan is not taken at a higher one before its forecast at the lower one was too large."""
        assert self.front
        row = self.front.fastest(self.budget_bytes)
        if not row:
            return None
        above = [old for old in self.front.rows if old.order == now.plan.order and old.measured_bytes > self.budget_bytes]
        tried = any(old.way == now.way for old in above)
        tried |= self.forecast_bytes is not None and self.forecast_bytes > self.budget_bytes
        as_fast = row.level <= now.level and self.front.row_time_ns(row) <= self._time_ns(now)
        if not (self.settled or tried or as_fast):
            return None
        return Candidate(self._as_plan(row, now), row.level, row.parts, row.longer_ns, now.rate)

    def _as_plan(self, row: Row, now: Candidate) -> Plan:
        """The measured plan, with the times of its level. The bound of `now` holds for it where their times are the same."""
        assert self.levels
        times = [op.time_ns for op in self.levels.graphs(row.level, now.rate)[0].ops]
        time_ns, keep_all_ns = sum(times[op] for op in row.order), sum(times)
        is_same = self.levels.is_last(row.level) == self.levels.is_last(now.level)
        return dataclasses.replace(
            now.plan,
            order=row.order,
            budget_bytes=self.budget_bytes,
            peak_bytes=row.planned_bytes,
            time_ns=time_ns,
            keep_all_ns=keep_all_ns,
            bound_ns=min(now.plan.bound_ns, time_ns) if is_same else keep_all_ns,
            proved=False,
            documents=None,
        )

    # ---- forecasts ----

    def _rehearsed(self, now: Candidate, plan_bytes: int, split) -> Candidate:
        """Plans for less and less, until the scheduler's forecast is within the budget; else that of the least forecast: one
        that was measured above the budget only where there is no other."""
        rows: list[tuple[bool, bool, int, Candidate]] = []
        over = 0
        for _ in range(REHEARSALS):
            if rows:
                now = self._less(now, over, plan_bytes)
            found = self._rehearsal(now, split)
            if found is None:
                return now
            over = found[0] - self.budget_bytes
            rows.append((over > 0 and self._measured(now) is not None, not found[1], found[0], now))
            if over <= 0:
                break
        self.at_smallest = now.is_smallest
        _, is_part, self.forecast_bytes, now = min(rows, key=lambda row: row[:3])
        return now if is_part or now.is_smallest else self._for_more(now, split)

    def _for_more(self, now: Candidate, split) -> Candidate:
        """Plans for what the forecast has left free: a plan counts values that kernels do not write."""
        for _ in range(FURTHER):
            free = self.budget_bytes - (self.forecast_bytes or 0)
            if free < FREE * self.budget_bytes or now.plan.overhead_percent <= SLOW_PERCENT:
                break
            more = self._fitting(now.level, now.plan.peak_bytes + free, now.rate)
            if not more or self._time_ns(more) * (100 + SLOW_PERCENT) > self._time_ns(now) * 100:
                break
            found = self._rehearsal(more, split)
            if found is None or not found[1] or found[0] > self.budget_bytes:
                break
            self.forecast_bytes, now = found[0], more
        return now

    def _measured(self, now: Candidate) -> int | None:
        """The peak of such a step, where it was measured."""
        assert self.front
        same = (row for row in self.front.rows if (row.order, *row.way) == (now.plan.order, *now.way))
        return next((row.measured_bytes for row in same), None)

    def _less(self, now: Candidate, over: int, plan_bytes: int) -> Candidate:
        """A candidate for fewer bytes. over: of the forecast of `now`, above the budget."""
        if now.level < min(self.top, inductor.APART):
            return dataclasses.replace(now, level=now.level + 1)  # most of what is above comes of what the compiler does
        if now.is_smallest:
            return self._smallest(now.level)
        target = now.plan.peak_bytes - min(over, int(MOST_STEP * self.budget_bytes))
        less = self._fitting(now.level, target, now.rate)
        if now.level < self.top:
            return self._better(less, self._plain(plan_bytes))
        return less or self._smallest(now.level)

    def _planned(self, order: list[int], level: int, rate: float) -> tuple[int, int]:
        """Peaks of forward and backward by the plan, with what ops take for themselves as they are divided."""
        assert self.levels
        graph, joint = self.levels.graphs(level, rate)[0], self.levels.joint
        live, boundary = graph.live_bytes(order)[0], joint.boundary
        for step, op in enumerate(order):
            if op != boundary:
                live[step] += joint.workspaces[joint.nodes[op - (op > boundary)]][level] - graph.ops[op].workspace_bytes
        begin = order.index(boundary)
        return max(live[: begin + 1]), max(live[begin:])

    def _rehearsal(self, now: Candidate, split) -> tuple[int, bool] | None:
        """(the peak of a step: as measured before, or forecast; whether it is that of the whole step). None: unknown."""
        assert self.levels
        measured = self._measured(now)
        if measured is not None:
            return measured, True
        self.levels.take(now.parts)
        peaks = self._planned(now.plan.order, now.level, now.rate)
        first, second = (now.level < self.top or AMPLE_PLAIN * peak > self.budget_bytes for peak in peaks)
        near = first, second
        forward, backward = split(now.plan.order)
        found = rehearsal.forecast(forward, backward, now.level, self.room_bytes(), near)
        if found is None:
            return None
        planned = max((peak for peak, asked in zip(peaks, near) if not asked), default=0)
        return max(planned, found[0] + self.resident_bytes + self.beyond_bytes), found[1]
