"""Layers with weights: the parameters that all of them have, and what is done around the layer itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from thalweg._src.base.signatures import parameter, taking
from thalweg._src.compat.contrib.framework.variables import layer_scope
from thalweg._src.compat.contrib.layers.initializers import xavier_initializer
from thalweg._src.compat.contrib.layers.outputs import add_to_variable_collections, finished
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops import nn
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.variables.initializers import Zeros

ZEROS = Zeros()
XAVIER = xavier_initializer()
_RENAMED = {"bias": "biases", "kernel": "weights"}
_KIND = inspect.Parameter.POSITIONAL_OR_KEYWORD
_SHARED = {
    "activation_fn": nn.relu,
    "normalizer_fn": None,
    "normalizer_params": None,
    "weights_initializer": XAVIER,
    "weights_regularizer": None,
    "biases_initializer": ZEROS,
    "biases_regularizer": None,
    "reuse": None,
    "variables_collections": None,
    "outputs_collections": None,
    "trainable": True,
    "scope": None,
}


def weighted_layer(default_scope: str) -> Callable[[Callable[..., Any]], Callable[..., Tensor]]:
    """Decorator: makes a layer of a function that returns a class of `tf.layers` and its arguments for the inputs.

    The parameters for activation, normalizer, initializers, regularizers, collections and scope are added. Keyword-only
    parameters come after them.
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Tensor]:
        parameters = inspect.signature(function).parameters.values()
        first = [declared for declared in parameters if declared.kind is _KIND]
        shared = [parameter(name, default) for name, default in _SHARED.items()]
        last = [declared.replace(kind=_KIND) for declared in parameters if declared.kind is not _KIND]

        @wraps(function)
        def layer(**values: Any) -> Tensor:
            options = {name: values.pop(name) for name in _SHARED}
            with layer_scope(options["scope"], default_scope, values["inputs"], options["reuse"], _RENAMED) as opened:
                values["inputs"] = convert_to_tensor(values["inputs"])
                layer_class, arguments = function(**values)
                return _applied(layer_class, arguments, values["inputs"], opened, options)

        return taking(inspect.Signature([*first, *shared, *last]), layer)

    return declare


def _applied(
    layer_class: Any, arguments: dict[str, Any], inputs: Tensor, opened: Any, options: dict[str, Any]
) -> Tensor:
    """Returns the output of a new layer, after normalizer and activation."""
    layer = layer_class(
        **arguments,
        use_bias=bool(not options["normalizer_fn"] and options["biases_initializer"]),
        kernel_initializer=options["weights_initializer"],
        bias_initializer=options["biases_initializer"],
        kernel_regularizer=options["weights_regularizer"],
        bias_regularizer=options["biases_regularizer"],
        trainable=options["trainable"],
        name=opened.name,
        dtype=inputs.dtype.base_dtype,
        _scope=opened,
        _reuse=options["reuse"],
    )
    outputs = layer(inputs)
    add_to_variable_collections(layer.kernel, options["variables_collections"], "weights")
    add_to_variable_collections(layer.bias, options["variables_collections"], "biases")
    normalizer = options["normalizer_fn"], options["normalizer_params"]
    return finished(outputs, opened, *normalizer, options["activation_fn"], options["outputs_collections"])
