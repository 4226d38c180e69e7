"""Plimsoll plans what a training step keeps and what it recomputes, so that it fits into a number of bytes.

Graph, Plan      a step of one's own, planned
add_snapshot     a memory snapshot of PyTorch in the page that `plimsoll trace export` writes
plimsoll.torch   the same for PyTorch models: plimsoll.torch.compile(model, budget="8GiB")
"""

from .planning import DoesNotFit, Error, Graph, Plan, format_bytes, parse_bytes
from .snapshot import add_snapshot, read_snapshot

__all__ = ["DoesNotFit", "Error", "Graph", "Plan", "add_snapshot", "format_bytes", "parse_bytes", "read_snapshot"]
__version__ = "0.1.0"
