"""The report of tools/gpu_check: one page (gpu.md), every run with its output (gpu_runs.md), all of it (gpu.json)."""
import json
import os
import textwrap

from gpu_check_parts import BESIDE, GOALS, PARTS, PEER_GOALS, PEERS, PRECISIONS, is_met, peer_goals
from gpu_check_run import replace

LINES, COLUMNS = 64, 120  # of the page
MOST_ROWS = 40  # of a list in gpu_runs.md


def wrap(text, first="", rest="  ", most=None):
    """Lines of at most COLUMNS; more than `most` end in an ellipsis."""
    plain = " ".join(text.split())
    return textwrap.wrap(plain, COLUMNS, initial_indent=first, subsequent_indent=rest, max_lines=most,
                         placeholder=" ...", break_on_hyphens=False) or [first]


def shown(value):
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer() and abs(value) < 1e15):
        return f"{int(value)}"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def dropped(part):
    """A row for each variant and reason, whatever the ops."""
    ops = {}
    for row in part.dropped:
        ops.setdefault((row["variant"], row["why"]), []).append(row["op"])
    return [f"dropped: {variant} of {names[0]}{f' and {len(names) - 1} more' if names[1:] else ''}: {why}"
            for (variant, why), names in ops.items()]


class Report:
    def __init__(self, head, chosen, parts, rehearsal):
        """head: what the page says first, by key. chosen: names; parts: what is there so far, by name."""
        self.head, self.chosen, self.parts, self.rehearsal = head, chosen, parts, rehearsal

    def figures(self):
        return {key: value for part in self.parts.values() for key, value in part.figures.items()}

    def status(self, name):
        return self.parts[name].status if name in self.parts else "not run yet"

    # ---- the page ----

    def page(self):
        """What failed takes the lines that the tables leave."""
        begin, tables, end = self.opening(), self.tables(), self.statuses()
        left = LINES - len(begin) - len(tables) - len(end)
        return "\n".join(begin + self.failures(left) + tables + end) + "\n"

    def opening(self):
        h = self.head
        text = (f"Commit {h['commit']}, {h['device']}, {h['gpu'] or 'no GPU seen by nvidia-smi'}, "
                f"{h['library'] or 'libraries unknown'}. {h['seconds']:.0f} s of {h['limit_seconds']}")
        if h["built_for"]:
            text += f", {h['build_seconds']:.0f} of them to build for {h['built_for']}"
        text += ". Made by `tools/gpu_check`; commands and outputs: `gpu_runs.md`."
        lines = ["# GPU check", ""]
        if self.rehearsal:
            lines += wrap("**A rehearsal** with small sizes: its times are no figures.")
        return lines + wrap(text, most=3) + [""]

    def failures(self, left):
        """At most `left` lines: each run that did not end as it should, with what it said last."""
        rows = []
        for name in self.chosen:
            part = self.parts.get(name)
            if not part:
                continue
            bad = [run for run in part.runs if run["why"]]
            rows += [f"**{name}**, {run['title']}, {run['why']}: {run['words']}" for run in bad]
            if part.status == "failed" and not bad:
                rows.append(f"**{name}**: {part.reason}")
            rows += dropped(part)
        lines = ["## What failed", ""]
        room = left - len(lines) - 1
        for at, row in enumerate(rows):
            wrapped = wrap(row, "- ", most=2)
            if len(wrapped) > room - (at + 1 < len(rows)):
                lines.append(f"- {len(rows) - at} more: `gpu_runs.md`")
                break
            lines += wrapped
            room -= len(wrapped)
        if not rows:
            lines.append("Nothing.")
        return lines + [""]

    def tables(self):
        figures = self.figures()
        lines = ["## Figures", "", "| | measured | goal | met |", "|---|---|---|---|"]
        for goal in GOALS:
            met = None if self.rehearsal else is_met(figures.get(goal.key), goal.relation, goal.limit)
            limit = "" if goal.limit is None else f"{goal.relation} {shown(goal.limit)}"
            lines.append(f"| {goal.what} | {shown(figures.get(goal.key))} | {limit} | "
                         f"{'' if met is None else 'yes' if met else '**no**'} |")
        return lines + [""] + self.peers(figures)

    def peers(self, figures):
        """Rows that were measured; one line where none was."""
        lines = ["| times PyTorch's images/s (goal) | ours | " + " | ".join(row[2] for row in BESIDE) + " |",
                 "|---" * (len(BESIDE) + 2) + "|"]
        none = []
        for precision in PRECISIONS:
            for net, (batch, _) in PEERS.items():
                key = f"{net}_{precision}"
                if f"{key}_ours" not in figures:
                    none.append(f"{net} {precision}")
                    continue
                cells = []
                for suffix, _, _ in BESIDE:
                    value, limit = figures.get(key + suffix), PEER_GOALS.get(key + suffix)
                    cells.append(shown(value) + (f" (>= {limit})" if limit else ""))
                lines.append(f"| {net}, {precision}, batch {batch} | {shown(figures[f'{key}_ours'])} | "
                             + " | ".join(cells) + " |")
        if len(none) == len(PEERS) * len(PRECISIONS):
            lines = []
        return lines + (wrap(f"Not measured beside PyTorch: {', '.join(none)}.") if none else []) + [""]

    def statuses(self):
        lines = ["## Parts", ""]
        for status in ("passed", "failed", "SKIP", "no time", "not run yet"):
            names = [name for name in self.chosen if self.status(name) == status]
            if status in ("failed", "SKIP"):
                by_reason = {}
                for name in names:
                    by_reason.setdefault(self.parts[name].reason if status == "SKIP" else "", []).append(name)
            else:
                by_reason = {"": names} if names else {}
            for reason, group in by_reason.items():
                text = ", ".join(f"{name} {self.parts[name].seconds:.0f} s" if name in self.parts else name
                                 for name in group)
                lines += wrap(f"- {status}: {text}{': ' if reason else ''}{reason}", most=2)
        return lines

    # ---- the other files ----

    def runs(self):
        lines = ["# Runs of the GPU check"]
        for name in self.chosen:
            part = self.parts.get(name)
            if not part:
                continue
            lines += ["", f"## {name}", "", f"{part.status}{': ' if part.reason else ''}{part.reason}"]
            for run in part.runs:
                lines += ["", f"### {run['title']}", "", "```", "$ " + run["command"]]
                if run["output"]:
                    lines.append(run["output"])
                if run["figures"] is not None:
                    lines.append(summary(run["figures"]))
                ended = f"exit status {run['exit_status']}"
                lines += ["```", f"{run['why'] or ended}, {run['seconds']:.1f} s"]
            if part.dropped:
                lines += ["", "| op | variant dropped | why |", "|---|---|---|"]
                lines += [f"| {row['op']} | {row['variant']} | {row['why']} |" for row in part.dropped]
        return "\n".join(lines) + "\n"

    def document(self):
        figures = self.figures()
        goals = []
        for goal in [*GOALS, *peer_goals()]:
            value = figures.get(goal.key)
            goals.append({"name": goal.key, "goal": goal.what, "relation": goal.relation, "limit": goal.limit,
                          "measured": value,
                          "met": None if self.rehearsal else is_met(value, goal.relation, goal.limit)})
        shares = {row.name: row for row in PARTS}
        parts = {}
        for name in self.chosen:
            part = self.parts.get(name)
            parts[name] = {"status": self.status(name), "share_seconds": shares[name].seconds}
            if part:
                parts[name].update(reason=part.reason, seconds=round(part.seconds, 1), runs=part.runs,
                                   dropped=part.dropped)
        return {**self.head, "rehearsal": self.rehearsal, "goals": goals, "parts": parts}

    def publish(self, folder):
        """All replace what was there: a check that is interrupted leaves what it had."""
        replace(os.path.join(folder, "gpu.json"), json.dumps(self.document(), indent=1) + "\n")
        replace(os.path.join(folder, "gpu_runs.md"), self.runs())
        replace(os.path.join(folder, "gpu.md"), self.page())


def summary(figures):
    """The figures of a run, a line each; of a list of rows the first ones."""
    rows = []
    for key, value in figures.items():
        if isinstance(value, dict):
            rows += [f"{key + '.' + inner:34} {shown(value[inner])}" for inner in value
                     if not isinstance(value[inner], (dict, list))]
        elif isinstance(value, list):
            rows += ["  ".join(f"{inner} {shown(one)}" for inner, one in row.items())
                     for row in value[:MOST_ROWS] if isinstance(row, dict)]
        else:
            rows.append(f"{key:34} {shown(value)}")
    return "\n".join(rows)
