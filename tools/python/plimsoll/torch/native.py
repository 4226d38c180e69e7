"""Ops that a step leaves to PyTorch's own kernels.

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
