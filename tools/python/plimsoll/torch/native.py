"""Ops that a step leaves to PyTorch's own kernels.

Of a fused step these are batch norms of a training step on a CPU. Inductor writes three loops for one, and chooses the
layout of what they write by its own rules: where that is not the layout of the convolution that reads it, PyTorch copies
it there. PyTorch's own norm keeps the layout (times in docs/results/pytorch.md). On a GPU, in other types than float32,
and where a norm takes running statistics for constants, Inductor fuses it with its neighbours.

Of a step whose ops run one by one they are the ops that PyTorch, while it traces a graph, takes apart in Python although
it has kernels for them and their backwards: interpolations and a few others. The pieces have other bits than an eager
step, and take more bytes. Dropout is taken apart, too: in types of two bytes as eager mode does, in others to a mask of
fewer bytes, with the same bits.
"""

from __future__ import annotations

import contextlib
import functools
import threading

import torch

aten = torch.ops.aten
BATCH_NORM = aten._native_batch_norm_legit_functional.default
REPEATED = aten._native_batch_norm_legit.no_stats
BACKWARD = aten.native_batch_norm_backward.default
OPS = (BATCH_NORM, REPEATED, BACKWARD)
_TRAINING = {BATCH_NORM: 5, REPEATED: 3, BACKWARD: 7}  # the place of the argument
_IMAGES = {BATCH_NORM: 0, REPEATED: 0, BACKWARD: 1}


def _is_native(op, arguments) -> bool:
    images = arguments[_IMAGES[op]]
    return bool(arguments[_TRAINING[op]]) and images.device.type == "cpu" and images.dtype == torch.float32


def _unless_native(op, decompose):
    def run(*arguments, **keywords):
        return NotImplemented if _is_native(op, arguments) else decompose(*arguments, **keywords)

    return run


def decompositions() -> dict:
    """Inductor's, in whose place they stand while a step is compiled: native ops stay what they are."""
    from torch._inductor import decomposition

    table = dict(decomposition.select_decomp_table())
    table.update({op: _unless_native(op, table[op]) for op in OPS if op in table})
    return table


def _in_one_layout(_node, gradient, images, *rest, **keywords):
    """PyTorch's kernel of the backward is fast where both have one layout."""
    from torch._inductor import ir

    images = ir.ExternKernel.realize_input(images)
    if ir.is_storage_and_layout(images):
        ir.as_storage_and_layout(images, freeze=True)  # until then it may still get another one
    gradient = ir.ExternKernel.require_stride_order(gradient, ir.get_stride_order(images.get_stride()))
    return (gradient, images, *rest), keywords


def let_inductor_call():
    """Inductor knows how to call the ops from now on; other steps, whose norms are decomposed, never ask for that."""
    from torch._inductor import lowering

    for op in OPS:
        if op not in lowering.lowerings:
            same = _in_one_layout if op is BACKWARD else None
            lowering.make_fallback(op, layout_constraint=same, warn=False, override_decomp=True)


_TAKEN_APART = ("hardshrink", "softshrink", "multi_margin_loss", "multilabel_margin_loss_forward", "upsample_", "_upsample_")
_KEYS = (torch._C.DispatchKey.Autograd, torch._C.DispatchKey.CompositeImplicitAutograd)


@functools.cache
def _overloads() -> list:
    names = (name.removeprefix("aten::").partition(".") for name in torch._C._dispatch_get_all_op_names())
    found = [getattr(getattr(aten, packet), over or "default") for packet, _, over in names if packet.startswith(_TAKEN_APART)]
    return [*found, aten.dropout.default]


def _as_eager(mask):
    """Dropout as eager mode draws it, where a mask of fewer bytes has other bits."""

    def run(x, share, training):
        if x.dtype in (torch.float32, torch.float64):
            return mask(x, share, training)
        return aten.dropout.default._op_dk(torch._C.DispatchKey.CompositeImplicitAutograd, x, share, training)

    return run


_LOCK = threading.Lock()
_inside = 0  # contexts that are open, in any thread
_removed: list[tuple] = []


def _take_out():
    for op in _overloads():
        for key in _KEYS:
            if key in op.py_kernels:
                kernel = op.py_kernels[key]
                _removed.append((op, key, kernel))
                if op is aten.dropout.default:
                    op.py_kernels[key] = _as_eager(kernel)
                else:
                    del op.py_kernels[key]
        op._dispatch_cache.clear()


def _put_back():
    for op, key, kernel in _removed:
        op.py_kernels[key] = kernel
        op._dispatch_cache.clear()
    _removed.clear()


@contextlib.contextmanager
def kept_whole():
    """Ops that PyTorch has kernels for are not taken apart meanwhile, in any thread."""
    global _inside
    with _LOCK:
        _inside += 1
    try:
        with _LOCK:
            if not _removed:
                _take_out()
        yield
    finally:
        with _LOCK:
            _inside -= 1
            if _inside == 0:
                _put_back()
