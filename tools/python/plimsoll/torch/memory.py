"""Bytes that a piece of a program allocates, by PyTorch's own counts."""

from __future__ import annotations

import torch


def peak_bytes(run, device: str = "cpu"):
    """(most bytes that run() had allocated at a time beyond what was there before, its result)."""
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        result = run()
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - before, result
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, profile_memory=True) as profile:
        result = run()
    events = [e for e in profile.profiler.kineto_results.events() if e.name() == "[memory]"]
    events.sort(key=lambda event: event.start_ns())
    now = most = 0
    for event in events:
        now += event.nbytes()
        most = max(most, now)
    return most, result


def resident_bytes(*groups) -> int:
    """Bytes of the storages of tensors, each storage once."""
    found = {t.untyped_storage()._cdata: t.untyped_storage().nbytes() for group in groups for t in group}
    return sum(found.values())
