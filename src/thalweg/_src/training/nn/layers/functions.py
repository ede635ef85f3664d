"""Functional interface of layers: each call creates a layer and applies it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from thalweg._src.training.nn.layers.base import Layer, snake_case

_PLAIN = inspect.Parameter.POSITIONAL_OR_KEYWORD


def function_of(layer_class: type[Layer], has_reuse: bool = True) -> Callable[..., Any]:
    """Returns a function of the inputs and the constructor arguments of a layer.

    Args:
        layer_class: the class of the layer.
        has_reuse: whether the function has a last argument, `reuse`, to share variables of the same name.
    """
    layer_parameters = [p for p in inspect.signature(layer_class).parameters.values() if p.kind is _PLAIN]
    last = [inspect.Parameter("reuse", _PLAIN, default=None)] if has_reuse else []
    signature = inspect.Signature([inspect.Parameter("inputs", _PLAIN), *layer_parameters, *last])

    def function(*args: Any, **kwargs: Any) -> Any:
        arguments = signature.bind(*args, **kwargs).arguments
        inputs, reuse = arguments.pop("inputs"), arguments.pop("reuse", None)
        if has_reuse:
            arguments.update(_reuse=reuse, _scope=arguments.get("name"))
        return layer_class(**arguments)(inputs)

    function.__name__ = function.__qualname__ = snake_case(layer_class.__name__)
    summary = (layer_class.__doc__ or "").partition("\n")[0]
    function.__doc__ = (
        f"{summary}\n\nCreates a layer of the class `{layer_class.__name__}` and applies it to the inputs."
    )
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__parameters_of__ = layer_class  # type: ignore[attr-defined]
    return function
