"""tf.lite: what is refused says how a model is exported instead."""

import pytest

import thalweg as tf


@pytest.mark.parametrize(
    ("constructor", "arguments", "way"),
    [
        ("from_session", (None, [], []), "tf.onnx.from_session"),
        ("from_frozen_graph", ("graph.pb", ["x"], ["y"]), "thalweg export graph.pb --onnx model.onnx"),
        ("from_saved_model", ("folder",), "thalweg export FOLDER --onnx model.onnx"),
        ("from_keras_model_file", ("model.h5",), "thalweg export model.h5 --onnx model.onnx"),
        ("from_keras_model", (None,), "model.save"),
        ("from_concrete_functions", ([],), "tf.onnx.from_session"),
    ],
)
def test_converters_show_the_way_to_onnx(constructor, arguments, way):
    for converter in (tf.lite.TFLiteConverter, tf.contrib.lite.TocoConverter):
        with pytest.raises(tf.errors.UnimplementedError, match=f"TFLiteConverter.{constructor}: there is no") as found:
            getattr(converter, constructor)(*arguments)
        assert way in str(found.value) and "tf.export.calibrate" in str(found.value)


def test_converter_interpreter_and_function_are_refused():
    refused = {tf.lite.TFLiteConverter: 3, tf.lite.Interpreter: 1, tf.lite.toco_convert: 3}
    refused |= {tf.lite.OpHint: 1, tf.lite.RepresentativeDataset: 1, tf.lite.TargetSpec: 0}
    for function, arguments in refused.items():
        with pytest.raises(tf.errors.UnimplementedError, match="ONNX"):
            function(*[None] * arguments)


def test_the_functions_that_errors_name_exist():
    assert tf.onnx.from_session and tf.export.calibrate and tf.contrib.quantize and tf.contrib.predictor


def test_choices_are_values():
    assert tf.lite.Optimize.DEFAULT.value == "DEFAULT" and tf.lite.OpsSet.SELECT_TF_OPS.value == "SELECT_TF_OPS"
