"""Cases for the comparison with TensorFlow: variants of one valid call of every operation.

A variant changes one thing: a type, a size, a rank, a host argument, an attribute, the numbers. Whether it is still
valid is for TensorFlow to say; a refusal is compared like a value.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.base.test_registry import FACTS
from tests.conformance.case_runner import encode
from tests.conformance.different import RANDOM
from tests.sandbox import Case, Variable
from tests.strategies import TYPES, convert, valid
from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.graph.op_def import OPS, ArgDef

Variants = Iterator[tuple[str, Case]]

# The smallest normal numbers stand for the small ones: TensorFlow's threads take denormal numbers for zero.
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-4, 1.2e-38, 30.0, -30.0, 3e38)
EXTREME = (0, 1, -1, 2, 7, -7, 3, -3, "min", "max")


# Operations that return values, then vectors, whose order and direction are theirs to choose.
DECOMPOSITIONS = {"Eig", "SelfAdjointEigV2", "Svd"}
_NUMBERS = ("double", "signed", "large", "special", "grid", "nonzero")


def variants(name: str) -> dict[str, Case]:
    """Returns the cases of an operation by what was changed."""
    case = valid(name)
    found, seen = {"base": case}, {_text(case)}
    for ways in (_types, _numbers, _sizes, _ranks, _broadcasts, _host_values, _attributes):
        for label, variant in ways(case):
            if (text := _text(variant)) not in seen and label not in found:
                found[label] = variant
                seen.add(text)
    return found


def _text(case: Case) -> str:
    """Returns a case as text that only an equal case has; attributes that are not given have their defaults."""
    defaults = {
        key: value for key, value in OPS.lookup(case.op).defaults.items() if key not in OPS.lookup(case.op).implied
    }
    return json.dumps(describe("", Case(case.op, case.inputs, {**defaults, **case.attrs})), default=str, sort_keys=True)


def describe(label: str, case: Case) -> dict[str, Any]:
    """Returns a case as plain JSON values, for `case_runner`.

    Gradients with unknown shapes are a matter of shapes, and are left out where something else was changed.
    """
    definition = OPS.lookup(case.op)
    shapes = not ("=" in label or label.startswith(_NUMBERS))
    return {
        "op": case.op,
        "inputs": [[_plain(v) for v in value] if isinstance(value, list) else _plain(value) for value in case.inputs],
        "attrs": case.attrs,
        "host": [i for i, arg in enumerate(definition.inputs) if arg.name in definition.host],
        "decomposes": case.op in DECOMPOSITIONS,
        "random": case.op in RANDOM,
        "gradients": [] if case.op in RANDOM else ["host", "unknown"] if shapes else ["host"],
    }


def _plain(value: Any) -> dict[str, Any]:
    if isinstance(value, Variable):
        held = None if value.value is None else encode(value.value)
        return {"variable": value.dtype, "shape": list(value.shape), "value": held}
    return encode(value)


# -- changing a case --------------------------------------------------------------------------------------------------


def _args(case: Case) -> Iterator[tuple[int, ArgDef, Any]]:
    for i, (arg, value) in enumerate(zip(OPS.lookup(case.op).inputs, case.inputs)):
        for item in value if isinstance(value, list) else [value]:
            yield i, arg, item


def _mapped(case: Case, change: Callable[[int, ArgDef, np.ndarray], np.ndarray], **attrs: Any) -> Case:
    """Returns a case with each array changed, those that variables hold included."""
    inputs: list[Any] = []
    for i, (arg, value) in enumerate(zip(OPS.lookup(case.op).inputs, case.inputs)):
        items = [_changed(item, i, arg, change) for item in (value if isinstance(value, list) else [value])]
        inputs.append(items if isinstance(value, list) else items[0])
    return Case(case.op, tuple(inputs), {**case.attrs, **attrs})


def _changed(item: Any, i: int, arg: ArgDef, change: Callable[[int, ArgDef, np.ndarray], np.ndarray]) -> Any:
    if not isinstance(item, Variable):
        return change(i, arg, item)
    if item.value is None:
        return item
    value = change(i, arg, item.value)
    return Variable(dtypes.as_dtype(value.dtype).name, value.shape, value)


def _array(item: Any) -> Any:
    return item.value if isinstance(item, Variable) else item


def _is_data(case: Case, arg: ArgDef, item: Any) -> bool:
    return arg.name not in OPS.lookup(case.op).host and isinstance(_array(item), np.ndarray)


# -- types ------------------------------------------------------------------------------------------------------------


def _types(case: Case) -> Variants:
    definition = OPS.lookup(case.op)
    for key, attr in definition.attrs.items():
        if attr.element != "type":
            continue
        for dtype in _allowed(case.op, key):
            attrs = {} if key in definition.implied else {key: [dtype.name] if attr.is_list else dtype.name}
            yield f"{key}={dtype.name}", _mapped(case, lambda i, arg, x: _retyped(x, arg, key, dtype), **attrs)
    wide = {"float32": "float64", "complex64": "complex128"}
    attrs = {k: wide[v] for k, v in _explicit_types(case).items() if v in wide}
    yield "double", _mapped(case, lambda i, arg, x: _widened(x, wide), **attrs)


def _explicit_types(case: Case) -> dict[str, str]:
    definition = OPS.lookup(case.op)
    given = {**definition.defaults, **case.attrs}
    types = {key: given.get(key) for key in definition.explicit if definition.attrs[key].kind == "type"}
    return {key: value if isinstance(value, str) else value.name for key, value in types.items() if value is not None}


def _allowed(op: str, key: str) -> list[DType]:
    """Returns the types that TensorFlow's schema allows, which may be more than ours."""
    names = FACTS[op]["attrs"][key].get("allowed")
    if names is None:
        return list(TYPES)
    found = {dtypes.as_dtype(name) for name in names} - {dtypes.resource, dtypes.variant}
    # Where quantized types are but some of many, they are moved about, and end TensorFlow's process in variables.
    return sorted(found - dtypes.QUANTIZED or found, key=lambda dtype: dtype.name)


def _retyped(array: np.ndarray, arg: ArgDef, key: str, dtype: DType) -> np.ndarray:
    of_variable = arg.dtype is dtypes.resource and key in ("dtype", "T")
    return _numbers_as(array, dtype) if key in (arg.type_attr, arg.type_list_attr) or of_variable else array


def _numbers_as(array: np.ndarray, dtype: DType) -> np.ndarray:
    """Converts an array so that different numbers stay different where the type can tell them apart."""
    if array.dtype.kind == "f" and (dtype.is_integer or dtype.is_bool):
        array = np.trunc(np.clip(np.nan_to_num(array), -1e9, 1e9) * 7)
    if dtype.is_bool and array.dtype.kind in "fiu":
        array = array % 2
    if dtype.is_complex and array.dtype.kind == "f" and np.isfinite(array).all():
        return (array + 0.5j * array[::-1] if array.ndim else array + 0.25j).astype(dtype.as_numpy_dtype)
    return convert(array, dtype)


def _widened(array: np.ndarray, wide: dict[str, str]) -> np.ndarray:
    with np.errstate(over="ignore"):
        return array.astype(wide[array.dtype.name]) if array.dtype.name in wide else array


# -- numbers ----------------------------------------------------------------------------------------------------------


def _numbers(case: Case) -> Variants:
    """Changes the values of floating inputs, then of integer ones."""
    floats = [
        i for i, _, item in _args(case) if isinstance(_array(item), np.ndarray) and _array(item).dtype.kind == "f"
    ]
    if floats:
        yield "signed", _mapped(case, lambda i, arg, x: (x - 0.45) * 3 if x.dtype.kind == "f" else x)
        yield "large", _mapped(case, lambda i, arg, x: (x - 0.45) * 150 if x.dtype.kind == "f" else x)
        for start in (0, 5, 11):  # in sums, large numbers would overflow or not by the order of addition
            yield f"special{start}", _mapped(case, lambda i, arg, x: _cycle(x, start + 3 * i))
        for name in ("float64", "float16"):
            wide = {"float32": name}
            attrs = {k: wide[v] for k, v in _explicit_types(case).items() if v in wide}
            yield f"special {name}", _mapped(case, lambda i, arg, x: _widened(_cycle(x, 3 * i), wide), **attrs)
    same = {np.shape(_array(item)) for _, arg, item in _args(case) if _is_data(case, arg, item)}
    if len(same) == 1 and len(case.inputs) <= 2 and not OPS.lookup(case.op).host and case.inputs:
        yield from _grids(case, bool(floats))


def _cycle(array: np.ndarray, start: int) -> np.ndarray:
    if array.dtype.kind != "f":
        return array
    with np.errstate(over="ignore"):
        return np.resize(np.roll(np.array(SPECIAL[:-1]), -start), array.shape).astype(array.dtype)


def _grids(case: Case, floats: bool) -> Variants:
    """Makes every pair of awkward numbers, for operations that work element by element."""
    definition = OPS.lookup(case.op)
    key = definition.inputs[0].type_attr
    if floats:
        yield "grid", _mapped(case, lambda i, arg, x: _grid(SPECIAL, x.dtype, i))
    if key is None or len(case.inputs) > 2:
        return
    for dtype in _allowed(case.op, key):
        if dtype.is_integer and not dtype.is_quantized and dtype.name in ("int8", "uint8", "int32", "int64", "uint16"):
            info = np.iinfo(dtype.as_numpy_dtype)
            limits = {"min": info.min, "max": info.max}
            numbers = [limits.get(n, n) if isinstance(n, str) else n for n in EXTREME]
            numbers = sorted({int(n) for n in numbers if info.min <= int(n) <= info.max})
            # Division by zero is an error there and here, which would hide all other numbers.
            divided = [n for n in numbers if n != 0]
            for label, second in (("grid", numbers), ("nonzero", divided)):
                case_of = _mapped(case, lambda i, arg, x: _grid(second if i else numbers, dtype.as_numpy_dtype, i))
                yield f"{label} {dtype.name}", case_of


def _grid(numbers: Any, dtype: Any, axis: int) -> np.ndarray:
    row = np.array(numbers).astype(dtype)
    return row[:, None] if axis == 0 else row[None, :]


# -- shapes -----------------------------------------------------------------------------------------------------------


def _sizes(case: Case) -> Variants:
    """Gives every data dimension of one size another one."""
    sizes = {n for _, arg, item in _args(case) if _is_data(case, arg, item) for n in _array(item).shape}
    for old, new in itertools.product(sorted(sizes), (0, 1, 4)):
        if old == new:
            continue

        def resize(i: int, arg: ArgDef, x: np.ndarray) -> np.ndarray:
            if not _is_data(case, arg, x):
                return x
            return np.resize(x, tuple(new if n == old else n for n in x.shape))

        yield f"size {old}->{new}", _mapped(case, resize)


_RANKS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "scalar": lambda x: x.ravel()[:1].reshape(()) if x.size else x,
    "first row": lambda x: x[0] if x.ndim and len(x) else x,
    "row of one": lambda x: x[None],
    "two rows": lambda x: np.stack([x, x[..., ::-1] if x.ndim else x]),
    "column": lambda x: x[..., None],
    "flat": lambda x: x.ravel(),
}


_ALONE = ("scalar", "row of one", "column")


def _ranks(case: Case) -> Variants:
    """Changes the rank of all data inputs, and of each alone."""
    data = sorted({i for i, arg, item in _args(case) if _is_data(case, arg, item)})
    for label, change in _RANKS.items():
        alone = data if len(data) > 1 and label in _ALONE else []
        for chosen in [data, *([i] for i in alone)]:
            where = "" if chosen == data else f" of {chosen[0]}"
            yield label + where, _mapped(case, lambda i, arg, x: change(x) if i in chosen else x)


_PAIRS = (
    ((2, 1), (1, 3)),
    ((3,), (2, 3)),
    ((2, 3), ()),
    ((), (2, 3)),
    ((2, 1, 3), (4, 1)),
    ((1, 3), (0, 3)),
    ((2, 0), (2, 1)),
    ((0,), ()),
    ((2,), (3,)),
    ((1, 1), (1,)),
    ((1, 2, 1, 3, 1), (3, 1, 2)),
)


def _broadcasts(case: Case) -> Variants:
    arrays = [_array(item) for _, arg, item in _args(case) if _is_data(case, arg, item)]
    if len(arrays) < 2 or len({a.shape for a in arrays if isinstance(a, np.ndarray)}) != 1 or case.inputs[0] is None:
        return
    for shapes in _PAIRS:

        def shaped(i: int, arg: ArgDef, x: np.ndarray) -> np.ndarray:
            return np.resize(x, shapes[i % 2]) if _is_data(case, arg, x) else x

        yield f"broadcast {shapes[0]} {shapes[1]}".replace(" ", ""), _mapped(case, shaped)


# -- host arguments and attributes ------------------------------------------------------------------------------------


def _host_values(case: Case) -> Variants:
    """Changes integers that say where or how many: negative, out of range, repeated, none."""
    for index, arg, item in _args(case):
        if not isinstance(item, np.ndarray) or item.dtype.kind not in "iu" or isinstance(case.inputs[index], list):
            continue
        for label, array in _integers(item):
            yield f"{arg.name}={label}", _mapped(case, lambda i, _, x: array if i == index else x)


def _integers(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    if array.ndim == 0:
        for value in (-3, -2, -1, 0, 1, 2, 3, 5, 9):
            yield str(value), _number(value, array.dtype)
        yield "vector", array[None]
        return
    for value in (-5, -1, 0, 1, 2, 7):
        changed = array.copy()
        if array.size:
            changed.flat[0] = _number(value, array.dtype)
            yield f"first {value}", changed
        yield f"all {value}", np.full_like(array, _number(value, array.dtype))
    yield "none", array[:0]
    yield "fewer", array[:-1]
    yield "more", np.concatenate([array, array[-1:]])
    if array.ndim == 1:
        yield "scalar", array[:1].reshape(()) if array.size else np.zeros((), array.dtype)
        yield "reversed", array[::-1]
    yield "column", array[..., None]


def _number(value: int, dtype: np.dtype) -> np.ndarray:
    """Returns a number that wraps around in unsigned types."""
    return np.array(value).astype(dtype)


# Words that name something rather than choose a behaviour, and seeds.
_UNCHANGED = {"seed", "seed2", "shared_name", "container", "name", "message", "debug_name", "use_locking"}


def _attributes(case: Case) -> Variants:
    definition = OPS.lookup(case.op)
    given = {**definition.defaults, **case.attrs}
    choices: dict[str, list[Any]] = {}
    for key in definition.explicit:
        if key in _UNCHANGED or key not in FACTS[case.op]["attrs"] or definition.attrs[key].element == "type":
            continue
        choices[key] = _values(case.op, key, definition.attrs[key].kind, given.get(key))
        for value in choices[key]:
            yield f"{key}={value}".replace(" ", ""), Case(case.op, case.inputs, {**case.attrs, key: value})
    for (a, values), (b, others) in itertools.combinations(choices.items(), 2):
        for x, y in itertools.product(_likely(values, given.get(a)), _likely(others, given.get(b))):
            label = f"{a}={x},{b}={y}".replace(" ", "")
            yield label, Case(case.op, case.inputs, {**case.attrs, a: x, b: y})


def _likely(values: list[Any], given: Any) -> list[Any]:
    """Returns the values of an attribute that are worth combining with others: they stand first, and few."""
    given = list(given) if isinstance(given, tuple) else given
    return [value for value in values if value not in (given, "no such thing")][:2]


def _values(op: str, key: str, kind: str, value: Any) -> list[Any]:
    allowed = FACTS[op]["attrs"][key].get("allowed")
    if kind == "bool":
        return [True, False]
    if kind == "string":
        return [*(allowed or []), "no such thing"] if allowed else []
    if kind == "int":
        return [1, 2, 3, 0, -1, -2, 5]
    if kind == "float":
        return [0.0, 0.5, 1.0, 2.0, -1.0]
    if kind == "shape":
        return [None, [], [2, 3], [None, 3], [3, 2]]
    if kind == "list(int)":
        return _int_lists(value)
    return []


def _int_lists(value: Any) -> list[list[int]]:
    if not value or len(value) < 4:
        return [[0], [1], [-1], [0, 1], [0, 0], [5], []]
    inner = len(value) - 2
    good = [[1, *[2] * inner, 1], [1, *[3] * inner, 1], [1, *range(1, inner + 1), 1], [1, *range(inner, 0, -1), 1]]
    return [*good, [1] * len(value), [2, *[1] * (inner + 1)], [1, *[0] * inner, 1], [1, *[-1] * inner, 1], [1, 1], []]
