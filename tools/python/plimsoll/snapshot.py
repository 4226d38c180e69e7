"""A memory snapshot of PyTorch beside the plan: what its allocator did, drawn below the map of `plimsoll trace export`.

    python -m plimsoll add-snapshot run.html snapshot.pickle

A snapshot is what torch.cuda.memory._dump_snapshot writes after _record_memory_history: pickled lists and dicts, with
the blocks of each segment and the latest events of each device. Nothing else is unpickled, and PyTorch is not needed.
"""

from __future__ import annotations

import collections
import json
import os
import pathlib
import pickle
import tempfile

from .planning import Error

MARK = "/*SNAPSHOT*/null"
MOST_EVENTS = 20_000  # the latest; the page draws each
ROLES = {  # of PyTorch's categories, where a snapshot has them
    "parameter": "param",
    "optimizer_state": "state",
    "input": "input",
    "activation": "activation",
    "gradient": "gradient",
    "temporary": "workspace",
    "autograd_detail": "workspace",
}


class _Plain(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"it holds a {module}.{name}, a snapshot has lists and numbers alone")


def _read(path) -> dict:
    """Error: it is no snapshot."""
    with open(path, "rb") as file:
        begin = file.read(1)
        file.seek(0)
        try:
            found = json.load(file) if begin == b"{" else _Plain(file).load()
        except Exception as failure:  # a broken pickle may raise anything
            raise Error(f"{path} is no memory snapshot: {failure}") from None
    if not isinstance(found, dict) or not isinstance(found.get("device_traces"), list) or "segments" not in found:
        raise Error(f"{path} is no memory snapshot: it has no device_traces and segments")
    return found


def _label(entry: dict) -> str:
    """The innermost line of Python that is not PyTorch's own, else the innermost of all."""
    frames = entry.get("frames") or []
    own = [f for f in frames if str(f.get("filename", "")).endswith(".py") and "/torch/" not in f"/{f['filename']}"]
    for frame in own or frames:
        return f"{frame.get('name', '')} ({os.path.basename(str(frame.get('filename', '')))}:{frame.get('line', 0)})"
    return "allocation"


def _blocks(snapshot: dict, device: int) -> dict[int, dict]:
    """Blocks in use when the snapshot was taken, by address. Those of a segment lie side by side."""
    found = {}
    for segment in snapshot["segments"]:
        if segment.get("device", 0) != device:
            continue
        next_address = segment["address"]
        for block in segment["blocks"]:
            address = block.get("address", next_address)
            next_address = address + block["size"]
            if block["state"] == "active_allocated":
                found[address] = block
    return found


class _Lives:
    """Allocations as rows [number, first event, first event without it, -1, bytes]."""

    def __init__(self):
        self.rows: list[list[int]] = []
        self.labels: list[str] = []
        self.roles: list[str] = []

    def add(self, entry: dict, begin: int, n_bytes: int) -> list[int]:
        row = [len(self.rows), begin, -1, -1, n_bytes]
        self.rows.append(row)
        self.labels.append(_label(entry))
        self.roles.append(ROLES.get(str(entry.get("category")), "unknown"))
        return row

    def most_bytes(self, events: int) -> int:
        change: collections.Counter[int] = collections.Counter()
        for _, begin, end, _, n_bytes in self.rows:
            change[begin] += n_bytes
            change[end] -= n_bytes
        now = most = 0
        for event in range(events):
            now += change[event]
            most = max(most, now)
        return most


def _end(event: dict) -> bool:
    return event.get("action") in ("free_completed", "free")


def read_snapshot(path: str | os.PathLike) -> dict:
    """What the page draws of a memory snapshot: {name, bytes, events, lives, labels, roles}.

    Of several devices the one with the most events counts. Of more than 20,000 events the latest are kept: what was
    allocated before is there from the first on. Error: it is no snapshot, or nothing is in it.
    """
    snapshot = _read(path)
    try:
        return _lives_of(snapshot, os.path.basename(os.fspath(path)))
    except (KeyError, TypeError, ValueError, AttributeError) as failure:
        raise Error(f"{path} is no memory snapshot: {type(failure).__name__}, {failure}") from None


def _lives_of(snapshot: dict, name: str) -> dict:
    traces = snapshot["device_traces"]
    device = max(range(len(traces)), key=lambda i: len(traces[i]), default=0)
    events = [e for e in (traces[device] if traces else []) if e.get("action") == "alloc" or _end(e)][-MOST_EVENTS:]
    lives, now = _Lives(), {}
    for place, event in enumerate(events):
        address, n_bytes = event["addr"], int(event["size"])
        if not _end(event):
            now[address] = lives.add(event, place, n_bytes)
        else:
            row = now.pop(address, None) or lives.add(event, 0, n_bytes)
            row[2] = place
    for address, block in _blocks(snapshot, device).items():
        if address not in now:
            lives.add(block, 0, int(block.get("requested_size", block["size"])))
    n_events = max(1, len(events))
    for row in lives.rows:
        row[2] = n_events if row[2] < 0 else max(row[2], row[1] + 1)
    if not lives.rows:
        raise ValueError("no allocation is in it")
    return {
        "name": f"memory snapshot {name}",
        "bytes": lives.most_bytes(n_events),
        "events": n_events,
        "lives": lives.rows,
        "labels": lives.labels,
        "roles": lives.roles,
    }


def add_snapshot(page: str | os.PathLike, snapshot: str | os.PathLike):
    """Draws a memory snapshot below the map of a page that `plimsoll trace export FILE -o PAGE.html` wrote. The page is
    replaced whole. Error: the page is no such page, or has a snapshot already, or the snapshot is none."""
    found = read_snapshot(snapshot)
    text = pathlib.Path(page).read_text(encoding="utf-8")
    if text.count(MARK) != 1:
        raise Error(f"{page} is no page of 'plimsoll trace export', or has a snapshot already")
    data = json.dumps(found).replace("/", "\\/")  # no text ends the script
    folder = os.path.dirname(os.path.abspath(page))
    with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as file:
        file.write(text.replace(MARK, data))
    os.chmod(file.name, os.stat(page).st_mode & 0o777)
    os.replace(file.name, page)
    return found
