"""tf.lite: refused with the way that a trained model takes to other runtimes instead, ONNX."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, NoReturn

from thalweg._src.base import errors
from thalweg._src.base.export import export


def _refuse(name: str, way: str) -> NoReturn:
    message = errors.describe(
        f"tf.lite.{name}: there is no TensorFlow Lite here, neither its files nor its interpreter.",
        expected="a model for another runtime as ONNX, which ONNX Runtime and most compilers for devices read",
        hint=f"{way}; tf.export.calibrate or tf.contrib.quantize rounds weights and activations to eight bits first",
    )
    raise errors.UnimplementedError(None, None, message)


def _constructor(name: str, source: str, way: str) -> Any:
    def refuse(cls: type, *args: Any, **kwargs: Any) -> NoReturn:
        _refuse(f"TFLiteConverter.{name}", way)

    refuse.__name__ = name
    refuse.__doc__ = f"Raises UnimplementedError, which says how {source} is exported as ONNX."
    return classmethod(refuse)


@export("lite.TFLiteConverter", "lite.TocoConverter", "contrib.lite.TFLiteConverter", "contrib.lite.TocoConverter")
class TFLiteConverter:
    """The converter to TensorFlow Lite, whose constructors raise UnimplementedError.

    Args:
        graph_def: Ignored.
    """

    def __init__(
        self,
        graph_def: Any,
        input_tensors: Any,
        output_tensors: Any,
        input_arrays_with_shape: Any = None,
        output_arrays: Any = None,
    ) -> None:
        _refuse("TFLiteConverter", "export a session with tf.onnx.from_session")

    from_session: Callable[..., Any] = _constructor(
        "from_session", "the graph of a session", "export it with tf.onnx.from_session"
    )
    from_frozen_graph: Callable[..., Any] = _constructor(
        "from_frozen_graph", "a frozen graph", "`thalweg export graph.pb --onnx model.onnx --inputs x --outputs y`"
    )
    from_saved_model: Callable[..., Any] = _constructor(
        "from_saved_model", "a SavedModel", "`thalweg export FOLDER --onnx model.onnx`"
    )
    from_keras_model_file: Callable[..., Any] = _constructor(
        "from_keras_model_file", "the file of a Keras model", "`thalweg export model.h5 --onnx model.onnx`"
    )
    from_keras_model: Callable[..., Any] = _constructor(
        "from_keras_model", "a Keras model", "model.save('model.h5'), then `thalweg export model.h5 --onnx model.onnx`"
    )
    from_concrete_functions: Callable[..., Any] = _constructor(
        "from_concrete_functions", "a function", "call it in a graph, and export that with tf.onnx.from_session"
    )


@export("lite.Interpreter", "contrib.lite.Interpreter")
class Interpreter:
    """The interpreter of TensorFlow Lite, whose constructor raises UnimplementedError.

    Args:
        model_path: Ignored.
    """

    def __init__(self, model_path: str | None = None, model_content: bytes | None = None) -> None:
        _refuse("Interpreter", "run a SavedModel with tf.contrib.predictor, or an ONNX model with ONNX Runtime")


@export("lite.toco_convert", "contrib.lite.toco_convert")
def toco_convert(input_data: object, input_tensors: object, output_tensors: object) -> NoReturn:
    """Raises UnimplementedError, which says how a graph is exported as ONNX."""
    _refuse("toco_convert", "export a session with tf.onnx.from_session")


@export("lite.OpHint", "contrib.lite.OpHint")
class OpHint:
    """A hint which operations of a graph become one of TensorFlow Lite, whose constructor raises UnimplementedError.

    Args:
        level: Ignored.
    """

    def __init__(self, function_name: str, level: int = 1, children_inputs_mappings: Any = None) -> None:
        _refuse("OpHint", "export a session with tf.onnx.from_session")


@export("lite.RepresentativeDataset")
class RepresentativeDataset:
    """Samples to quantize a model with, whose constructor raises UnimplementedError."""

    def __init__(self, input_gen: Callable[[], Any]) -> None:
        _refuse("RepresentativeDataset", "pass the samples to tf.export.calibrate, then export its graph")


@export("lite.TargetSpec")
class TargetSpec:
    """What a device supports, whose constructor raises UnimplementedError."""

    def __init__(self, supported_ops: Any = None, supported_types: Any = None) -> None:
        _refuse("TargetSpec", "export a session with tf.onnx.from_session")


@export("lite.OpsSet")
class OpsSet(Enum):
    """Sets of operations that a device may support."""

    TFLITE_BUILTINS = "TFLITE_BUILTINS"
    SELECT_TF_OPS = "SELECT_TF_OPS"
    TFLITE_BUILTINS_INT8 = "TFLITE_BUILTINS_INT8"


@export("lite.Optimize")
class Optimize(Enum):
    """What a conversion optimizes for."""

    DEFAULT = "DEFAULT"
    OPTIMIZE_FOR_SIZE = "OPTIMIZE_FOR_SIZE"
    OPTIMIZE_FOR_LATENCY = "OPTIMIZE_FOR_LATENCY"
