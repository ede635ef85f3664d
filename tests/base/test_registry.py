"""Every operation has its three twins, in files of one name, and the schema that TensorFlow gives it."""

from __future__ import annotations

import functools
import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import text_format
from tensorboard.compat.proto.tensor_pb2 import TensorProto

from thalweg._src.base import dtypes, shapes
from thalweg._src.base.dtypes import DType
from thalweg._src.graph.attr import REQUIRED, AttrDef
from thalweg._src.graph.autodiff.gradients import GRADIENTS
from thalweg._src.graph.op_def import OPS, ArgDef, OpDef
from thalweg._src.graph.tensor_proto import MakeNdarray
from thalweg._src.runtime.kernels import registry

with gzip.open(Path(__file__).parent.parent / "fixtures" / "tf_ops.jsonl.gz", "rt", encoding="utf-8") as lines:
    FACTS: dict[str, Any] = {fact["op"]: fact for fact in map(json.loads, lines)}
NAMES = sorted(OPS)
RUN = [name for name in NAMES if OPS.lookup(name).on_handles is None]  # operations on references are lowered

# Values of attributes that TensorFlow allows and Thalweg does not: in every op, and in one.
NOWHERE: set[Any] = {*dtypes.QUANTIZED, "NCHW_VECT_C"}
LEFT_OUT: dict[tuple[str, str], set[str]] = {
    ("Conj", "T"): {"variant"},
}


def test_every_op_has_a_kernel() -> None:
    assert not [name for name in RUN if not registry.has_kernel(name)]


def test_kernels_want_dense_memory_of_inputs_that_exist() -> None:
    wanted = {(entry.op, name) for entries in registry._kernels.values() for entry in entries for name in entry.dense}
    inputs = {(op, arg.name) for op, _ in wanted for arg in OPS.lookup(op).inputs}
    assert wanted and wanted <= inputs


def test_every_op_has_a_gradient_or_says_that_it_has_none() -> None:
    definitions = map(OPS.lookup, NAMES)
    wrong = [op.name for op in definitions if op.differentiable and op.name not in GRADIENTS and op.outputs]
    assert not wrong, "they have neither a gradient rule nor differentiable=False"


def test_twins_have_files_of_one_name() -> None:
    assert not [wrong for name in RUN for wrong in strays(name)]


def strays(name: str) -> Iterator[str]:
    """Says which parts of an op are in files of other names."""
    folder, family = file_of(OPS.lookup(name).module)
    if folder != "ops":
        yield f"{name} is declared in {folder}/{family}.py, not in ops/"
    registry.has_kernel(name)  # which imports the kernels
    binders = [entry.bind for entry in registry._kernels[name]]
    rules = [rule for rule in [GRADIENTS.get(name)] if rule is not None]
    files = {*map(file_of_function, binders), *map(file_of_function, rules)}
    if other := files - {("kernels", family), ("rules", family)}:
        yield f"{name} is declared in ops/{family}.py, but its twins are in {sorted(other)}"


def file_of_function(function: Callable[..., Any]) -> tuple[str, str]:
    return file_of_function(function.func) if isinstance(function, functools.partial) else file_of(function.__module__)


def file_of(module: str) -> tuple[str, str]:
    """Returns the names of a module's folder and file."""
    *_, folder, family = module.split(".")
    return folder, family


def test_schemas_are_tensorflows() -> None:
    public = [name for name in NAMES if not name.startswith("_")]
    assert not set(public) - set(FACTS), "no operations of TensorFlow; one that is ours alone starts with '_'"
    assert not [found for name in public for found in disagreements(OPS.lookup(name), FACTS[name])]


def disagreements(ours: OpDef, theirs: dict[str, Any]) -> Iterator[str]:
    """Says each difference between a schema of ours and TensorFlow's."""
    for side, args, facts in (("inputs", ours.inputs, theirs["in"]), ("outputs", ours.outputs, theirs["out"])):
        shown = [(arg.name, show_type(arg)) for arg in args]
        wanted = [(name, kind.rstrip("&")) for name, kind in facts]
        if shown != wanted:
            yield f"{ours.name}: {side} are {shown}, TensorFlow's {wanted}"
    for flag in ("stateful", "commutative"):
        if getattr(ours, flag) != theirs.get(f"is_{flag}", False):
            yield f"{ours.name}: {flag} is {getattr(ours, flag)}, TensorFlow's {theirs.get(f'is_{flag}', False)}"
    if set(ours.attrs) != set(theirs["attrs"]):
        missing, more = set(theirs["attrs"]) - set(ours.attrs), set(ours.attrs) - set(theirs["attrs"])
        yield f"{ours.name}: attributes missing {sorted(missing)}, not TensorFlow's {sorted(more)}"
    for key in set(ours.attrs) & set(theirs["attrs"]):
        yield from attribute_disagreements(ours.name, key, ours.attrs[key], theirs["attrs"][key])


def attribute_disagreements(op: str, key: str, ours: AttrDef, theirs: dict[str, Any]) -> Iterator[str]:
    if ours.kind != theirs["type"]:
        yield f"{op}.{key}: kind is {ours.kind}, TensorFlow's {theirs['type']}"
        return
    if (ours.default is not REQUIRED) != ("default" in theirs):
        yield f"{op}.{key}: default is {ours.default}, TensorFlow's {theirs.get('default', 'none')}"
    elif "default" in theirs and not same_default(ours, theirs["default"]):
        yield f"{op}.{key}: default is {ours.default}, TensorFlow's {theirs['default']}"
    if (ours.minimum or 0) != max(theirs.get("min", 0), 0) and ours.kind != "int":
        yield f"{op}.{key}: minimum is {ours.minimum}, TensorFlow's {theirs.get('min')}"
    everything = dtypes.ALL if ours.element == "type" else None
    wanted = {fact(ours, value) for value in theirs["allowed"]} if "allowed" in theirs else everything
    allowed = ours.allowed or everything
    if wanted is None or allowed is None:
        if allowed != wanted:
            yield f"{op}.{key}: we allow {show(allowed)}, TensorFlow {show(wanted)}"
        return
    left_out = NOWHERE | {fact(ours, value) for value in LEFT_OUT.get((op, key), ())}
    if allowed - wanted:
        yield f"{op}.{key}: TensorFlow does not allow {show(allowed - wanted)}"
    if wanted - allowed - left_out:
        yield f"{op}.{key}: we do not allow {show(wanted - allowed - left_out)}"


def show_type(arg: ArgDef) -> str:
    if arg.type_list_attr:
        return f"list({arg.type_list_attr})"
    base = arg.type_attr or (SHORT.get(arg.dtype.name, arg.dtype.name) if arg.dtype else "?")
    return f"{arg.number_attr}*{base}" if arg.number_attr else base


SHORT = {"float16": "half", "float32": "float", "float64": "double"}


def fact(attr: AttrDef, value: Any) -> Any:
    """Returns a value of the facts in the form that our attributes keep."""
    return dtypes.as_dtype(value) if attr.element == "type" else value


def same_default(attr: AttrDef, theirs: Any) -> bool:
    ours = attr.default
    if attr.is_list:
        return list(ours) == [fact(attr, item) for item in theirs]
    if attr.kind == "shape":
        unknown = theirs is None or theirs == "unknown"
        return ours is None if unknown else shapes.as_shape(theirs) == ours
    if attr.kind == "tensor":
        return np.array_equal(ours, MakeNdarray(text_format.Parse(theirs, TensorProto())))
    if attr.kind == "float":
        return bool(np.float32(ours) == np.float32(theirs))
    return bool(ours == fact(attr, theirs))


def show(values: Iterable[Any] | None) -> list[str] | str:
    return (
        "everything"
        if values is None
        else sorted(value.name if isinstance(value, DType) else str(value) for value in values)
    )
