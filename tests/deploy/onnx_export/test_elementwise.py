"""Arithmetic, comparisons, logic and activations in onnxruntime return what they do in a session."""

import numpy as np
import pytest

import thalweg as tf
from tests.deploy.onnx_export.running import case, check, parameters, random

raw = tf.raw_ops
X, Y = random(2, 3), random(2, 3, seed=1)
P, Q = np.abs(X) + 0.5, np.abs(Y) + 0.5
U = np.tanh(X)
I, J = np.array([[7, -7, 5]], np.int32), np.array([[3, 3, -2], [2, -3, 4]], np.int32)
S, B = np.array([[200, 100, 3]], np.uint8), np.array([[True, False, True]])
Z = np.array([[0, 1, 2]], np.float32)
ODD = np.array([[np.nan, np.inf, -np.inf, 1]], np.float32)

UNARY = {
    "Abs": X,
    "Neg": X,
    "Sign": X,
    "Sqrt": P,
    "Exp": X,
    "Log": P,
    "Floor": X,
    "Ceil": X,
    "Tanh": X,
    "Sigmoid": X,
    "Sin": X,
    "Cos": X,
    "Tan": U,
    "Asin": U,
    "Acos": U,
    "Atan": X,
    "Sinh": X,
    "Cosh": X,
    "Asinh": X,
    "Acosh": P + 1,
    "Atanh": U,
    "Erf": X,
    "Erfc": X,
    "Round": X * 3,
    "Rint": X * 3,
    "Square": X,
    "Reciprocal": P,
    "Inv": P,
    "Rsqrt": P,
    "Expm1": X,
    "Log1p": P,
    "IsNan": ODD,
    "IsInf": ODD,
    "IsFinite": ODD,
}
BINARY = {
    "AddV2": (X, Y),
    "Add": (X, Y[:1]),
    "Sub": (X, Y),
    "Mul": (X, Y),
    "RealDiv": (X, Q),
    "Div": (I, J),
    "TruncateDiv": (I, J),
    "Pow": (P, Y),
    "Maximum": (X, Y),
    "Minimum": (X, Y),
    "SquaredDifference": (X, Y),
    "FloorDiv": (I, J),
    "FloorMod": (I, J),
    "TruncateMod": (I, J),
    "Mod": (I, J),
    "MulNoNan": (X, Z),
    "DivNoNan": (X, Z),
    "Xdivy": (Z, P),
    "Xlogy": (Z, P),
    "Xlog1py": (Z, P),
    "Less": (I, J),
    "LessEqual": (I, J),
    "Greater": (X, Y),
    "GreaterEqual": (X, Y),
    "Equal": (I, J),
    "NotEqual": (I, J),
    "LogicalAnd": (B, ~B),
    "LogicalOr": (B, ~B),
    "BitwiseAnd": (I, J),
    "BitwiseOr": (I, J),
    "BitwiseXor": (I, J),
    "RightShift": (I, np.abs(J)),
    "LeftShift": (I, np.abs(J)),
}


def _call(op, **attrs):
    return lambda x, y=None: getattr(raw, op)(**{"x": x, **({} if y is None else {"y": y})}, **attrs)


CASES = [
    *(case(op, _call(op), array) for op, array in UNARY.items()),
    *(case(op, _call(op), *arrays) for op, arrays in BINARY.items()),
    case("AddV2", lambda x, y: x + y, S, S),
    case("Mul", lambda x, y: x * y, S, S),
    case("AddV2", lambda x, y: x + y, X.astype(np.float64), Y.astype(np.float64)),
    case("Erf", tf.math.erf, X.astype(np.float64)),
    case("FloorDiv", _call("FloorDiv"), X, Y),
    case("FloorMod", _call("FloorMod"), X, Y),
    case("Less", tf.less, S, S[:, ::-1].copy()),
    case("LeftShift", _call("LeftShift"), S, np.array([[1, 2, 3]], np.uint8)),
    case("ApproximateEqual", _call("ApproximateEqual", tolerance=0.5), X, Y),
    case("Atan2", lambda y, x: raw.Atan2(y=y, x=x), *np.float32([[[1, -1, 0, 1, -1, 0]], [[2, -2, 1, -3, 0, 0]]])),
    case("LogicalNot", tf.logical_not, B),
    case("Invert", lambda x: raw.Invert(x=x), I),
    case("AddN", lambda x, y: tf.add_n([x, y, x]), X, Y),
    case("AddN", lambda x, y: tf.add_n([x, y, x]), J, J),
    case("AccumulateNV2", lambda x, y: tf.accumulate_n([x, y], shape=[2, 3]), X, Y, modes=("static",)),
    case("ClipByValue", lambda x: raw.ClipByValue(t=x, clip_value_min=-0.5, clip_value_max=0.5), X),
    case("Cast", lambda x: tf.cast(x, tf.int32), X * 3),
    case("Cast", lambda x: tf.cast(x, tf.bool), Z),
    case("AsString", tf.as_string, J),
    case("StringToNumber", lambda x: tf.strings.to_number(x, tf.float32), np.array([["1.5", "-2"]])),
    case("Relu", tf.nn.relu, X),
    case("Relu", tf.nn.relu, J.astype(np.int8)),
    case("Relu6", tf.nn.relu6, 5 * X),
    case("Elu", tf.nn.elu, X),
    case("Selu", tf.nn.selu, X),
    case("LeakyRelu", lambda x: tf.nn.leaky_relu(x, 0.3), X),
    case("Softplus", tf.nn.softplus, X),
    case("Softsign", tf.nn.softsign, X),
    case("Softmax", tf.nn.softmax, X),
    case("LogSoftmax", tf.nn.log_softmax, X),
    case("BiasAdd", lambda x: tf.nn.bias_add(x, [1.0, 2.0, 3.0]), X),
    case("BiasAdd", lambda x: tf.nn.bias_add(x, [1.0, 2.0], data_format="NCHW"), random(3, 2, 4, 5)),
    case("BiasAddV1", lambda x: raw.BiasAddV1(value=x, bias=[1.0, 2.0, 3.0]), X),
    case("L2Loss", tf.nn.l2_loss, X),
    case(
        "SoftmaxCrossEntropyWithLogits",
        lambda x, y: tf.nn.softmax_cross_entropy_with_logits(logits=x, labels=tf.nn.softmax(y)),
        X,
        Y,
    ),
    case(
        "SparseSoftmaxCrossEntropyWithLogits",
        lambda x, y: tf.nn.sparse_softmax_cross_entropy_with_logits(logits=x, labels=y),
        X,
        np.array([2, 0], np.int32),
        modes=("static", "batch"),
    ),
    case("IdentityN", lambda x, y: [each + 1 for each in tf.identity_n([x, y])], X, Y),
    case("EnsureShape", lambda x: tf.ensure_shape(x, [2, 3]), X, modes=("batch", "any")),
    case("CheckNumerics", lambda x: tf.check_numerics(x, "wrong") + 1, X),
]


@pytest.mark.parametrize(("each", "mode"), **parameters(CASES))
def test_elementwise_ops_return_the_same_values(each, mode):
    check(each, mode)
