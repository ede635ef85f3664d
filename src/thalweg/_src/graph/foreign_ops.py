"""TensorFlow's operations without an implementation here: their signatures, so that graphs with them can be read.

A graph often contains operations that a program never runs: those of training in a model for inference, for instance.
"""

from __future__ import annotations

import functools
import gzip
import json
from pathlib import Path
from typing import Any

from thalweg._src.base import dtypes, errors
from thalweg._src.base.dtypes import DType
from thalweg._src.graph.attr import REQUIRED, AttrDef
from thalweg._src.graph.op_def import OPS, ArgDef, Facts, OpDef, unknown_shapes

_FILE = Path(__file__).with_suffix(".json.gz")  # which tools/foreign_ops.py writes
_NAMES = {"float": "float32", "double": "float64", "half": "float16"}


def find_op(name: str) -> OpDef:
    """Returns the definition of an op: the registered one, or one without kernels that has TensorFlow's signature."""
    definition = OPS.get(name) or _foreign_op(name)
    if definition is None:
        try:
            return OPS.lookup(name)
        except LookupError as error:
            raise errors.NotFoundError(
                None, None, f"Op type not registered {name!r} in binary running on this machine: {error}"
            ) from None
    return definition


@functools.cache
def _foreign_op(name: str) -> OpDef | None:
    signature = _signatures().get(name)
    if signature is None:
        return None
    # What the op does is not known. Stateful is the answer on which no pass merges, folds, moves or drops it.
    inputs, outputs, attrs = signature
    return OpDef(
        name,
        tuple(_argument(arg, kind, attrs) for arg, kind in inputs),
        tuple(_argument(arg, kind, attrs) for arg, kind in outputs),
        {key: _attribute(*attr) for key, attr in attrs.items()},
        infer=unknown_shapes,
        evaluate=None,
        facts=Facts(stateful=True),
        host=frozenset(),
        numbers=frozenset(),
        differentiable=True,
        from_shapes=None,
        doc="An operation of TensorFlow that has no kernel here.",
    )


@functools.cache
def _signatures() -> dict[str, Any]:
    return json.loads(gzip.decompress(_FILE.read_bytes()))  # type: ignore[no-any-return]


def _argument(name: str, kind: str, attrs: dict[str, Any]) -> ArgDef:
    if kind.startswith("list("):
        return ArgDef(name, type_list_attr=kind[5:-1])
    number, _, base = kind.removesuffix("&").rpartition("*")  # what is passed by reference is a tensor here
    if base in attrs:
        return ArgDef(name, type_attr=base, number_attr=number or None)
    return ArgDef(name, dtype=_dtype(base), number_attr=number or None)


def _attribute(kind: str, default: Any = REQUIRED) -> AttrDef:
    if default is REQUIRED or kind in (
        "tensor",
        "list(tensor)",
    ):  # the tensors are text, and of no use without a kernel
        return AttrDef(kind, None if kind == "tensor" else default)
    if kind == "type":
        default = _dtype(default)
    elif kind == "list(type)":
        default = list(map(_dtype, default))
    elif kind == "shape" and default == "unknown":
        default = None
    return AttrDef(kind, AttrDef(kind).normalize(default))


def _dtype(name: str) -> DType:
    return dtypes.as_dtype(_NAMES.get(name, name))
