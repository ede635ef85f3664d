import itertools

import numpy as np
import pytest
import torch

from tests.checks import check_op
from thalweg._src.base import dtypes, errors
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.infer import static_value
from thalweg._src.graph.ops import cast as cast_ops, math
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.graph.ops.polyval import polyval
from thalweg._src.graph.ops.reshape import reshape, shape
from thalweg._src.graph.ops.saturate_cast import saturate_cast
from thalweg._src.runtime.session.session import Session


def array(*dims: int, low: float = -2, high: float = 2, seed: int = 0, dtype: str = "float64") -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = rng.uniform(low, high, size=dims)
    if dtype.startswith("complex"):
        values = values + 1j * rng.uniform(low, high, size=dims)
    return np.asarray(values).astype(dtype)


def run(tensor, feeds=None):
    with Session(graph=tensor.graph) as session:
        return session.run(tensor, feeds)


UNARY = {
    "abs": (torch.abs, -2, 2),
    "negative": (torch.neg, -2, 2),
    "reciprocal": (torch.reciprocal, 0.5, 2),
    "inv": (torch.reciprocal, 0.5, 2),
    "square": (torch.square, -2, 2),
    "sqrt": (torch.sqrt, 0.1, 2),
    "rsqrt": (torch.rsqrt, 0.3, 2),
    "exp": (torch.exp, -2, 2),
    "expm1": (torch.expm1, -2, 2),
    "log": (torch.log, 0.1, 2),
    "log1p": (torch.log1p, -0.5, 2),
    "sin": (torch.sin, -2, 2),
    "cos": (torch.cos, -2, 2),
    "tan": (torch.tan, -1, 1),
    "asin": (torch.asin, -0.9, 0.9),
    "acos": (torch.acos, -0.9, 0.9),
    "atan": (torch.atan, -2, 2),
    "sinh": (torch.sinh, -2, 2),
    "cosh": (torch.cosh, -2, 2),
    "tanh": (torch.tanh, -2, 2),
    "asinh": (torch.asinh, -2, 2),
    "acosh": (torch.acosh, 1.1, 2),
    "atanh": (torch.atanh, -0.9, 0.9),
    "sigmoid": (torch.sigmoid, -2, 2),
    "sign": (torch.sign, -2, 2),
}
ROUNDING = {"ceil": torch.ceil, "floor": torch.floor, "round": torch.round, "rint": torch.round}
REAL_ONLY = {"sign"}


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str) -> None:
    reference, low, high = UNARY[name]
    build = getattr(math, name)
    check_op(build, reference, array(2, 3, low=low, high=high))
    check_op(build, reference, array(2, 3, low=low, high=high, dtype="float32"), grad=False)
    check_op(build, reference, array(0, 3, dtype="float32"))
    check_op(build, reference, array(low=low, high=high), rtol=1e-6)
    check_op(build, reference, array(2, 3, low=low, high=high, dtype="float16"), grad=False, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("name", [name for name in UNARY if name not in REAL_ONLY])
def test_unary_of_complex_numbers(name: str) -> None:
    reference, low, high = UNARY[name]
    check_op(getattr(math, name), reference, array(2, 3, low=low, high=high, dtype="complex128"))


def test_sign_of_complex_numbers() -> None:
    check_op(math.sign, torch.sgn, array(2, 3, dtype="complex64"), grad=False)


@pytest.mark.parametrize("name", ROUNDING)
def test_rounding(name: str) -> None:
    halves = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.2, 1e20, np.inf], np.float32)
    check_op(getattr(math, name), ROUNDING[name], halves, grad=False)


def test_round_does_not_change_integers() -> None:
    x = constant([1, 2])
    assert math.round(x) is x


BINARY = {
    "add": torch.add,
    "subtract": torch.sub,
    "multiply": torch.mul,
    "realdiv": torch.div,
    "divide": torch.div,
    "div": torch.div,
    "multiply_no_nan": torch.mul,
    "div_no_nan": torch.div,
    "xdivy": torch.div,
    "xlogy": torch.xlogy,
    "xlog1py": torch.special.xlog1py,
    "pow": torch.pow,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "squared_difference": lambda x, y: (x - y) ** 2,
    "atan2": torch.atan2,
    "floormod": torch.remainder,
    "truncatemod": torch.fmod,
}
SHAPES = [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2, 3)), ((4, 2, 3), (2, 1)), ((0, 3), (1, 3))]


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("dims", SHAPES)
def test_binary_broadcasts(name: str, dims: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    x, y = array(*dims[0], low=0.5), array(*dims[1], low=0.5, seed=1)
    check_op(getattr(math, name), BINARY[name], x, y, rtol=1e-6)


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "realdiv", "pow", "div_no_nan", "xdivy"])
def test_binary_of_complex_numbers(name: str) -> None:
    x, y = array(2, 3, dtype="complex128"), array(3, seed=1, dtype="complex128")
    check_op(getattr(math, name), BINARY[name], x, y)


@pytest.mark.parametrize(
    "name", ["sqrt", "rsqrt", "reciprocal", "tanh", "sigmoid", "exp", "log", "sin", "atan", "expm1"]
)
def test_second_order(name: str) -> None:
    value = array(2, 3, low=0.5)
    x = placeholder("float64", [None, 3])
    (first,) = gradients(getattr(math, name)(x), [x])
    (second,) = gradients(math.square(first), [x])
    t = torch.from_numpy(value).requires_grad_(True)
    (wanted,) = torch.autograd.grad(UNARY[name][0](t).sum(), t, create_graph=True)
    (wanted,) = torch.autograd.grad((wanted**2).sum(), t)
    np.testing.assert_allclose(run(second, {x: value}), wanted.numpy(), rtol=1e-8)


@pytest.mark.parametrize("name", ["multiply", "realdiv", "pow", "squared_difference", "atan2", "maximum", "div_no_nan"])
def test_second_order_of_two(name: str) -> None:
    values = array(2, 3, low=0.5), array(3, low=0.5, seed=1)
    x, y = placeholder("float64", [2, 3]), placeholder("float64", [None])
    firsts = gradients(getattr(math, name)(x, y), [x, y])
    seconds = gradients([math.square(f) for f in firsts], [x, y], unconnected_gradients="zero")
    tx, ty = (torch.from_numpy(v).requires_grad_(True) for v in values)
    wanted = torch.autograd.grad(BINARY[name](tx, ty).sum(), [tx, ty], create_graph=True)
    total = sum((w**2).sum() for w in wanted)
    wanted = torch.autograd.grad(total, [tx, ty], allow_unused=True) if total.requires_grad else (None, None)
    for second, w, value in zip(seconds, wanted, values):
        found = run(second, {x: values[0], y: values[1]})
        np.testing.assert_allclose(found, np.zeros_like(value) if w is None else w.numpy(), rtol=1e-8)


SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGER_OPS = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "floordiv": np.floor_divide,
    "floormod": np.remainder,
    "truncatediv": lambda x, y: np.fix(x.astype(np.longdouble) / y.astype(np.longdouble)).astype(x.dtype),
    "div_op": lambda x, y: np.fix(x.astype(np.longdouble) / y.astype(np.longdouble)).astype(x.dtype),
}


@pytest.mark.parametrize("name", INTEGER_OPS)
@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED)
def test_integers(name: str, dtype: str) -> None:
    limits = np.iinfo(dtype)
    rng = np.random.default_rng(3)
    x = rng.integers(limits.min // 2, limits.max // 2, size=(2, 5), dtype=dtype, endpoint=True)
    y = rng.integers(1, 9, size=(5,)).astype(dtype)
    if limits.min < 0:
        y[1::2] = -y[1::2]
    x[0, 0] = limits.max
    a, b = placeholder(dtype), placeholder(dtype)
    with np.errstate(over="ignore"):
        wanted = INTEGER_OPS[name](x, y)
    found = run(getattr(math, name)(a, b), {a: x, b: y})
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", ["floordiv", "truncatediv", "div_op", "floormod", "truncatemod", "mod_op"])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_the_least_integer_by_minus_one_wraps_around(name: str, dtype: str) -> None:
    least = np.iinfo(dtype).min
    x, y = placeholder(dtype), placeholder(dtype)
    found = run(getattr(math, name)(x, y), {x: np.full(17, least, dtype), y: np.full(17, -1, dtype)})
    np.testing.assert_array_equal(found, np.full(17, 0 if "mod" in name else least, dtype))


UNCHECKED = pytest.mark.cpu_only(reason="a GPU does not check divisors; those of other types stay on the host")


@pytest.mark.parametrize("name", ["floordiv", "truncatediv", "div_op", "floormod", "truncatemod", "div"])
@pytest.mark.parametrize("dtype", ["int32", "int64", pytest.param("uint16", marks=UNCHECKED), "uint64"])
def test_integer_division_by_zero(name: str, dtype: str) -> None:
    if name == "truncatemod" and dtype.startswith("u"):
        return
    x, y = placeholder(dtype, [None]), placeholder(dtype, [None], name="y")
    with pytest.raises(errors.InvalidArgumentError, match="Integer division by zero"):
        run(getattr(math, name)(x, y), {x: np.array([1, 2], dtype), y: np.array([1, 0], dtype)})


def test_floats_divide_as_tensorflow_does() -> None:
    inf, nan = np.inf, np.nan
    x, y = np.float32([1.0, inf, -1.0, 1.0]), np.float32([0.1, 2.0, 0.0, 0.0])
    np.testing.assert_array_equal(run(math.floordiv(x, y)), [10, inf, -inf, inf])
    np.testing.assert_array_equal(run(math.truncatediv(np.float32([-7, 7]), np.float32([2, 2]))), [-3, 3])
    found = run(math.floormod(np.float32([1, 5, -5, 5]), np.float32([0, -3, 3, inf])))
    np.testing.assert_array_equal(found, [nan, -1, 1, 5])
    np.testing.assert_array_equal(run(math.truncatemod(np.float32([1, 5, -5]), np.float32([0, -3, 3]))), [nan, 2, -2])


def test_no_nan() -> None:
    nan = np.nan
    np.testing.assert_array_equal(run(math.multiply_no_nan([nan, 1.0], [0.0, nan])), [0, nan])
    np.testing.assert_array_equal(run(math.div_no_nan([nan, 1.0], [0.0, 0.0])), [0, 0])
    np.testing.assert_array_equal(run(math.xlogy([0.0, 0.0], [nan, 0.0])), [0, 0])
    np.testing.assert_array_equal(run(math.xdivy([0.0, 1.0], [nan, 0.0])), [0, np.inf])
    np.testing.assert_array_equal(run(math.reciprocal_no_nan([0.0, 2.0])), [0, 0.5])
    x = constant([0.0, 2.0])
    np.testing.assert_array_equal(run(gradients(math.div_no_nan(constant([3.0, 4.0]), x), x)[0]), [0, -1])


@pytest.mark.parametrize("exponent", [2, 3, 0.5, -1, [2.0, 3.0, 0.0]])
def test_pow_with_a_constant(exponent: object) -> None:
    wanted = torch.tensor(exponent, dtype=torch.float64)
    check_op(lambda x: math.pow(x, exponent), lambda x: torch.pow(x, wanted), array(2, 3, low=0.5))


def test_pow_of_integers() -> None:
    x, y = placeholder("int32"), placeholder("int32")
    z = math.pow(x, y)
    np.testing.assert_array_equal(run(z, {x: [2, -3], y: [10, 3]}), [1024, -27])
    with pytest.raises(errors.InvalidArgumentError, match="negative power"):
        run(z, {x: [2], y: [-1]})


def test_gradient_of_pow_at_zero() -> None:
    x, y = constant([0.0, -2.0]), constant([2.0, 2.0])
    by_x, by_y = gradients(math.pow(x, y), [x, y])
    np.testing.assert_array_equal(run(by_x), [0, -4])
    np.testing.assert_array_equal(run(by_y), [0, 0])


def test_gradient_of_pow_stays_in_the_range_of_float16() -> None:
    """The numbers of TensorFlow 1.15.5, which multiplies by the incoming gradient first."""
    x, y, grad = (constant(numbers, "float16") for numbers in ([1e-4, 1e-4], [-1, -1], [0.125, 0]))
    np.testing.assert_array_equal(run(gradients(math.pow(x, y), [x, y], grad)[1]), [-11512, 0])


def test_ties_of_maximum_go_to_the_first() -> None:
    x, y = constant([1.0, 2.0]), constant([1.0, 3.0])
    by_x, by_y = gradients(math.maximum(x, y), [x, y])
    np.testing.assert_array_equal([run(by_x), run(by_y)], [[1, 0], [0, 1]])


def test_shapes_that_do_not_broadcast() -> None:
    with pytest.raises(ValueError, match=r"Dimensions must be equal|Incompatible shapes"):
        math.add(placeholder("float32", [2, 3]), placeholder("float32", [4]))
    x, y = placeholder("float32", name="left"), placeholder("float32")
    with pytest.raises(errors.InvalidArgumentError, match=r"Dimensions must be equal|Incompatible shapes"):
        run(math.add(x, y), {x: np.ones((2, 3)), y: np.ones(4)})


@pytest.mark.parametrize("function", [math.add, math.add_op])
def test_strings_are_concatenated(function) -> None:
    found = run(function(constant(["a", "b"]), constant("c")))
    assert found.tolist() == [b"ac", b"bc"]


def test_truediv_of_integers() -> None:
    for dtype, wide in {"int8": "float32", "uint16": "float32", "int32": "float64", "uint64": "float64"}.items():
        assert math.truediv(constant(1, dtype), constant(2, dtype)).dtype == wide
    assert run(math.truediv(3, 2)) == 1.5
    assert run(math.div(-3, 2)) == -2
    with pytest.raises(TypeError, match="one dtype"):
        math.truediv(constant(1), constant(np.int64(2)))


# Casts.

ALL = [*SIGNED, *UNSIGNED, "float16", "float32", "float64", "bool", "complex64", "complex128"]


@pytest.mark.parametrize(("source", "wanted"), list(itertools.product(ALL, ALL)))
def test_cast(source: str, wanted: str) -> None:
    x = np.array([0, 1, 7.75, 100.5], np.float64).astype(source)
    found = run(cast_ops.cast(constant(x), wanted))
    assert found.dtype == wanted
    np.testing.assert_array_equal(found, (x.real if source.startswith("complex") else x).astype(wanted))


def test_cast_of_bfloat16() -> None:
    found = run(cast_ops.cast(cast_ops.cast([1.5, -2.75], "bfloat16"), "float32"))
    np.testing.assert_array_equal(found, [1.5, -2.75])


def test_out_of_range_casts_do_not_fail() -> None:
    for wanted in (*SIGNED, *UNSIGNED):
        assert run(cast_ops.cast(constant([np.nan, np.inf, -np.inf, 1e30, -5.0]), wanted)).dtype == wanted
    np.testing.assert_array_equal(run(cast_ops.cast([np.nan, 0.5, 0.0], "bool")), [True, True, False])


def test_cast_truncates_towards_zero() -> None:
    np.testing.assert_array_equal(run(cast_ops.to_int32([-1.7, 1.7])), [-1, 1])


def test_cast_of_strings_is_rejected() -> None:
    with pytest.raises(errors.UnimplementedError, match="Cast string to int32 is not supported"):
        run(cast_ops.cast(["a"], "int32"))


def test_cast_to_the_same_type_adds_no_operation() -> None:
    x = constant(1.0)
    assert cast_ops.cast(x, "float32") is x
    slices = IndexedSlices(x, constant([0]))
    assert cast_ops.cast(slices, "float64").values.dtype == "float64"


def test_gradient_of_cast() -> None:
    x = constant([1.0, 2.0])
    (grad,) = gradients(math.square(cast_ops.cast(x, "float64")), x)
    assert grad.dtype == "float32"
    np.testing.assert_array_equal(run(grad), [2, 4])
    y = constant([1, 2])
    assert gradients(cast_ops.cast(y, "float32"), y) == [None]


def test_saturate_cast() -> None:
    inf = np.inf
    np.testing.assert_array_equal(run(saturate_cast([-5, 300], "uint8")), [0, 255])
    found = run(saturate_cast(constant([inf, -inf, 1e20, -1.7, 300.7]), "int32"))
    np.testing.assert_array_equal(found, [2147483520, -(2**31), 2147483520, -1, 300])
    assert run(saturate_cast(constant(1e300, "float64"), "float32")) == np.finfo("float32").max


# Sums of several tensors.


@pytest.mark.parametrize("function", [math.add_n, math.accumulate_n])
@pytest.mark.parametrize("count", [1, 2, 3, 20])
def test_sums(function, count: int) -> None:
    values = [array(2, 3, seed=i) for i in range(count)]
    check_op(lambda *x: function(list(x)), lambda *x: sum(x[1:], x[0]), *values)


@pytest.mark.parametrize("dtype", ["uint16", "uint64", "int8", "bool"])
def test_sums_of_integers(dtype: str) -> None:
    if dtype == "bool":
        with pytest.raises(TypeError, match="bool"):
            math.add_n([constant([True]), constant([False])])
        return
    big = np.iinfo(dtype).max
    x = constant(np.array([big, 1], dtype))
    np.testing.assert_array_equal(run(math.add_n([x, x, x])), np.array([big, 1], dtype) * np.array(3, dtype))


def test_sums_do_not_change_their_inputs() -> None:
    x = placeholder("float32", [2])
    y = math.add(x, 1.0)
    total = math.add_n([y, y, y])
    with Session() as session:
        np.testing.assert_array_equal(session.run([y, total], {x: [1, 2]}), [[2, 3], [6, 9]])


def test_sums_need_equal_shapes() -> None:
    with pytest.raises(ValueError, match="must be equal"):
        math.add_n([placeholder("float32", [2]), placeholder("float32", [3])])
    x, y = placeholder("float32"), placeholder("float32")
    for total in (math.add_n([x, y]), math.accumulate_n([x, y])):
        with pytest.raises(errors.InvalidArgumentError, match=r"inputs of one shape|Incompatible shapes"):
            run(total, {x: [1, 2], y: [1]})


def test_sums_need_inputs() -> None:
    for bad in ([], constant(1.0), None):
        with pytest.raises(ValueError, match="one or more Tensors"):
            math.add_n(bad)
    with pytest.raises(TypeError, match="tensor_dtype"):
        math.accumulate_n([constant(1.0)], tensor_dtype="int32")


@pytest.mark.parametrize("build", [math.add, math.subtract, math.multiply, math.maximum])
def test_sums_of_indexed_slices(build) -> None:
    x, y = constant([[1.0], [2.0], [3.0]]), constant(1.0)
    rows = IndexedSlices(constant([[5.0]]), constant([1]), constant([3, 1]))
    by_x, by_y = gradients(build(x, y), [x, y], grad_ys=[rows])
    np.testing.assert_array_equal(run(by_x), [[0], [5], [0]])
    assert run(by_y) == {math.add: 5, math.subtract: -5, math.multiply: 10, math.maximum: 0}[build]


# Complex parts, limits, polynomials.


def test_complex_parts() -> None:
    z = array(2, 3, dtype="complex128")
    for name in ("real", "imag", "angle", "abs"):
        check_op(getattr(math, name), getattr(torch, name), z)
    check_op(math.conj, lambda x: torch.conj(x).resolve_conj(), z)
    check_op(math.complex, torch.complex, array(2, 3), array(2, 3, seed=1))
    check_op(math.complex, lambda x, y: torch.complex(x, y.expand(2, 3)), array(2, 3), array(3, seed=1))
    check_op(lambda x: math.abs(math.complex(x, x)), lambda x: torch.abs(torch.complex(x, x)), array(2, 3))


def test_complex_parts_of_real_numbers() -> None:
    x = constant([1.0, -2.0, 0.0])
    assert math.real(x) is x and math.conj(x) is x
    np.testing.assert_array_equal(run(math.imag(x)), [0, 0, 0])
    np.testing.assert_allclose(run(math.angle(x)), [0, np.pi, 0])
    with pytest.raises(TypeError, match="complex type"):
        math.complex(constant(1), constant(2))


@pytest.mark.parametrize("limits", [(-0.5, 0.5), (1.0, -1.0), ([-1.0, -0.5, 0.0], 1.0)])
def test_clip_by_value(limits: tuple[object, object]) -> None:
    low, high = (torch.tensor(limit, dtype=torch.float64) for limit in limits)
    check_op(
        lambda x: math.clip_by_value(x, *limits), lambda x: torch.maximum(torch.minimum(x, high), low), array(2, 3)
    )


@pytest.mark.parametrize("dtype", ["int32", "uint16", "uint64", "float16"])
def test_clip_by_value_of_other_types(dtype: str) -> None:
    x = constant(np.array([0, 3, 200], dtype))
    np.testing.assert_array_equal(run(math.clip_by_value(x, 1, 100)), [1, 3, 100])


def test_clip_by_value_with_limits_that_are_inputs() -> None:
    check_op(
        math.clip_by_value,
        lambda x, low, high: torch.clamp(x, low, high),
        array(2, 3),
        np.array(-0.5),
        np.array(0.5),
    )
    with pytest.raises(ValueError):
        math.clip_by_value(placeholder("float32", [3]), np.zeros((2, 3), np.float32), 1.0)


def test_clip_by_value_keeps_slices() -> None:
    slices = IndexedSlices(constant([[1.0], [5.0]]), constant([0, 2]))
    clipped = math.clip_by_value(slices, 2.0, 3.0)
    assert clipped.indices is slices.indices
    np.testing.assert_array_equal(run(clipped.values), [[2], [3]])


def test_polyval() -> None:
    check_op(lambda x: polyval([1.0, -2.0, 3.0], x), lambda x: x * x - 2 * x + 3, array(2, 3))
    np.testing.assert_array_equal(run(polyval([], constant([1.0, 2.0]))), [0, 0])
    with pytest.raises(ValueError, match="list"):
        polyval(constant([1.0]), 2.0)


def test_scalar_mul() -> None:
    np.testing.assert_array_equal(run(math.scalar_mul(2, constant([1.0, 2.0]))), [2, 4])
    slices = math.scalar_mul(2.0, IndexedSlices(constant([1.0]), constant([4])))
    assert isinstance(slices, IndexedSlices) and run(slices.values) == [2]
    with pytest.raises(ValueError, match="Only scalar multiply works"):
        math.scalar_mul([1.0, 2.0], constant([1.0, 2.0]))


def test_nextafter() -> None:
    check_op(math.nextafter, torch.nextafter, array(2, 3), array(3, seed=1), grad=False)


# Static values.


def test_shape_arithmetic_is_known_at_graph_construction() -> None:
    x = placeholder("float32", [None, 6, 4])
    dims = shape(x)
    assert static_value(dims * 2 + 1).tolist() == [None, 13, 9]
    assert static_value(dims[1] // 4).item() == 1
    assert static_value(-dims[1] % 4).item() == 2
    assert static_value(math.maximum(dims[1], dims[2])).item() == 6
    assert static_value(cast_ops.cast(dims, "int64") - 1).tolist() == [None, 5, 3]
    assert static_value(math.truncatediv(-dims[1], 4)).item() == -1
    assert static_value(dims[1] // 0) is None
    assert static_value(cast_ops.cast(constant(3.7), "int32")).item() == 3
    assert static_value(constant(2**31 - 1) + 1) is None
    assert reshape(x, [-1, dims[1] * dims[2]]).dims == (None, 24)


def test_wrong_types_are_rejected() -> None:
    with pytest.raises(TypeError, match="not in list of allowed values"):
        math.exp(constant(1))
    with pytest.raises(TypeError, match="does not match type"):
        math.add(constant(1.0), constant(1))
    with pytest.raises(errors.UnimplementedError):
        run(math.realdiv(constant(1), constant(2)))


def test_dtypes_agree_with_the_facts() -> None:
    assert dtypes.bool not in math.add_v2_op.attrs["T"].allowed
    with Graph().as_default():
        assert math.add(1, 2).op.type == "AddV2" and math.add("a", "b").op.type == "Add"
