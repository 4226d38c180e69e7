"""The shared library libplimsoll-plan by ctypes: the structs and functions that this package calls, and no others.

The library says where the fields of its structs lie (plim_struct_field). One that lacks a field, or has it in another
size, is refused.
"""

from __future__ import annotations

import ctypes as c
import ctypes.util
import os
import pathlib

OK, EUSAGE, EDATA, EIO, ENOMEM, ENOFIT, EPLAN, ECANCEL = 0, -1, -2, -3, -4, -5, -6, -10
NO_BUDGET = 2**63 - 1
ROLES = ("input", "param", "state", "staging", "activation", "gradient", "output")
PHASES = ("forward", "backward", "update")
CLASSES = ("pure", "random", "effect", "once")
MOST_OUTPUTS = 32  # that steps of PyTorch models give to an op; an op may have more
MOST_PAIRS = 8
U8, FLAT, CUSTOM = 2, 0, 0


_I32, _I64, _TEXT = c.c_int32, c.c_int64, c.c_char_p


def _text(n_bytes: int):
    return c.c_char * n_bytes


# The fields that this package reads or writes. Their places come from the library, which may have more of them.
_STRUCTS = {
    "plim_shape": [("dtype", c.c_int), ("layout", c.c_int), ("rank", _I32), ("dim", _I64 * 8)],
    "plim_op_spec": [
        ("name", _TEXT),
        ("kind", c.c_int),
        ("cls", c.c_int),
        ("phase", c.c_int),
        ("n_in", _I32),
        ("n_out", _I32),
        ("n_pairs", _I32),
        ("many_in", c.POINTER(_I32)),
        ("many_out", c.POINTER(_I32)),
        ("pair", _I32 * (2 * MOST_PAIRS)),
        ("time_ns", _I64),
    ],
    "plim_variant": [("name", _text(32)), ("numerics_key", _text(32)), ("time_ns", _I64), ("workspace_bytes", _I64)],
    "plim_machine": [("device", _text(32)), ("library", _text(96)), ("threads", _I32)],
    "plim_plan_options": [
        ("struct_bytes", c.c_size_t),
        ("budget_bytes", _I64),
        ("unpacked", _I32),
        ("threads", _I32),
        ("seed", c.c_uint64),
        ("iterations", _I64),
        ("brief", _I32),
        ("time_limit_ns", _I64),
    ],
    "plim_plan_floor": [("smallest_bytes", _I64), ("bound_bytes", _I64), ("outputs_bytes", _I64), ("op", _I32)],
    "plim_command": [("op", _I32)],
    "plim_plan": [
        ("planner", _text(32)),
        ("n_commands", _I32),
        ("command", c.c_void_p),
        ("peak_bytes", _I64),
        ("time_ns", _I64),
        ("keep_all_ns", _I64),
        ("bound_ns", _I64),
        ("proved", _I32),
    ],
    "plim_progress": [("stage", _TEXT), ("elapsed_ns", _I64), ("best_percent", c.c_double)],
}


def _places(library) -> dict[tuple[str, str], tuple[int, int]]:
    """(offset, bytes) by struct and field, as the library's compiler laid them out."""
    named = library.plim_struct_field
    named.restype = c.c_int
    named.argtypes = [_I32, c.POINTER(_TEXT), c.POINTER(_TEXT), c.POINTER(c.c_size_t), c.POINTER(c.c_size_t)]
    struct, field, offset, n_bytes = _TEXT(), _TEXT(), c.c_size_t(), c.c_size_t()
    found, row = {}, 0
    while named(row, c.byref(struct), c.byref(field), c.byref(offset), c.byref(n_bytes)):
        found[(struct.value or b"").decode(), (field.value or b"").decode()] = (offset.value, n_bytes.value)
        row += 1
    return found


def _structure(name: str, places) -> type[c.Structure]:
    """A struct with the fields that are named here in the places that the library has for them. ImportError: it has no
    such field, or one of another size."""
    rows, at = [], 0
    for field, kind in sorted(_STRUCTS[name], key=lambda row: places.get((name, row[0]), (0, 0))):
        offset, n_bytes = places.get((name, field), (-1, -1))
        if n_bytes != c.sizeof(kind):
            raise ImportError(f"libplimsoll-plan is of another version: {name}.{field} has {n_bytes} bytes")
        if offset > at:
            rows.append((f"_before_{field}", _text(offset - at)))
        rows.append((field, kind))
        at = offset + n_bytes
    total = places[name, ""][1]
    if total > at:
        rows.append(("_after", _text(total - at)))
    made = type(name, (c.Structure,), {"_pack_": 1, "_fields_": rows})
    assert c.sizeof(made) == total
    return made


OnProgress = c.CFUNCTYPE(None, c.c_void_p, c.c_void_p)
_int, _i32p, _p, _text_p = c.c_int, c.POINTER(_I32), c.c_void_p, c.c_char_p
_FUNCTIONS = {  # name: result, arguments; a pointer to a struct or to a pointer is _p
    "plim_context_new": (_int, [_p, _p, _p]),
    "plim_context_free": (None, [_p]),
    "plim_context_error": (_text_p, [_p]),
    "plim_context_set_progress": (None, [_p, OnProgress, _p]),
    "plim_context_cancel": (None, [_p]),
    "plim_graph_begin": (_int, [_p, _text_p, _I32, _p]),
    "plim_graph_set_unpacked": (None, [_p]),
    "plim_graph_add_storage": (_int, [_p, _int, _I64, _i32p]),
    "plim_graph_add_value": (_int, [_p, _text_p, _I32, _I64, _p, _i32p]),
    "plim_graph_add_op": (_int, [_p, _p, _i32p]),
    "plim_graph_end": (_int, [_p, _p]),
    "plim_graph_builder_free": (None, [_p]),
    "plim_graph_free": (None, [_p]),
    "plim_graph_save": (_int, [_p, _text_p]),
    "plim_profile_make": (_int, [_p, _p, _int, _i32p, _p, _p]),
    "plim_profile_free": (None, [_p]),
    "plim_profile_save": (_int, [_p, _text_p]),
    "plim_plan_make": (_int, [_p, _p, _p, _p, _p]),
    "plim_plan_keep_all": (_int, [_p, _p, _p, _p, _p]),
    "plim_plan_smallest": (_int, [_p, _p, _p, _p, _p, _p]),
    "plim_plan_save": (_int, [_p, _text_p]),
    "plim_plan_free": (None, [_p]),
    "plim_trace_begin": (_int, [_p, _p, _text_p, _p]),
    "plim_trace_add": (_int, [_p, _I64, c.POINTER(_I64)]),
    "plim_trace_end": (_int, [_p]),
}


def _candidates():
    """Where the library may lie: what PLIMSOLL_LIBRARY names alone, else this package, else the system."""
    named = os.environ.get("PLIMSOLL_LIBRARY")
    if named:
        return [named]
    here = sorted(pathlib.Path(__file__).parent.glob("lib*/libplimsoll-plan.so*"))
    system = ctypes.util.find_library("plimsoll-plan")
    return [str(path) for path in here] + ([system] if system else [])


def _load():
    """(the library, its structs by name)"""
    refused = []
    for path in _candidates():
        try:
            library = c.CDLL(path)
            for name, (result, arguments) in _FUNCTIONS.items():
                function = getattr(library, name)
                function.restype, function.argtypes = result, arguments
            places = _places(library)
            structs = {name: _structure(name, places) for name in _STRUCTS}
            library.plim_plan_options_default.restype = structs["plim_plan_options"]
            return library, structs
        except (OSError, AttributeError, ImportError) as error:
            refused.append(str(error))
    raise ImportError(
        "libplimsoll-plan was not found; PLIMSOLL_LIBRARY may name the file. " + "; ".join(refused)
    )


library, _structs = _load()
Shape, OpSpec, Variant = _structs["plim_shape"], _structs["plim_op_spec"], _structs["plim_variant"]
Machine, Options, Floor = _structs["plim_machine"], _structs["plim_plan_options"], _structs["plim_plan_floor"]
_Command, _Plan, _Progress = _structs["plim_command"], _structs["plim_plan"], _structs["plim_progress"]


def plan_of(handle: c.c_void_p):
    """The plan behind a pointer, and the op of each of its commands."""
    plan = _Plan.from_address(handle.value)
    commands = (_Command * plan.n_commands).from_address(plan.command)
    return plan, [command.op for command in commands]


def progress_of(address: int):
    return _Progress.from_address(address)
