"""How a model's step comes as a joint graph: compiled by Dynamo and AOTAutograd, as the step that runs is."""

from __future__ import annotations

import contextlib
import logging
import types
import typing

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.backends.debugging import boxed_nop
from torch._functorch.partitioners import _is_tangent
from torch._guards import detect_fake_mode
from torch import fx
from torch.utils import _pytree as pytree

from ..planning import Error
from . import native, versions
from .fusion import inlined
from .gradients import keep_layouts
from .joint import Joint, Unsupported
from .refusals import check_dense, device_of, forward_failure, quiet

BACKENDS = ("eager", "inductor")
_WRAPPERS = ("DistributedDataParallel", "FullyShardedDataParallel", "FSDPModule", "DataParallel")


def check_backend(backend):
    if backend not in BACKENDS:
        raise ValueError(f"backend {backend!r} is none; there are {' and '.join(map(repr, BACKENDS))}")
    if backend == "inductor" and not versions.is_at_least(2, 15):
        raise Unsupported(
            f"backend='inductor' needs PyTorch 2.15 or newer, this is {torch.__version__}; backend='eager' runs with it"
        )


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
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        if not torch.nn.parameter.is_lazy(tensor):
            check_dense(f"'{name}'", tensor)
    for name, parameter in model.named_parameters():
        if torch.nn.parameter.is_lazy(parameter):
            raise Error(
                f"'{name}' has no shape before the model's first forward, which gives it one: call model(*batch) once, "
                "outside the step"
            )
    if not any(parameter.requires_grad for parameter in model.parameters()):
        count = sum(1 for _ in model.parameters())
        if count == 0:
            raise Unsupported(
                "the model has no parameters, so there is no training step to plan; register what trains as "
                "torch.nn.Parameter or in modules"
            )
        raise Unsupported(
            f"none of the model's {count} parameters requires a gradient, so there is no training step to plan; set "
            "requires_grad_(True) on those that train"
        )
    device_of(model)


def _loss_of(output):
    """A loss alone; of a result with a field `loss` that field, so that the rest need not be kept."""
    return output if isinstance(output, torch.Tensor) else getattr(output, "loss", output)


def check_loss(loss):
    if isinstance(loss, torch.Tensor) and loss.numel() == 1 and loss.is_floating_point():
        if not loss.requires_grad:
            raise Error(
                "the loss that the model returned needs no gradient: none of its parameters takes part in it; compute it from "
                "them, outside torch.no_grad() and without detach()"
            )
        return
    what = f"a {type(loss).__name__}"
    if isinstance(loss, torch.Tensor):
        what = f"a tensor of shape {tuple(loss.shape)} and type {str(loss.dtype).removeprefix('torch.')}"
    raise _no_loss(what)


def _no_loss(what: str) -> Error:
    return Error(
        f"the model's forward must return the loss, one number, or a result with a field `loss`; it returned {what}; wrap the "
        "model and its loss in a module"
    )


def _check_outputs(module: fx.GraphModule, n_forward_outputs: int):
    """As check_loss, of a joint graph: what the forward returns beside new values of primals. Without a tangent it may be one
    that the compiler returns to set an attribute, as a counter of batches, where there is one with a tangent."""
    output = next(node for node in module.graph.nodes if node.op == "output")
    rows = zip(pytree.arg_tree_leaves(*output.args)[:n_forward_outputs], output.meta.get("desc", ()))
    returned = [node for node, about in rows if type(about).__name__ == "PlainAOTOutput"]
    values: list[typing.Any] = [node.meta.get("val") for node in returned if isinstance(node, fx.Node)]
    tangents = [node for node in module.graph.nodes if node.op == "placeholder" and _is_tangent(node)]
    if len(values) > 1 and len(tangents) == 1:
        values = [tangents[0].meta.get("val")]  # of the shape and type of the loss
    if len(values) > 1:
        raise _no_loss(f"{len(values)} tensors")
    if values and not (values[0].numel() == 1 and values[0].is_floating_point()):
        check_loss(values[0])


def fresh_call(model: torch.nn.Module):
    """The model's call as a function with code of its own: what Dynamo keeps for it is not counted with other calls'."""

    def call(*batch, **named):
        return _loss_of(model(*batch, **named))

    code = call.__code__.replace(co_name="call")
    return types.FunctionType(code, call.__globals__, "call", None, call.__closure__)


def inner_error(failure: BaseException) -> BaseException:
    """What a backend raised, without the words of the compiler around it."""
    inner = getattr(failure, "inner_exception", None)
    return inner if isinstance(inner, (Error, ValueError, Changed)) else failure


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
    check_backend(backend)

    def stop(module, joint_inputs, *, num_fwd_outputs, **_):
        _check_outputs(module, num_fwd_outputs)
        raise _Traced(joint_of(module, num_fwd_outputs, backend))

    leaves = [*model.parameters(), *model.buffers(), *pytree.tree_leaves(batch)]
    mode = detect_fake_mode(leaves) or contextlib.nullcontext()
    buffers = [(b, b._version) for b in model.buffers()]
    try:
        with quiet(), mode, settings(backend, stop), messages_given():
            loss = compiled(fresh_call(model), backend, stop, whole=True)(*batch)
        check_loss(loss)
        raise Unsupported("the step has no graph with a backward that could be planned")
    except torch._dynamo.exc.BackendCompilerFailed as failure:
        if isinstance(failure.inner_exception, _Traced):
            assert all(b._version == version for b, version in buffers)
            return failure.inner_exception.joint
        raise inner_error(failure).with_traceback(None) from None
    except torch._dynamo.exc.TorchDynamoException as failure:
        raise forward_failure(model, batch, {}) or Unsupported(
            f"the step is not one graph ({first_line(failure)}); plan() and sweep() are for one graph, and compile() plans "
            "the graphs of such a step together; where only a first forward sets something up, call model(*batch) once before"
        ) from None


def first_line(failure) -> str:
    return str(failure).strip().splitlines()[0].strip()


class Changed(Exception):
    """The compiler takes a step that is planned for another one, since something that its forward reads has changed."""


def change() -> str:
    """Why the compiler compiles again, in its words."""
    with contextlib.suppress(AttributeError):  # private to PyTorch
        reason = torch._dynamo.utils.get_metrics_context()._metrics.get("recompile_reason")
        if reason:
            return "the compiler says " + " ".join(str(reason).split("  #")[0].split())
    return "the compiler does not say why"


def compiled(call, backend: str, partition, whole: bool, compiler=boxed_nop, check=lambda: None):
    """The call, to be compiled at its first run, under settings(); whole: graph breaks are errors.

    compiler  of graphs of the backend "eager"
    check     is called before a graph is compiled, and may raise an exception
    """
    compile_graph: typing.Any
    if backend == "inductor":
        from torch._inductor.compile_fx import compile_fx

        compile_graph = compile_fx
    else:
        compile_graph = aot_autograd(fw_compiler=compiler, bw_compiler=compiler, partition_fn=partition)

    def checked(module, inputs, **options):
        check()
        return compile_graph(module, inputs, **options)

    return torch.compile(call, backend=checked, dynamic=False, fullgraph=whole)


def many_plans():
    """The context in which one function may be compiled for many plans: what lies behind a graph break keeps its code, and so
    the compiler counts the plans of all steps together."""
    return torch._dynamo.config.patch(recompile_limit=1 << 16, accumulated_recompile_limit=1 << 16)


def messages_given():
    """The context in which messages that a logger gives only once, as of transformers, break no graph: a first run has given
    them, or nothing runs."""
    once = [getattr(logging.Logger, name) for name in vars(logging.Logger) if name.endswith("_once")]
    config = torch._dynamo.config
    given = {method for method in once if hasattr(method, "cache_info")}
    return config.patch(ignore_logging_functions=config.ignore_logging_functions | given)


def settings(backend: str, partition, key: str | None = None):
    """The context in which what compiled() returned runs for the first time. key: names the plan in caches."""
    if backend != "inductor":
        return native.kept_whole()
    from . import inductor

    return inductor.settings(partition, key)
