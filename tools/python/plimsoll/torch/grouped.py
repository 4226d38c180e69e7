"""The backward of a convolution in many groups, for a few of the groups at a time.

Where images lie in the layout channels last, oneDNN pads the filter of each group to 16 x 16 channels: a depthwise filter
takes 256 times its bytes for a while. Groups have nothing in common, so that parts of them give the same gradients, and the
next part takes the place of the last one. Parts that fit into a cache can be faster, too (docs/results/pytorch.md).
"""

from __future__ import annotations

import typing

import torch
from torch import fx

aten = torch.ops.aten
WHOLE = aten.convolution_backward.default
PAD = 16  # channels of a block of oneDNN: parts of less are padded to it
LAST = torch.channels_last

_library = torch.library.Library("plimsoll", "DEF")
_library.define(
    "grouped_backward(Tensor gradient, Tensor images, Tensor filters, int[] stride, int[] padding, int[] dilation, "
    "int groups, bool biased, int at_once) -> (Tensor, Tensor, Tensor)",
    tags=(torch.Tag.flexible_layout,),
)
IN_PARTS = torch.ops.plimsoll.grouped_backward.default


def _results(gradient, images, filters, biased: bool):
    """Gradients of images, filters and bias, to be filled in."""
    return torch.empty_like(images), torch.empty_like(filters), gradient.new_empty(gradient.shape[1] if biased else 0)


def _whole(gradient, images, filters, rest, groups, biased):
    *found, bias = WHOLE(gradient, images, filters, [filters.shape[0]], *rest, groups, [True, True, biased])
    for place, like in enumerate((images, filters)):
        if found[place].stride() != torch.empty_like(like, device="meta").stride():
            found[place] = torch.empty_like(like).copy_(found[place])
    return *found, bias if biased else gradient.new_empty(0)


def _run(gradient, images, filters, stride, padding, dilation, groups, biased, at_once):
    """at_once: groups of a part. Images in another layout are not divided: there no filter is padded."""
    rest = stride, padding, dilation, False, [0, 0]
    if not images.is_contiguous(memory_format=LAST):
        return _whole(gradient, images, filters, rest, groups, biased)
    found = _results(gradient, images, filters, biased)
    inputs, outputs = images.shape[1] // groups, filters.shape[0] // groups
    for first in range(0, groups, at_once):
        n = min(at_once, groups - first)
        read, written = slice(first * inputs, (first + n) * inputs), slice(first * outputs, (first + n) * outputs)
        of_gradient = gradient[:, written].contiguous(memory_format=LAST)
        of_images = images[:, read].contiguous(memory_format=LAST)
        part = WHOLE(of_gradient, of_images, filters[written], None, *rest, n, [True, True, False])
        found[0][:, read], found[1][written] = part[:2]
    if biased:
        torch.sum(gradient, (0, 2, 3), out=found[2])
    return found


_library.impl("grouped_backward", _run, "CPU")
torch.library.register_fake(
    "plimsoll::grouped_backward", lambda g, x, w, s, p, d, n, biased, at_once: _results(g, x, w, biased), lib=_library
)


def can_be_divided(node: fx.Node) -> bool:
    """A backward of images on a CPU in so many groups that parts have whole blocks."""
    if node.target is not WHOLE:
        return False
    values: typing.Any = node.args
    images, transposed, groups, wanted = values[1].meta["val"], values[7], values[9], values[10]
    return images.dim() == 4 and images.device.type == "cpu" and not transposed and groups >= 2 * PAD and all(wanted[:2])


def parts(groups: int) -> list[int]:
    """Groups at once that are worth a look, the most first."""
    found, n = [], groups
    while n > PAD:
        n = -(-n // (2 * PAD)) * PAD
        found.append(n)
    return found


def arguments(values, at_once: int) -> tuple:
    """Of IN_PARTS, for those of WHOLE."""
    gradient, images, filters, _, stride, padding, dilation, _, _, groups, wanted = values
    return gradient, images, filters, stride, padding, dilation, groups, bool(wanted[2]), at_once
