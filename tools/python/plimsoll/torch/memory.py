"""Bytes that a piece of a program allocates, by PyTorch's own counts."""

from __future__ import annotations

import time

import torch
from torch import fx

_MARK = "plimsoll step "


def _profile(run):
    """(events that allocate or release, all events, result of run())."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, profile_memory=True, acc_events=True) as profile:
        result = run()
    events = profile.profiler.kineto_results.events()
    memory = sorted((e for e in events if e.name() == "[memory]"), key=lambda event: event.start_ns())
    return memory, events, result


GRAIN = {"cuda": 512}  # bytes: the allocator of a GPU rounds up to them


def rounded(n_bytes: int, device: torch.device) -> int:
    """Bytes that a storage takes, as its device's allocator counts them."""
    grain = GRAIN.get(device.type, 1)
    return -(-n_bytes // grain) * grain


def peak_bytes(run, device: str | torch.device = "cpu"):
    """(most bytes that run() had allocated at a time beyond what was there before, its result)."""
    device = torch.device(device)
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        result = run()
        torch.cuda.synchronize(device)
        return torch.cuda.max_memory_allocated(device) - before, result
    memory, _, result = _profile(run)
    now = most = 0
    for event in memory:
        now += event.nbytes()
        most = max(most, now)
    return most, result


def resident_bytes(*groups) -> int:
    """Bytes of the storages of tensors, each storage once."""
    found = {
        t.untyped_storage()._cdata: rounded(t.untyped_storage().nbytes(), t.device) for group in groups for t in group
    }
    return sum(found.values())


class Metered(fx.Interpreter):
    """Runs a graph node by node. Nodes with a step of the plan leave a mark in the profiler's events."""

    def __init__(self, module: fx.GraphModule, device: torch.device, rows: dict):
        super().__init__(module)
        self.device, self.rows = device, rows

    def run_node(self, node: fx.Node):
        step = node.meta.get("plimsoll_step")
        if step is None:
            return super().run_node(node)
        if self.device.type == "cuda":
            begin = time.perf_counter_ns()
            peak, result = peak_bytes(lambda: fx.Interpreter.run_node(self, node), self.device)
            self.rows[step] = (time.perf_counter_ns() - begin, max(0, peak), _result_bytes(result))
            return result
        with torch.profiler.record_function(f"{_MARK}{step}"):
            return super().run_node(node)


def _result_bytes(result) -> int:
    from .joint import tensors

    return resident_bytes(tensors(result))


def step_figures(run) -> dict[int, tuple[int, int, int]]:
    """By step of a metered run: nanoseconds, most bytes during the step beyond those before it, bytes that it leaves."""
    memory, events, _ = _profile(run)
    marks = sorted((e.start_ns(), e.end_ns(), int(e.name()[len(_MARK) :])) for e in events if e.name().startswith(_MARK))
    rows: dict[int, tuple[int, int, int]] = {}
    place = 0
    for begin, end, step in marks:
        while place < len(memory) and memory[place].start_ns() < begin:
            place += 1
        now = most = 0
        while place < len(memory) and memory[place].start_ns() <= end:
            now += memory[place].nbytes()
            most = max(most, now)
            place += 1
        rows[step] = (end - begin, most, now)
    return rows
