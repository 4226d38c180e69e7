"""What a step cannot be used with, said in one sentence with numbers and a remedy."""

from __future__ import annotations

import contextlib
import logging

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree

from ..planning import Error
from .joint import Unsupported

_FAKE = "torch._subclasses.fake_tensor"  # exceptions of this module say what fake tensors cannot do


def _tensors(batch) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(batch) if isinstance(leaf, torch.Tensor)]


def describe(batch) -> str:
    """"float32 (256, 64), int64 (256,)"."""
    words = []
    for leaf in pytree.tree_leaves(batch):
        if isinstance(leaf, torch.Tensor):
            words.append(f"{str(leaf.dtype).removeprefix('torch.')} {tuple(leaf.shape)}")
        else:
            words.append(type(leaf).__name__)
    return ", ".join(words) or "nothing"


def device_of(model: torch.nn.Module) -> torch.device:
    """The device of parameters and buffers. Error: there are several."""
    found = {tensor.device: name for name, tensor in [*model.named_buffers(), *model.named_parameters()]}
    if len(found) > 1:
        where = ", ".join(f"'{name}' on {device}" for device, name in found.items())
        raise Error(
            f"the model lies on {len(found)} devices ({where}), a step is planned for one: move it with model.to(...)"
        )
    return next(iter(found), torch.device("cpu"))


def check_model_has_numbers(model: torch.nn.Module):
    """A step runs; a model on the device meta can only be planned."""
    if device_of(model).type == "meta":
        raise Error(
            "the model lies on the device meta, where tensors have no numbers: plimsoll.torch.plan() plans its step; to run "
            "it, fill it with model.to_empty(device='cpu') and load weights"
        )


def check_search(time_limit, effort):
    """Options of a search."""
    if time_limit is not None and (type(time_limit) not in (int, float) or not 0 < time_limit < 1e9):
        raise ValueError(f"time_limit is a number of seconds above 0, or None, not {time_limit!r}")
    if type(effort) is not int or not 0 <= effort < 2**63:
        raise ValueError(f"effort is a whole number of moves, or 0, not {effort!r}")


def check_leaves(leaves):
    """What a batch holds beside tensors tells calls apart, so it must have a hash."""
    for leaf in leaves:
        try:
            hash(leaf)
        except TypeError:
            kind = type(leaf).__name__
            remedy = "make it a tensor: torch.from_numpy(...)" if kind == "ndarray" else "give tensors, numbers and texts"
            raise Error(f"the batch holds a {kind}, by which calls cannot be told apart; {remedy}") from None


def check_dense(which: str, tensor: torch.Tensor):
    """A plan counts the bytes of storages, which other layouts do not have."""
    if tensor.is_nested or tensor.layout != torch.strided:
        layout = "nested" if tensor.is_nested else str(tensor.layout).removeprefix("torch.")
        raise Unsupported(f"{which} has the layout {layout}; a plan is for dense tensors: give it as one, with .to_dense()")


def check_batch_is_dense(batch, named):
    found = _tensors((batch, named))
    for place, tensor in enumerate(found):
        check_dense(f"tensor {place + 1} of {len(found)} of the batch", tensor)


def check_call(model: torch.nn.Module, batch, named):
    """Refuses a call that could not train, with a batch that check_batch_is_dense has let pass."""
    found = _tensors((batch, named))
    if not found:
        raise Error("the batch has no tensor: call the step with what the model's forward takes, as step(x, y)")
    device = device_of(model)
    for place, tensor in enumerate(found):
        which = f"tensor {place + 1} of {len(found)} of the batch"
        if tensor.numel() == 0:
            raise Error(
                f"{which} has the shape {tuple(tensor.shape)} and no elements: a step needs at least one row; leave it out "
                "where there is no data"
            )
        if tensor.device != device and (tensor.dim() or tensor.device.type != "cpu"):
            raise Error(f"{which} lies on {tensor.device}, the model on {device}: move it with .to('{device}')")


def check_gradients_are_on():
    if not torch.is_grad_enabled():
        raise Error("the step computes gradients, and is called where torch.no_grad() turns them off: call it outside")


@contextlib.contextmanager
def quiet():
    """PyTorch logs what fake tensors refuse, with all callers."""
    log = logging.getLogger(_FAKE)
    was, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = was


def forward_failure(model: torch.nn.Module, batch, named) -> Error | None:
    """The sentence where the model's forward fails with tensors of these shapes and types; nothing is computed."""
    if any(isinstance(tensor, torch._subclasses.FakeTensor) for tensor in _tensors((batch, named))):
        mode = next(t.fake_mode for t in _tensors((batch, named)) if isinstance(t, torch._subclasses.FakeTensor))
    else:
        mode = FakeTensorMode(allow_non_fake_inputs=True)
    try:
        with quiet(), mode, torch.random.fork_rng(devices=[]):
            fake = pytree.tree_map_only(torch.Tensor, mode.from_tensor, (batch, named))
            model(*fake[0], **fake[1])
    except (TypeError, ValueError, RuntimeError, IndexError, AttributeError, KeyError) as failure:
        if type(failure).__module__ == _FAKE:
            return None
        return failed(batch, named, failure)
    return None


def failed(batch, named, failure: Exception) -> Error:
    """The sentence of an exception that a forward raised."""
    why = " ".join(str(failure).split("\n")[0].split()).rstrip(".")
    remedy = "call the step with the shapes and types that the forward takes"
    if "index out of range" in why:
        remedy = "a number in the batch is no index of what the model looks up with it: compare it with the model's sizes"
    if len(batch) == 1 and isinstance(batch[0], (tuple, list)):
        remedy = f"the batch came as one {type(batch[0]).__name__} of {len(batch[0])}: call step(*batch) to give each by itself"
    return Error(f"the model's forward fails with a batch of {describe((batch, named))}: {why}; {remedy}")
