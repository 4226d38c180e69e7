"""Masks that the forward of a fused step makes and its backward reads, too, as bytes in place of bools.

On a CPU Inductor writes and reads bools one by one, numbers of one byte by whole vectors: some 100 and 30 times faster
(docs/results/pytorch.md). The bytes are as many, and the values 0 and 1.
"""

from __future__ import annotations

import typing

import torch
from torch import fx

if typing.TYPE_CHECKING:
    from .fusion import Finder

AS = torch.ops.prims.convert_element_type.default


def find(finder: Finder, nodes: typing.Iterable[fx.Node], is_fusible) -> set[fx.Node]:
    """Those of `nodes` that are such masks, where kernels of the compiler write them and read all of them. finder: fusion.py's.
    is_fusible: (node) -> whether such a kernel computes it."""
    found = set()
    for node in nodes:
        value = node.meta.get("val")
        is_mask = isinstance(value, torch.Tensor) and value.dtype == torch.bool and value.device.type == "cpu"
        if not is_mask or node in finder.joint.is_backward or not is_fusible(node):
            continue
        readers = finder.readers(node)
        if any(user in finder.behind for user in readers) and all(map(is_fusible, readers)):
            found.add(node)
    return found


def _converted(graph: fx.Graph, node: fx.Node, dtype: torch.dtype) -> fx.Node:
    made = graph.call_function(AS, (node, dtype))
    with node.meta["val"].fake_mode:
        made.meta["val"] = node.meta["val"].to(dtype)
    return made


def as_bytes(graph: fx.Graph, mask: fx.Node) -> fx.Node:
    """The bytes of a mask, made right after it. By way of floats, which the compiler converts by vectors, too."""
    with graph.inserting_after(mask):
        floats = _converted(graph, mask, torch.float32)
    with graph.inserting_after(floats):
        return _converted(graph, floats, torch.uint8)


def as_mask(graph: fx.Graph, stored: fx.Node) -> list[fx.Node]:
    """The nodes that make the mask of its bytes again; it is the last of them."""
    floats = _converted(graph, stored, torch.float32)
    mask = graph.call_function(torch.ops.aten.ne.Scalar, (floats, 0))
    with floats.meta["val"].fake_mode:
        mask.meta["val"] = floats.meta["val"].ne(0)
    return [floats, mask]
