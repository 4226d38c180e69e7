"""How a model's step comes as a joint graph: compiled by Dynamo and AOTAutograd, as the step that runs is."""

from __future__ import annotations

import contextlib
import types

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.backends.debugging import boxed_nop
from torch._guards import detect_fake_mode
from torch.utils import _pytree as pytree

from ..planning import Error
from .fusion import inlined
from .gradients import keep_layouts
from .joint import Joint, Unsupported
from .refusals import device_of, forward_failure, quiet

BACKENDS = ("eager", "inductor")
_WRAPPERS = ("DistributedDataParallel", "FullyShardedDataParallel", "FSDPModule", "DataParallel")


def check_model(model):
    """TypeError: it is no module. Unsupported: a wrapper that changes the step, or nothing to train."""
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"the model must be a torch.nn.Module, not {type(model).__name__}")
    for name, module in model.named_modules():
        for kind in type(module).__mro__:
            if kind.__name__ in _WRAPPERS and kind.__module__.startswith("torch."):
                where = f"'{name}'" if name else "the model"
                raise Unsupported(
                    f"{where} is a {kind.__name__}, whose collectives run inside the step; plan the module inside it"
                )
    if not any(parameter.requires_grad for parameter in model.parameters()):
        count = sum(1 for _ in model.parameters())
        raise Unsupported(
            f"none of the model's {count} parameters requires a gradient, so there is no training step to plan; set "
            "requires_grad_(True) on those that train"
        )
    device_of(model)


def _loss_of(output):
    """A loss alone; of a result with a field `loss` that field, so that the rest need not be kept."""
    return output if isinstance(output, torch.Tensor) else getattr(output, "loss", output)


def check_loss(loss):
    if isinstance(loss, torch.Tensor) and loss.numel() == 1:
        if not loss.requires_grad:
            raise Error(
                "the loss that the model returned needs no gradient: none of its parameters takes part in it; compute it from "
                "them, outside torch.no_grad() and without detach()"
            )
        return
    what = f"a tensor of shape {tuple(loss.shape)}" if isinstance(loss, torch.Tensor) else f"a {type(loss).__name__}"
    raise Error(
        f"the model's forward must return the loss, one number, or a result with a field `loss`; it returned {what}; wrap the "
        "model and its loss in a module"
    )


def fresh_call(model: torch.nn.Module):
    """The model's call as a function with code of its own: what Dynamo keeps for it is not counted with other calls'."""

    def call(*batch, **named):
        return _loss_of(model(*batch, **named))

    code = call.__code__.replace(co_name="call")
    return types.FunctionType(code, call.__globals__, "call", None, call.__closure__)


def inner_error(failure: BaseException) -> BaseException:
    """What a backend raised, without the words of the compiler around it."""
    inner = getattr(failure, "inner_exception", None)
    return inner if isinstance(inner, (Error, ValueError)) else failure


def joint_of(module, n_forward_outputs: int, backend: str) -> Joint:
    """The joint graph as it is planned: without dead code, its gradients as autograd keeps them."""
    module.graph.eliminate_dead_code()
    keep_layouts(module, n_forward_outputs)
    return Joint(module, n_forward_outputs, inlined if backend == "inductor" else None)


class _Traced(Exception):
    """Carries the joint graph out of the compiler before anything runs."""

    def __init__(self, joint: Joint):
        super().__init__("traced")
        self.joint = joint


def trace(model: torch.nn.Module, batch: tuple, backend: str = "eager") -> Joint:
    """The joint graph of the step model(*batch), whose result is the loss. Nothing is computed.

    Where the compiler would break the graph, Unsupported says why: a plan without a run is for one graph.
    """
    check_model(model)

    def stop(module, joint_inputs, *, num_fwd_outputs, **_):
        raise _Traced(joint_of(module, num_fwd_outputs, backend))

    leaves = [*model.parameters(), *model.buffers(), *pytree.tree_leaves(batch)]
    mode = detect_fake_mode(leaves) or contextlib.nullcontext()
    buffers = [(b, b._version) for b in model.buffers()]
    try:
        with quiet(), mode, settings(backend, stop):
            loss = compiled(fresh_call(model), backend, stop, whole=True)(*batch)
        check_loss(loss)
        raise Unsupported("the step has no graph with a backward that could be planned")
    except torch._dynamo.exc.BackendCompilerFailed as failure:
        if isinstance(failure.inner_exception, _Traced):
            assert all(b._version == version for b, version in buffers)
            return failure.inner_exception.joint
        raise inner_error(failure).with_traceback(None) from None
    except torch._dynamo.exc.TorchDynamoException as failure:
        raise forward_failure(model, batch, {}) or Unsupported(f"the step is not one graph: {first_line(failure)}") from None


def first_line(failure) -> str:
    return str(failure).strip().splitlines()[0].strip()


def compiled(call, backend: str, partition, whole: bool, compiler=boxed_nop):
    """The call, to be compiled at its first run, under settings(); whole: graph breaks are errors.

    compiler  of graphs of the backend "eager"
    """
    if backend == "inductor":
        return torch.compile(call, dynamic=False, fullgraph=whole)
    ops = aot_autograd(fw_compiler=compiler, bw_compiler=compiler, partition_fn=partition)
    return torch.compile(call, backend=ops, dynamic=False, fullgraph=whole)


def settings(backend: str, partition, key: str | None = None):
    """The context in which what compiled() returned runs for the first time. key: names the plan in caches."""
    if backend != "inductor":
        return contextlib.nullcontext()
    from . import inductor

    return inductor.settings(partition, key)
