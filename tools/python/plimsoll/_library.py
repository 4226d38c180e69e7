"""The shared library libplimsoll-plan by ctypes: the structs and functions that this package calls, and no others.

The layouts follow the public headers (runtime/graph/graph.h, plan.h, profile.h, planner/planner.h); the tests compare
them with what the library writes.
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
MOST_OUTPUTS = 8
U8, FLAT, CUSTOM = 2, 0, 0


class Shape(c.Structure):
    _fields_ = [("dtype", c.c_int), ("layout", c.c_int), ("rank", c.c_int32), ("dim", c.c_int64 * 4)]


class Attrs(c.Structure):
    _fields_ = [
        ("kernel", c.c_int32 * 2),
        ("stride", c.c_int32 * 2),
        ("pad", c.c_int32 * 2),
        ("relu", c.c_int32),
        ("add", c.c_int32),
        ("tf32", c.c_int32),
        ("eps", c.c_float),
        ("momentum", c.c_float),
        ("drop", c.c_float),
        ("count", c.c_int64),
        ("scale", c.c_float * 4),
        ("shift", c.c_float * 4),
    ]


class Pair(c.Structure):
    _fields_ = [("out", c.c_int32), ("in_", c.c_int32)]


class OpSpec(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        ("kind", c.c_int),
        ("cls", c.c_int),
        ("phase", c.c_int),
        ("attrs", Attrs),
        ("n_in", c.c_int32),
        ("n_out", c.c_int32),
        ("n_upd", c.c_int32),
        ("n_pairs", c.c_int32),
        ("in_", c.c_int32 * 8),
        ("out", c.c_int32 * MOST_OUTPUTS),
        ("upd", c.c_int32 * 2),
        ("many_in", c.POINTER(c.c_int32)),
        ("pair", Pair * 8),
        ("time_ns", c.c_int64),
        ("id", c.POINTER(c.c_int64)),
    ]


class Variant(c.Structure):
    _fields_ = [
        ("name", c.c_char * 32),
        ("label", c.c_char * 32),
        ("time_ns", c.c_int64),
        ("workspace_bytes", c.c_int64),
    ]


class Machine(c.Structure):
    _fields_ = [
        ("device", c.c_char * 32),
        ("cpu", c.c_char * 96),
        ("isa", c.c_char * 32),
        ("library", c.c_char * 96),
        ("build", c.c_char * 32),
        ("threads", c.c_int32),
    ]


class Options(c.Structure):
    _fields_ = [
        ("struct_bytes", c.c_size_t),
        ("planner", c.c_char_p),
        ("budget_bytes", c.c_int64),
        ("order", c.c_int),
        ("unpacked", c.c_int32),
        ("threads", c.c_int32),
        ("copies", c.c_int32),
        ("labels", c.c_int),
        ("label", c.c_void_p),
        ("seed", c.c_uint64),
        ("iterations", c.c_int64),
        ("time_limit_ns", c.c_int64),
        ("front_folder", c.c_char_p),
        ("from_front", c.c_void_p),
        ("paging", c.c_void_p),
        ("known", c.c_void_p),
    ]


class Floor(c.Structure):
    _fields_ = [
        ("smallest_bytes", c.c_int64),
        ("bound_bytes", c.c_int64),
        ("op", c.c_int32),
        ("keep_all_bytes", c.c_int64),
        ("fixed_numerics", c.c_int32),
        ("conflict", c.c_char * 512),
        ("cut_short", c.c_int32),
    ]


class Step(c.Structure):
    _fields_ = [
        ("kind", c.c_int),
        ("op", c.c_int32),
        ("variant", c.c_int32),
        ("queue", c.c_int32),
        ("n_pairs", c.c_int32),
        ("pair", Pair * MOST_OUTPUTS),
        ("n_wait", c.c_int32),
        ("wait", c.c_void_p),
        ("storage", c.c_int32),
        ("from_", c.c_int32),
        ("to", c.c_int32),
        ("time_ns", c.c_int64),
    ]


class Numerics(c.Structure):
    _fields_ = [("machine", Machine), ("hash", c.c_char * 65)]


class PlanStruct(c.Structure):
    _fields_ = [
        ("ctx", c.c_void_p),
        ("fingerprint", c.c_char * 65),
        ("numerics", Numerics),
        ("planner", c.c_char * 32),
        ("plan_class", c.c_int),
        ("packed", c.c_int32),
        ("n_steps", c.c_int32),
        ("n_buffers", c.c_int32),
        ("n_variants", c.c_int32),
        ("step", c.POINTER(Step)),
        ("buffer", c.c_void_p),
        ("variant", c.c_void_p),
        ("budget_bytes", c.c_int64),
        ("peak_bytes", c.c_int64),
        ("arena_bytes", c.c_int64),
        ("time_ns", c.c_int64),
        ("keep_all_ns", c.c_int64),
        ("bound_ns", c.c_int64),
        ("proved", c.c_int32),
    ]


class ProgressStruct(c.Structure):
    _fields_ = [
        ("stage", c.c_char_p),
        ("done", c.c_int64),
        ("total", c.c_int64),
        ("elapsed_ns", c.c_int64),
        ("best_percent", c.c_double),
        ("bound_percent", c.c_double),
    ]


OnProgress = c.CFUNCTYPE(None, c.c_void_p, c.POINTER(ProgressStruct))

_int, _i32p, _p, _pp = c.c_int, c.POINTER(c.c_int32), c.c_void_p, c.POINTER(c.c_void_p)
_FUNCTIONS = {  # name: result, arguments
    "plim_context_new": (_int, [_p, _p, _pp]),
    "plim_context_free": (None, [_p]),
    "plim_context_error": (c.c_char_p, [_p]),
    "plim_context_set_progress": (None, [_p, OnProgress, _p]),
    "plim_context_cancel": (None, [_p]),
    "plim_context_resume": (None, [_p]),
    "plim_graph_begin": (_int, [_p, c.c_char_p, c.c_int32, _pp]),
    "plim_graph_set_unpacked": (None, [_p]),
    "plim_graph_add_storage": (_int, [_p, _int, c.c_int64, _i32p]),
    "plim_graph_add_value": (_int, [_p, c.c_char_p, c.c_int32, c.c_int64, c.POINTER(Shape), _i32p]),
    "plim_graph_add_op": (_int, [_p, c.POINTER(OpSpec), _i32p]),
    "plim_graph_end": (_int, [_p, _pp]),
    "plim_graph_builder_free": (None, [_p]),
    "plim_graph_free": (None, [_p]),
    "plim_graph_save": (_int, [_p, c.c_char_p]),
    "plim_profile_make": (
        _int,
        [_p, c.POINTER(Machine), _int, _i32p, c.POINTER(Variant), _pp],
    ),
    "plim_profile_free": (None, [_p]),
    "plim_profile_save": (_int, [_p, c.c_char_p]),
    "plim_plan_options_default": (Options, []),
    "plim_plan_make": (_int, [_p, _p, _p, c.POINTER(Options), c.POINTER(c.POINTER(PlanStruct))]),
    "plim_plan_keep_all": (_int, [_p, _p, _p, c.POINTER(Options), c.POINTER(c.POINTER(PlanStruct))]),
    "plim_plan_smallest": (_int, [_p, _p, _p, c.POINTER(Options), c.POINTER(Floor), c.POINTER(c.POINTER(PlanStruct))]),
    "plim_plan_save": (_int, [c.POINTER(PlanStruct), c.c_char_p]),
    "plim_plan_free": (None, [c.POINTER(PlanStruct)]),
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
    refused = []
    for path in _candidates():
        try:
            library = c.CDLL(path)
            for name, (result, arguments) in _FUNCTIONS.items():
                function = getattr(library, name)
                function.restype, function.argtypes = result, arguments
        except (OSError, AttributeError) as error:
            refused.append(str(error))
            continue
        options = library.plim_plan_options_default()
        if options.struct_bytes == c.sizeof(Options):
            return library
        refused.append(f"{path} is of another version: its plan options have {options.struct_bytes} bytes")
    raise ImportError(
        "libplimsoll-plan was not found; PLIMSOLL_LIBRARY may name the file. " + "; ".join(refused)
    )


library = _load()
