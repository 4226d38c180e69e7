"""Plimsoll plans what a training step keeps and what it recomputes, so that it fits into a number of bytes.

Graph, Plan      a step of one's own, planned
plimsoll.torch   the same for PyTorch models: plimsoll.torch.compile(model, budget="8GiB")
"""

from .planning import DoesNotFit, Error, Graph, Plan, format_bytes, parse_bytes

__all__ = ["DoesNotFit", "Error", "Graph", "Plan", "format_bytes", "parse_bytes"]
__version__ = "0.1.0"
