"""The functions of `tensorflow.python.ops.gen_*_ops`: every op under its name in lower case.

Arguments are positional or keywords: the inputs, the attributes without a default, and those with one. A leading
underscore, which earlier versions of TensorFlow put before the names of ops that are not public, is ignored.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from thalweg._src.compat.raw_ops import op_doc
from thalweg._src.graph.op_def import OPS, OpDef

_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=.)(?=[A-Z][a-z])")


@functools.cache
def function_name(op_type: str) -> str:
    """Returns the name of an op's function: "conv2d_backprop_input" for "Conv2DBackpropInput"."""
    return _WORD.sub("_", op_type).lower()


def __getattr__(name: str) -> Callable[..., Any]:
    public_name = name.lstrip("_")
    for op_type in [] if name.startswith("__") else OPS:
        if not op_type.startswith("_") and function_name(op_type) == public_name:
            return _function(OPS.lookup(op_type))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@functools.cache
def _function(definition: OpDef) -> Callable[..., Any]:
    order = sorted(definition.explicit, key=definition.defaults.__contains__)
    names = [*(arg.name for arg in definition.inputs), *order, "name"]

    def function(*args: Any, **arguments: Any) -> Any:
        if len(args) > len(names):
            raise TypeError(f"{function.__name__} takes {len(names)} arguments, {len(args)} were given")
        positional = dict(zip(names, args))
        twice = positional.keys() & arguments.keys()
        if twice:
            raise TypeError(f"{function.__name__} received {', '.join(sorted(twice))} twice")
        return definition.many(**positional, **arguments)

    function.__name__ = function.__qualname__ = function_name(definition.name)
    function.__doc__ = op_doc(definition)
    return function


def __dir__() -> list[str]:
    return sorted(function_name(op_type) for op_type in OPS if not op_type.startswith("_"))
