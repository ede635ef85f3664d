"""Strategies: valid calls of every operation, made from its schema, and ways to spoil them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.sandbox import Case, Variable
from tests.valid_calls import VALID
from tests.valid_calls.values import S, X, floats, held, ints, texts
from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.graph.attr import REQUIRED, AttrDef
from thalweg._src.graph.op_def import OPS, OpDef

# -- valid calls ------------------------------------------------------------------------------------------------------


# Arguments that mean the same wherever they occur.
SCALARS = ["lr", "rho", "momentum", "epsilon", "beta1_power", "beta2_power", "beta1", "beta2"]
SCALARS += ["l1", "l2", "l2_shrinkage", "alpha", "beta", "logbase", "sign_decay"]
INPUTS: dict[str, np.ndarray] = {
    **dict.fromkeys(SCALARS, S),
    "lr_power": -S,
    "global_step": ints(3),
    **dict.fromkeys(["axis", "dimension", "reduction_indices", "concat_dim", "split_dim", "dim"], ints(1)),
    **dict.fromkeys(["shape", "dims", "begin", "end", "size", "strides", "perm", "multiples"], ints(1, 1)),
    **dict.fromkeys(["indices", "segment_ids", "seed"], ints(0, 1)),
    **dict.fromkeys(["k", "num_samples", "num_segments", "num", "depth"], ints(2)),
    **dict.fromkeys(["paddings", "crops"], ints([[0, 1], [1, 0]])),
}
ATTRS: dict[str, Any] = {
    "padding": "SAME",
    "token": "sandbox",
    "Tout": ["float32", "float32"],
    "tensor_name": "t",
    "send_device": "a",
    "recv_device": "b",
}


def valid(name: str) -> Case:
    """Returns a call that the operation accepts."""
    definition = OPS.lookup(name)
    inputs, attrs = VALID.get(name, (None, {}))
    if definition.on_handles is not None:
        on_handles = valid(definition.on_handles.name)
        inputs, attrs = on_handles.inputs, {k: v for k, v in on_handles.attrs.items() if k in definition.attrs}
    if inputs is None:
        inputs = tuple(_input(definition, arg) for arg in definition.inputs)
    needed = {key: _attr(key, definition.attrs[key]) for key in definition.explicit if _needed(definition, key)}
    return Case(name, inputs, {**needed, **attrs})


def _needed(definition: OpDef, key: str) -> bool:
    return definition.attrs[key].default is REQUIRED


def _input(definition: OpDef, arg: Any) -> Any:
    dtype = arg.dtype or (preferred(definition.attrs[arg.type_attr]) if arg.type_attr else dtypes.float32)
    if arg.name in INPUTS and dtype is not dtypes.resource:
        value = convert(INPUTS[arg.name], dtype)
        return [value, value] if arg.is_list else value
    value = held(X) if dtype is dtypes.resource else convert(X if dtype.is_floating else X * 7, dtype)
    return [value, value] if arg.is_list else value


def preferred(attr: AttrDef) -> DType:
    for dtype in (dtypes.float32, dtypes.int32, dtypes.complex64):
        if attr.allowed is None or dtype in attr.allowed:
            return dtype
    return min(attr.allowed, key=lambda dtype: dtype.name)


def _attr(key: str, attr: AttrDef) -> Any:
    if key in ATTRS:
        return ATTRS[key]
    if attr.kind == "type":
        return preferred(attr).name
    simple = {"int": 2, "float": 0.5, "bool": True, "shape": (2, 3), "tensor": X}
    if attr.kind in simple:
        return simple[attr.kind]
    if attr.kind == "string":
        return min(attr.allowed) if attr.allowed else "text"
    return []


def convert(array: np.ndarray, dtype: DType) -> np.ndarray:
    """Returns an array in another type, whatever becomes of its numbers."""
    if dtype is dtypes.string:
        return np.array([str(item).encode() for item in array.ravel().tolist()], dtype=object).reshape(array.shape)
    if array.dtype == object:
        array = np.zeros(array.shape, np.float32)
    with np.errstate(all="ignore"):
        if array.dtype.kind == "c" and not dtype.is_complex:
            array = array.real
        if dtype.is_quantized:
            return np.zeros(array.shape, dtype.as_numpy_dtype)
        return array.astype(dtype.as_numpy_dtype)


# -- spoiled calls ----------------------------------------------------------------------------------------------------

SIZES = (-(2**63), -(2**31), -2, -1, 0, 1, 2, 3, 7, 2**31 - 1, 2**40, 2**62, 2**63 - 1)
NUMBERS = (float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 0.5, 1e30, 1e300, *map(float, SIZES))
STRINGS = ("", "no such thing", "%", "{}", "NHWC", "NCHW", "SAME", "VALID", "EXPLICIT")
SHAPES = (None, (), (0,), (3,), (None,), (2, 3), (2, None), (-1,), (2**40,), (2**40, 2**40), (0, 2**62), "text")
# Quantized types are left out: they are moved about, but no kernel computes with them.
TYPES = tuple(sorted(dtypes.ALL - dtypes.QUANTIZED - {dtypes.resource, dtypes.variant}, key=lambda dtype: dtype.name))
OFTEN = tuple(dtypes.as_dtype(name) for name in ("float32", "float64", "int32", "int64", "bool", "complex64", "string"))


@st.composite
def spoiled(draw: Any, name: str) -> Case:
    """Draws a call of an operation that may be wrong in up to three ways."""
    case = valid(name)
    if draw(st.booleans()):
        case = _retyped(draw, case)
    for _ in range(draw(st.integers(0 if case.inputs or case.attrs else 1, 3))):
        ways = [_spoil_attr] if case.attrs or OPS.lookup(name).attrs else []
        if case.inputs:
            ways += [_spoil_value, _spoil_value, _spoil_shape, _spoil_shape, _spoil_type]
        if ways:
            case = draw(st.sampled_from(ways))(draw, case)
    return case


def _retyped(draw: Any, case: Case) -> Case:
    """Gives all inputs of one type attribute another of its types."""
    definition = OPS.lookup(case.op)
    chosen = {
        key: draw(
            st.sampled_from(
                sorted((attr.allowed or set(TYPES)) - dtypes.QUANTIZED or attr.allowed, key=lambda dtype: dtype.name)
            )
        )
        for key, attr in definition.attrs.items()
        if attr.kind == "type"
    }
    inputs = []
    for arg, value in zip(definition.inputs, case.inputs):
        dtype = chosen.get(arg.type_attr)
        # A variable has the type of the values that go with it, which is the operation's first type attribute.
        of_variable = chosen.get("dtype", chosen.get("T"))
        many = value if isinstance(value, list) else [value]
        many = [_converted(item, of_variable if isinstance(item, Variable) else dtype) for item in many]
        inputs.append(many if isinstance(value, list) else many[0])
    attrs = {**case.attrs, **{key: chosen[key].name for key in chosen if key in definition.explicit}}
    return Case(case.op, tuple(inputs), attrs)


def _converted(value: Any, dtype: DType | None) -> Any:
    if dtype is None or dtype in (dtypes.resource, dtypes.variant):
        return value
    if isinstance(value, Variable):
        return Variable(dtype.name, value.shape, None if value.value is None else convert(value.value, dtype))
    return convert(value, dtype)


def _replaced(draw: Any, case: Case, change: Any) -> Case:
    """Changes one input, or one element of one that is a list."""
    index = draw(st.integers(0, len(case.inputs) - 1))
    value = case.inputs[index]
    if isinstance(value, list):
        how = draw(st.sampled_from(["element", "element", "none", "one", "more"]))
        if how == "element" and value:
            element = draw(st.integers(0, len(value) - 1))
            value = [*value[:element], change(value[element]), *value[element + 1 :]]
        elif value:
            value = {"none": [], "one": value[:1]}.get(how, [*value, value[0]])
    else:
        value = change(value)
    return Case(case.op, (*case.inputs[:index], value, *case.inputs[index + 1 :]), case.attrs)


def _spoil_shape(draw: Any, case: Case) -> Case:
    def change(value: Any) -> Any:
        return _with_shape(value, draw(_shapes(value.shape)))

    return _replaced(draw, case, change)


@st.composite
def _shapes(draw: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Draws a shape near another: a dimension more, or less, or of another size."""
    how = draw(st.sampled_from(["size", "size", "drop", "lead", "trail", "scalar", "empty"]))
    if how == "scalar" or (not shape and how in ("size", "drop")):
        return ()
    if how == "empty":
        return draw(st.sampled_from([(0,), (0, 0), (0, 2**40), (2, 0), (1, 0, 2**40)]))
    if how in ("lead", "trail"):
        size = draw(st.sampled_from([0, 1, 2]))
        return (size, *shape) if how == "lead" else (*shape, size)
    axis = draw(st.integers(0, len(shape) - 1))
    if how == "drop":
        return shape[:axis] + shape[axis + 1 :]
    return (*shape[:axis], draw(st.sampled_from([0, 1, 2, 3, 4, 7])), *shape[axis + 1 :])


def _with_shape(value: Any, shape: tuple[int, ...]) -> Any:
    if isinstance(value, Variable):
        array = None if value.value is None else _with_shape(value.value, shape)
        return Variable(value.dtype, shape if array is None else array.shape, array)
    if 0 in shape:
        return np.zeros(shape, value.dtype)
    if math.prod(shape) > 4096:
        return value
    if not value.size:
        value = texts("") if value.dtype == object else np.zeros(1, value.dtype)
    return np.resize(value, shape)


def _spoil_value(draw: Any, case: Case) -> Case:
    def change(value: Any) -> Any:
        if isinstance(value, Variable):
            return Variable(value.dtype, value.shape) if draw(st.booleans()) else value
        if not value.size:
            return value
        array = np.array(value)
        special = _special(draw, array.dtype)
        if draw(st.booleans()):
            array[...] = special
        else:
            array.reshape(-1)[draw(st.integers(0, array.size - 1))] = special
        return array

    return _replaced(draw, case, change)


def _special(draw: Any, dtype: np.dtype) -> Any:
    if dtype.kind == "O":
        return draw(st.sampled_from([b"", b"\xff\x00", b"nan", b"%s"]))
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return draw(st.sampled_from([int(np.clip(size, info.min, info.max)) for size in SIZES]))
    if dtype.kind == "b":
        return draw(st.booleans())
    with np.errstate(all="ignore"):
        return np.array(draw(st.sampled_from(NUMBERS))).astype(dtype) if not dtype.names else np.zeros((), dtype)


def _spoil_type(draw: Any, case: Case) -> Case:
    def change(value: Any) -> Any:
        dtype = draw(st.sampled_from(OFTEN if draw(st.booleans()) else TYPES))
        if isinstance(value, Variable):
            return _converted(value, dtype) if draw(st.booleans()) else np.zeros(value.shape, np.float32)
        if draw(st.integers(0, 9)) == 0:
            return held(np.zeros(value.shape, np.float32))
        return convert(value, dtype)

    return _replaced(draw, case, change)


def _spoil_attr(draw: Any, case: Case) -> Case:
    definition = OPS.lookup(case.op)
    key = draw(st.sampled_from(sorted(definition.attrs)))
    attr, attrs = definition.attrs[key], dict(case.attrs)
    if key in attrs and draw(st.integers(0, 19)) == 0:
        del attrs[key]
        return Case(case.op, case.inputs, attrs)
    value = attrs.get(key, attr.default)
    attrs[key] = draw(_list_attrs(attr, value) if attr.is_list else _attrs(attr.kind, attr))
    return Case(case.op, case.inputs, attrs)


def _attrs(kind: str, attr: AttrDef) -> Any:
    simple = {"int": (*SIZES, 2**70), "float": NUMBERS, "bool": (True, False), "shape": SHAPES}
    allowed = tuple(sorted(map(_plain, attr.allowed))) if attr.allowed else ()
    if kind == "type":
        return st.sampled_from((*allowed, *allowed, *(dtype.name for dtype in TYPES), "resource", "no such type"))
    if kind == "string":
        return st.sampled_from((*allowed, *allowed, *STRINGS))
    if kind == "tensor":
        return st.sampled_from((X, floats(0), ints(3), texts("a", "b"), 7))
    return st.sampled_from(simple[kind]) | st.sampled_from((None, "text", 1.5, True))


def _plain(value: Any) -> Any:
    return value.name if isinstance(value, DType) else value


@st.composite
def _list_attrs(draw: Any, attr: AttrDef, value: Any) -> Any:
    items = list(value) if isinstance(value, list | tuple) else []
    how = draw(st.sampled_from(["change", "change", "change", "shorter", "longer", "none", "no list"]))
    if how == "no list":
        return draw(st.sampled_from([7, None, "text"]))
    item = draw(_attrs(attr.element, attr))
    if how == "change" and items:
        items[draw(st.integers(0, len(items) - 1))] = item
        return items
    return {"shorter": items[:-1], "none": []}.get(how, [*items, item])
