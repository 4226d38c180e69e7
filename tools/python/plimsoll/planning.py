"""Graphs and plans: what to keep and what to recompute, so that a step fits into a number of bytes."""

from __future__ import annotations

import ctypes as c
import dataclasses
import os
import re
import sys
import time
import typing
import weakref

from . import _library
from ._library import library as lib


class Error(Exception):
    """What the library refused, in one sentence with numbers."""


class DoesNotFit(Error):
    """No plan was found within the budget.

    smallest_bytes  the smallest budget for which a plan was found
    bound_bytes     proven: no plan exists below this
    op              the name of the op that sets bound_bytes
    measured        plans were found, and the steps by them that were measured took more than the budget
    """

    def __init__(self, sentence: str, smallest_bytes: int, bound_bytes: int, op: str, measured: bool = False):
        super().__init__(sentence)
        self.measured = measured
        self.smallest_bytes, self.bound_bytes, self.op = smallest_bytes, bound_bytes, op


# By default a brief search (docs/planner.md): 250 moves for each op, and up to so many where its plan is far from the
# proven bound.
MOVES_AN_OP, MOST_MOVES = 1_000, 400_000
_UNITS = {
    "": 1, "B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
}  # fmt: skip
_SIZE = re.compile(r"([0-9]+)(?:\.([0-9]+))? ?([A-Za-z]*|%)")


def parse_bytes(budget: int | str, all_bytes: int | None = None) -> int:
    """Bytes of a size: 8589934592, "8GiB", "600 MB", or "40%" of all_bytes; the sizes that the program `plimsoll` reads.
    ValueError: it is none, or not positive."""
    if isinstance(budget, bool) or not isinstance(budget, (int, str)):
        raise _no_size(repr(budget), f"is a {type(budget).__name__}")
    found = _SIZE.fullmatch(str(budget).strip())
    if not found:
        raise _no_size(f"'{budget}'", "is no positive number with a unit")
    digits, unit = found[1] + (found[2] or ""), found[3]
    scale = 10 ** (len(digits) - len(found[1]))
    if unit == "%":
        if all_bytes is None:
            raise ValueError(f"'{budget}': a percentage is not allowed here; give bytes, as '8GiB'")
        value = int(digits) * all_bytes // (100 * scale)
    elif unit in ("", "B") and found[2]:
        raise _no_size(f"'{budget}'", "counts parts of a byte")
    elif unit in _UNITS:
        value = int(digits) * _UNITS[unit] // scale
    else:
        near = [known for known in _UNITS if known.lower() == unit.lower()]
        meant = f"; '{found[1]}{near[-1]}' has {int(found[1]) * _UNITS[near[-1]]} bytes" if near else ""
        raise _no_size(f"'{budget}'", f"has the unit '{unit}', which is not known{meant}")
    if not 1 <= value < 2**63:
        raise _no_size(f"'{budget}'", "is zero" if value == 0 else f"has {value} bytes, more than 63 bits hold")
    return value


def _no_size(what: str, fault: str) -> ValueError:
    return ValueError(
        f"{what} {fault}: a budget is a positive number and B, KiB, MiB, GiB, TiB (x1024), kB, MB, GB, TB (x1000) or %, as "
        "in '8GiB', '500MB', '45%'; without a unit it counts bytes"
    )


def format_bytes(n: int) -> str:
    """Bytes in the largest binary unit of which there is one, with a digit after the point."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if n >= size:
            return f"{n / size:.1f} {unit}"
    return f"{n} B"


@dataclasses.dataclass
class Plan:
    """A checked plan. Bytes and nanoseconds; times are predicted from the times that the graph was given."""

    order: list[int]  # ops in the order in which they run; one that runs again occurs again
    budget_bytes: int | None
    peak_bytes: int
    time_ns: int
    keep_all_ns: int
    bound_ns: int  # proven: no plan within the budget takes less
    proved: bool  # time_ns is the least
    planner: str
    documents: _Documents | None = dataclasses.field(default=None, repr=False, compare=False)

    def save(self, folder: str):
        """graph.json, profile.json and plan.json in the folder, which is made: what the program `plimsoll` reads.

        Error: as _own(). OSError: the folder cannot be made.
        """
        documents = self._own()
        os.makedirs(folder, exist_ok=True)
        documents.save(folder)

    def write_trace(self, path: str, times_ns: list[int]):
        """The trace of one run of the plan, with plan and graph beside it, for `plimsoll trace ACTION path`.

        times_ns  of each run in `order`, measured
        """
        if len(times_ns) != len(self.order):
            raise ValueError(f"{len(times_ns)} times for a plan of {len(self.order)} runs")
        self._own().write_trace(path, times_ns)

    def _own(self) -> _Documents:
        """Error: the order was measured in an earlier run and taken from there, so the library has no plan of it."""
        if self.documents is None:
            raise Error("this plan was not made now but measured before, and has no documents; plimsoll.torch.plan() makes some")
        return self.documents

    @property
    def overhead_percent(self) -> float:
        return 100 * (self.time_ns - self.keep_all_ns) / self.keep_all_ns if self.keep_all_ns else 0.0

    @property
    def bound_percent(self) -> float:
        return 100 * (self.bound_ns - self.keep_all_ns) / self.keep_all_ns if self.keep_all_ns else 0.0


@dataclasses.dataclass
class _Op:
    name: str
    reads: list[int]
    writes: list[int]
    cls: str
    phase: str
    time_ns: int
    workspace_bytes: int
    in_place: list[tuple[int, int]]


class _Context:
    """A context of the library for one call: its sentence, its progress, and Ctrl-C."""

    def __init__(self, progress: bool):
        self.handle = c.c_void_p()
        self.interrupted = False
        if lib.plim_context_new(None, None, c.byref(self.handle)) != _library.OK:
            raise MemoryError("out of memory")
        self.shown, self.begin = False, time.monotonic()
        self.visible = progress and sys.stderr.isatty()
        self.callback = _library.OnProgress(self._report)
        lib.plim_context_set_progress(self.handle, self.callback, None)

    def _report(self, _user, progress):
        try:
            if self.visible and time.monotonic() - self.begin > 2:
                row = _library.progress_of(progress)
                best = f", {row.best_percent:.1f} % more time" if row.best_percent >= 0 else ""
                print(f"\r{row.stage.decode()}: {row.elapsed_ns / 1e9:.0f} s{best}\x1b[K", end="", file=sys.stderr)
                self.shown = True
        except KeyboardInterrupt:
            self.interrupted = True
            lib.plim_context_cancel(self.handle)

    def check(self, status: int) -> int:
        """The status where it is OK or ENOFIT; else the exception for it."""
        if self.interrupted:
            raise KeyboardInterrupt
        if status == _library.ENOMEM:
            raise MemoryError("out of memory")
        if status not in (_library.OK, _library.ENOFIT):
            raise Error(self.sentence())
        return status

    def sentence(self) -> str:
        return lib.plim_context_error(self.handle).decode()

    def quiet(self):
        """The line of progress ends; no other follows."""
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr)
        self.shown = self.visible = False

    def close(self):
        self.quiet()
        lib.plim_context_free(self.handle)


class _Documents:
    """Graph, profile and plan in the library, freed with the last reference."""

    def __init__(self, context: _Context):
        self.context = context
        self.graph, self.profile = c.c_void_p(), c.c_void_p()
        self.plan = c.c_void_p()
        self.free = weakref.finalize(self, self._free, context, self.graph, self.profile, self.plan)

    @staticmethod
    def _free(context, graph, profile, plan):
        lib.plim_plan_free(plan)
        lib.plim_profile_free(profile)
        lib.plim_graph_free(graph)
        context.close()

    def save(self, folder: str):
        check = self.context.check
        check(lib.plim_graph_save(self.graph, f"{folder}/graph.json".encode()))
        check(lib.plim_profile_save(self.profile, f"{folder}/profile.json".encode()))
        check(lib.plim_plan_save(self.plan, f"{folder}/plan.json".encode()))

    def write_trace(self, path: str, times_ns: list[int]):
        check, writer = self.context.check, c.c_void_p()
        stem = path[: -len(".jsonl")] if path.endswith(".jsonl") else path
        check(lib.plim_graph_save(self.graph, f"{stem}.plan.graph.json".encode()))
        check(lib.plim_plan_save(self.plan, f"{stem}.plan.json".encode()))
        check(lib.plim_trace_begin(self.graph, self.plan, path.encode(), c.byref(writer)))
        lib.plim_trace_add(writer, 0, (c.c_int64 * len(times_ns))(*times_ns))
        check(lib.plim_trace_end(writer))


class Graph:
    """One training step: storages, and ops in program order that read and write them.

    Roles of storages: "input" (written from outside, until its last reader), "param" and "state" (there all the time),
    "activation", "gradient" (the plan may drop and recompute them), "output" (stays to the end of the step).
    """

    def __init__(self, name: str = "step"):
        self.name = name
        self.storages: list[tuple[str, int]] = []
        self.ops: list[_Op] = []

    def add_storage(self, role: str, n_bytes: int) -> int:
        """A storage of so many bytes; returns its number."""
        if role not in _library.ROLES:
            raise ValueError(f"'{role}' is no role: {', '.join(_library.ROLES)}")
        self.storages.append((role, n_bytes))
        return len(self.storages) - 1

    def add_op(
        self,
        name: str,
        reads: list[int],
        writes: list[int],
        time_ns: int,
        workspace_bytes: int = 0,
        cls: str = "pure",
        phase: str = "forward",
        in_place: typing.Sequence[tuple[int, int]] = (),
    ) -> int:
        """An op at the end of the program; returns its number. cls: "pure", "random" (may run again) or "once".

        in_place  pairs (written, read) of storages of equal bytes, of which one may take the place of the other where
                  nothing reads it later; at most 8
        """
        if cls not in _library.CLASSES or phase not in _library.PHASES:
            raise ValueError(f"class '{cls}' or phase '{phase}' is none")
        if not writes:
            raise ValueError(f"op '{name}' writes no storage")
        pairs = list(in_place)
        if len(pairs) > _library.MOST_PAIRS or any(w not in writes or r not in reads for w, r in pairs):
            raise ValueError(f"op '{name}': in_place has up to {_library.MOST_PAIRS} pairs of what it writes and reads")
        self.ops.append(_Op(name, list(reads), list(writes), cls, phase, time_ns, workspace_bytes, pairs))
        return len(self.ops) - 1

    def live_bytes(self, order: list[int]) -> tuple[list[int], list[list[tuple[int, int]]]]:
        """(bytes that are there during each run of an order, workspaces included; for each storage the runs
        [begin, end) in which it is there, once for each time that it is written)."""
        lives: list[list[tuple[int, int]]] = [[] for _ in self.storages]
        for place, (role, _) in enumerate(self.storages):
            if role not in ("activation", "gradient", "output"):
                lives[place] = [(0, len(order) if role != "input" else 0)]
        for step, op in enumerate(order):
            for storage in self.ops[op].writes:
                lives[storage].append((step, step + 1))
            for storage in self.ops[op].reads:
                lives[storage][-1] = (lives[storage][-1][0], max(step + 1, lives[storage][-1][1]))
        self._end_in_place(order, lives)
        change = [0] * (len(order) + 1)
        for (role, n_bytes), rows in zip(self.storages, lives):
            if role == "output" and rows:
                rows[-1] = (rows[-1][0], len(order))
            for begin, end in rows:
                change[begin] += n_bytes
                change[end] -= n_bytes
        live, now = [], 0
        for step, op in enumerate(order):
            now += change[step]
            live.append(now + self.ops[op].workspace_bytes)
        return live, lives

    def _end_in_place(self, order: list[int], lives: list[list[tuple[int, int]]]):
        """What an op may overwrite ends before it, where the op is its last reader: one storage for each that it writes."""
        for step, op in enumerate(order):
            taken = set()
            for written, read in self.ops[op].in_place:
                place = next((i for i, row in enumerate(lives[read]) if row[1] == step + 1 and row[0] < step), None)
                if place is not None and written not in taken:
                    lives[read][place] = (lives[read][place][0], step)
                    taken.add(written)

    # ---- to the library and back ----

    def _op_spec(self, index: int, op: _Op):
        reads = (c.c_int32 * max(1, len(op.reads)))(*op.reads)
        writes = (c.c_int32 * len(op.writes))(*op.writes)
        spec = _library.OpSpec(
            name=f"{op.name}.{index}".encode(),
            kind=_library.CUSTOM,
            cls=_library.CLASSES.index(op.cls),
            phase=_library.PHASES.index(op.phase),
            n_in=len(op.reads),
            n_out=len(op.writes),
            n_pairs=len(op.in_place),
            many_in=c.cast(reads, c.POINTER(c.c_int32)),
            many_out=c.cast(writes, c.POINTER(c.c_int32)),
            time_ns=op.time_ns,
        )
        for i, (written, read) in enumerate(op.in_place):
            spec.pair[2 * i : 2 * i + 2] = [op.writes.index(written), op.reads.index(read)]
        return spec, (reads, writes)

    def _build(self, context: _Context, graph: c.c_void_p):
        builder, out = c.c_void_p(), c.c_int32()
        context.check(lib.plim_graph_begin(context.handle, self.name.encode(), 0, c.byref(builder)))
        try:
            lib.plim_graph_set_unpacked(builder)
            for i, (role, n_bytes) in enumerate(self.storages):
                shape = _library.Shape(
                    dtype=_library.U8, layout=_library.FLAT, rank=1, dim=(n_bytes, 1, 1, 1, 1, 1, 1, 1)
                )
                role_id = _library.ROLES.index(role)
                context.check(lib.plim_graph_add_storage(builder, role_id, n_bytes, c.byref(out)))
                context.check(lib.plim_graph_add_value(builder, f"v{i}".encode(), i, 0, c.byref(shape), c.byref(out)))
            for i, op in enumerate(self.ops):
                spec, _operands = self._op_spec(i, op)
                context.check(lib.plim_graph_add_op(builder, c.byref(spec), c.byref(out)))
        except BaseException:
            lib.plim_graph_builder_free(builder)
            raise
        context.check(lib.plim_graph_end(builder, c.byref(graph)))

    def _documents(self, measured: bool, progress: bool) -> _Documents:
        documents = _Documents(_Context(progress))
        self._build(documents.context, documents.graph)
        first = (c.c_int32 * (len(self.ops) + 1))(*range(len(self.ops) + 1))
        rows = (_library.Variant * len(self.ops))()
        for row, op in zip(rows, self.ops):
            row.name = row.numerics_key = b"torch"
            row.time_ns, row.workspace_bytes = op.time_ns, op.workspace_bytes
        machine = _library.Machine(device=b"torch", threads=1)
        made = lib.plim_profile_make(
            documents.graph, c.byref(machine), int(measured), first, rows, c.byref(documents.profile)
        )
        documents.context.check(made)
        return documents

    def plan(
        self,
        budget_bytes: int | None = None,
        *,
        time_limit: float | None = None,
        iterations: int = 0,
        threads: int = 1,
        seed: int = 1,
        measured: bool = False,
        save: str | None = None,
        progress: bool = True,
    ) -> Plan:
        """The fastest plan found within budget_bytes; None: the plan that keeps everything.

        time_limit  seconds for the search; the default is a number of moves, which gives equal plans on every machine:
                    250 for each op, and up to 1,000, at most 400,000 in total, while the plan is far from its bound;
                    where that finds none, a search of 1,000 that begins anew
        save        folder, which is made, for graph.json, profile.json and plan.json
        DoesNotFit: no plan was found. Error: the graph is wrong. OSError: the folder cannot be made.
        """
        if save is not None:
            os.makedirs(save, exist_ok=True)  # a folder that cannot be made is said before the search
        moves = iterations if iterations > 0 or time_limit else min(MOST_MOVES, MOVES_AN_OP * len(self.ops))
        documents = self._documents(measured, progress)
        options = self._options(threads, seed, moves, time_limit)
        options.brief = int(budget_bytes is not None and iterations == 0 and not time_limit)
        found = self._search(documents, budget_bytes, options)
        if found is None and options.brief:
            options.brief = 0
            found = self._search(documents, budget_bytes, options)
        if found is None:
            self._refuse(documents, options)
        if save is not None:
            found.save(save)
        return found

    def _search(self, documents: _Documents, budget_bytes: int | None, options) -> Plan | None:
        """One call of the library; None: no plan was found."""
        context = documents.context
        options.budget_bytes = _library.NO_BUDGET if budget_bytes is None else budget_bytes
        call = lib.plim_plan_keep_all if budget_bytes is None else lib.plim_plan_make
        status = call(
            context.handle, documents.graph, documents.profile, c.byref(options), c.byref(documents.plan)
        )
        return self._read(documents, budget_bytes) if context.check(status) == _library.OK else None

    def plan_smallest(
        self, *, time_limit: float | None = None, threads: int = 1, seed: int = 1, measured: bool = False
    ) -> tuple[Plan, int, str]:
        """(the plan of the smallest budget that was found, bytes below which none exists, the op that needs them)."""
        documents = self._documents(measured, True)
        options = self._options(threads, seed, 0, time_limit)
        floor = _library.Floor()
        status = lib.plim_plan_smallest(
            documents.context.handle,
            documents.graph,
            documents.profile,
            c.byref(options),
            c.byref(floor),
            c.byref(documents.plan),
        )
        if documents.context.check(status) != _library.OK:
            raise Error(documents.context.sentence())
        found = self._read(documents, floor.smallest_bytes)
        return found, floor.bound_bytes, self.ops[floor.op].name

    @staticmethod
    def _options(threads: int, seed: int, iterations: int, time_limit: float | None):
        options = lib.plim_plan_options_default()
        options.unpacked, options.threads, options.seed, options.iterations = 1, threads, seed, iterations
        options.time_limit_ns = int(1e9 * time_limit) if time_limit else 0
        return options

    def _refuse(self, documents: _Documents, options) -> typing.NoReturn:
        floor, context = _library.Floor(), documents.context
        sentence = context.sentence()
        status = lib.plim_plan_smallest(
            context.handle, documents.graph, documents.profile, c.byref(options), c.byref(floor), None
        )
        if context.check(status) != _library.OK:
            raise Error(sentence)
        name = self.ops[floor.op].name
        beside = f" beside {format_bytes(floor.outputs_bytes)} of results that stay" if floor.outputs_bytes else ""
        raise DoesNotFit(
            f"no plan was found within {format_bytes(options.budget_bytes)} ({options.budget_bytes} bytes): the smallest "
            f"budget with a plan is {format_bytes(floor.smallest_bytes)} ({floor.smallest_bytes} bytes); none exists "
            f"below {format_bytes(floor.bound_bytes)} ({floor.bound_bytes} bytes), which '{name}' needs{beside}",
            floor.smallest_bytes,
            floor.bound_bytes,
            name,
        )

    @staticmethod
    def _read(documents: _Documents, budget_bytes: int | None) -> Plan:
        plan, order = _library.plan_of(documents.plan)
        documents.context.quiet()
        return Plan(
            order=order,
            budget_bytes=budget_bytes,
            peak_bytes=plan.peak_bytes,
            time_ns=plan.time_ns,
            keep_all_ns=plan.keep_all_ns,
            bound_ns=plan.bound_ns,
            proved=bool(plan.proved),
            planner=plan.planner.decode(),
            documents=documents,
        )
