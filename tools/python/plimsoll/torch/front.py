"""Plans of one graph whose step was measured: with fused kernels the measured peak decides, and a plan for a larger budget
may take fewer bytes than one for a smaller budget. The fastest one that was measured within a budget is used for it, so
that the peak never rises as the budget falls. Kept in a file between runs."""

from __future__ import annotations

import collections
import dataclasses
import hashlib
import json
import os
import pathlib
import tempfile

from ..planning import Graph

MOST_ROWS = 50
FORM = 7  # of the file's rows: in those of form 1 the level was not always what was compiled, in form 2 there were two,
# before form 4 inputs that no kernel reads stayed to the end of a call, before form 5 no op ran in parts, before form 6
# autograd copied gradients of filters, and before form 7 batch norms were no kernels of the compiler


@dataclasses.dataclass
class Row:
    order: list[int]
    planned_bytes: int
    measured_bytes: int
    level: int = 0  # of inductor.set_level(), at which it was compiled
    parts: list[list[int]] = dataclasses.field(default_factory=list)  # as Levels.divide() returns
    longer_ns: int = 0  # by these parts, as their times are known now; not in the file

    @property
    def way(self) -> tuple:
        """How the order is compiled."""
        return self.level, self.parts


class Front:
    """folder: where the file lies. about: what the measured bytes depend on beside the graph. level_ns: by how much a step
    takes longer at a level."""

    def __init__(self, folder: pathlib.Path, graph: Graph, about: str, level_ns: tuple[int, ...] = (0, 0, 0)):
        self.graph, self.level_ns = graph, level_ns
        # times and workspaces are measured, and may differ in another run; the order of a plan fits all the same
        ops = [(op.name, op.reads, op.writes, op.cls) for op in graph.ops]
        text = json.dumps([FORM, about, graph.storages, ops])
        self.path = folder / f"torch-plans-{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"
        self.rows = self._read()

    def _read(self) -> list[Row]:
        try:
            rows = json.loads(self.path.read_text(encoding="utf-8"))
            found = [
                Row(
                    [int(op) for op in r["order"]],
                    int(r["planned"]),
                    int(r["measured"]),
                    int(r["level"]),
                    [[int(place), int(n)] for place, n in r["parts"]],
                )
                for r in rows
            ]
        except (OSError, ValueError, KeyError, TypeError, OverflowError):
            return []
        return [row for row in found if self._is_sound(row)]

    def _is_sound(self, row: Row) -> bool:
        """Can the row be of a step of this graph? A file may be damaged."""
        sizes = min(row.planned_bytes, row.measured_bytes) > 0 and max(row.planned_bytes, row.measured_bytes) < 1 << 63
        return sizes and 0 <= row.level < len(self.level_ns) and self._is_order(row.order)

    def _is_order(self, order: list[int]) -> bool:
        """Does each op run, one of class once a single time, and only after what it reads was written?"""
        ops, count = self.graph.ops, collections.Counter(order)
        if set(count) != set(range(len(ops))) or any(count[i] > 1 for i, op in enumerate(ops) if op.cls == "once"):
            return False
        there = {place for place, (role, _) in enumerate(self.graph.storages) if role in ("input", "param", "state")}
        for op in order:
            if not there.issuperset(ops[op].reads):
                return False
            there.update(ops[op].writes)
        return True

    def _write(self):
        rows = [
            {
                "order": r.order,
                "planned": r.planned_bytes,
                "measured": r.measured_bytes,
                "level": r.level,
                "parts": r.parts,
            }
            for r in self.rows
        ]
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self.path.parent, delete=False, encoding="utf-8") as file:
                json.dump(rows, file)
            os.replace(file.name, self.path)
        except OSError:
            pass

    def time_ns(self, order: list[int], level: int | None = None) -> int:
        """Of the ops; with a level, what a step takes longer at it too."""
        return sum(self.graph.ops[op].time_ns for op in order) + (self.level_ns[level] if level is not None else 0)

    def row_time_ns(self, row: Row) -> int:
        return self.time_ns(row.order, row.level) + row.longer_ns

    def add(self, new: Row):
        """The highest measurement of the same step counts."""
        same = [row for row in self.rows if (row.order, *row.way) == (new.order, *new.way)]
        most = max([new.measured_bytes, *(row.measured_bytes for row in same)])
        self.rows = [row for row in self.rows if row not in same][-MOST_ROWS + 1 :]
        self.rows.append(dataclasses.replace(new, measured_bytes=most))
        self._write()

    def fastest(self, budget_bytes: int) -> Row | None:
        """Of those within the budget; of equally fast ones one at the lowest level, then that with the lowest peak."""
        rows = [row for row in self.rows if row.measured_bytes <= budget_bytes]
        return min(rows, key=lambda row: (self.row_time_ns(row), row.level, row.measured_bytes, row.order), default=None)
