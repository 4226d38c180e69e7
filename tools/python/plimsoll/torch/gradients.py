"""Gradients in the layout in which autograd keeps them.

Autograd takes a gradient as `.grad` where its strides are those of the parameter and nothing else holds it. Any other
one it copies when the backward has returned, while all gradients are there (torch/csrc/autograd/functions/
accumulate_grad.h, Gradient Layout Contract). Here the copy is an op of the joint graph, right after the gradient: the plan
counts it, and the one that is not kept ends there.
"""

from __future__ import annotations

import typing

import torch
from torch import fx
from torch._functorch.partitioners import _is_tangent
from torch._prims_common import is_non_overlapping_and_dense_or_false as is_dense
from torch.utils import _pytree as pytree

from .joint import storage_of

aten = torch.ops.aten


def _is_kept(gradient: torch.Tensor, parameter: torch.Tensor) -> bool:
    """Its strides are those that autograd asks for."""
    if not is_dense(parameter):
        return gradient.is_contiguous()
    rows = zip(gradient.shape, gradient.stride(), parameter.stride())
    return all(ours == theirs if size != 1 else ours != 0 for size, ours, theirs in rows)


def _outermost_first(parameter: torch.Tensor) -> list[int]:
    """The order of dimensions in which a tensor with the strides of the parameter is contiguous."""
    if not is_dense(parameter):
        return list(range(parameter.dim()))
    stride, shape = parameter.stride(), parameter.shape
    return sorted(range(parameter.dim()), key=lambda d: (-stride[d], -shape[d], d))


def _copy(graph: fx.Graph, node: fx.Node, order: list[int]) -> fx.Node:
    """Nodes behind `node` that copy it, with the dimension order[0] outermost in memory."""
    back = [order.index(d) for d in range(len(order))]
    steps: list[tuple[typing.Any, typing.Any, typing.Any]]
    steps = [(aten.permute.default, (order,), {}), (aten.clone.default, (), {"memory_format": torch.contiguous_format}),
             (aten.permute.default, (back,), {})]  # fmt: skip
    if order == sorted(order):
        steps = steps[1:2]
    for target, arguments, keywords in steps:
        with graph.inserting_after(node):
            made = graph.call_function(target, (node, *arguments), keywords)
        made.meta["val"] = target(node.meta["val"], *arguments, **keywords)
        node = made
    return node


def keep_layouts(module: fx.GraphModule, n_forward_outputs: int):
    """Copy the gradients that autograd would copy. The graph's descriptors say of which primal each one is."""
    graph = module.graph
    output = next(node for node in graph.nodes if node.op == "output")
    results, about = pytree.arg_tree_leaves(*output.args), pytree.arg_tree_leaves(output.meta.get("desc", ()))
    primals = {repr(node.meta.get("desc")): node for node in graph.nodes if node.op == "placeholder"}
    given = {storage_of(n.meta["val"]) for n in primals.values() if isinstance(n.meta.get("val"), torch.Tensor)}
    seen = {node for node in results[:n_forward_outputs] if isinstance(node, fx.Node)}
    for place in range(n_forward_outputs, min(len(results), len(about))):
        node = results[place]
        parameter = primals.get(repr(getattr(about[place], "grad_of", None)))
        if not isinstance(node, fx.Node) or parameter is None or _is_tangent(parameter):
            continue
        value, like = node.meta["val"], parameter.meta["val"]
        if value.layout != torch.strided:
            continue
        shared = node in seen or storage_of(value) in given
        seen.add(node)
        if shared or not _is_kept(value, like):
            results[place] = _copy(graph, node, _outermost_first(like))
    output.args = (tuple(results),)
    module.recompile()
