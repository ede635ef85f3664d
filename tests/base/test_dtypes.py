import copy
import pickle
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests import children
from thalweg._src.base import dtypes as dt
from thalweg._src.base.dtypes import as_dtype


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (dt.int8, dt.int8),
        ("float32", dt.float32),
        ("float", dt.float32),
        ("half", dt.float16),
        ("double", dt.float64),
        ("float32_ref", dt.float32._as_ref),
        ("half_ref", dt.float16._as_ref),
        ("qint8", dt.qint8),
        (1, dt.float32),
        (101, dt.float32._as_ref),
        (np.float16, dt.float16),
        (np.longlong, dt.int64),
        (np.bool_, dt.bool),
        (np.dtype(">f4"), dt.float32),
        (np.dtype("S5"), dt.string),
        (np.dtype("U5"), dt.string),
        (np.str_, dt.string),
        (np.dtype(object), dt.string),
        (np.dtype([("qint8", np.int8)]), dt.qint8),
        (np.zeros(2, np.uint16), dt.uint16),
        (ml_dtypes.bfloat16, dt.bfloat16),
        (np.dtype(ml_dtypes.bfloat16), dt.bfloat16),
        (float, dt.float32),
        (int, dt.int64),
        (bool, dt.bool),
        (complex, dt.complex128),
        (str, dt.string),
        (bytes, dt.string),
        (object, dt.string),
    ],
)
def test_as_dtype(value: Any, expected: dt.DType) -> None:
    assert as_dtype(value) is expected
    assert expected == value


@pytest.mark.parametrize("value", ["foo", "f4", None, 999, 1.0, list, np.longdouble, np.dtype([("a", "i4")]), [1]])
def test_as_dtype_rejects_invalid_values(value: Any) -> None:
    with pytest.raises(TypeError, match="Cannot convert"):
        as_dtype(value)
    assert dt.float32 != value


def test_similar_names_are_suggested() -> None:
    with pytest.raises(TypeError, match="Did you mean 'float32'"):
        as_dtype("flaot32")


def test_enum_values_match_tensorflow() -> None:
    names = (
        "float32 float64 int32 uint8 int16 int8 string complex64 int64 bool qint8 quint8 qint32 bfloat16 qint16 "
        "quint16 uint16 complex128 float16 resource variant uint32 uint64"
    )
    assert " ".join(as_dtype(number).name for number in range(1, 24)) == names
    assert len(dt.ALL) == 23


def test_one_object_per_type() -> None:
    assert dt.DType(1) is dt.float32
    assert pickle.loads(pickle.dumps(dt.bool._as_ref)) is dt.bool._as_ref
    assert copy.deepcopy(dt.int32) is dt.int32
    assert dt.half is dt.float16
    assert dt.double is dt.float64
    with pytest.raises(TypeError):
        dt.DType(99)


def test_immutable() -> None:
    with pytest.raises(AttributeError):
        dt.float32.name = "float64"
    with pytest.raises(AttributeError):
        del dt.float32.name


def test_references() -> None:
    ref = dt.float32._as_ref
    assert ref != dt.float32
    assert ref.base_dtype is dt.float32
    assert ref._as_ref is ref
    assert ref._is_ref_dtype
    assert not dt.float32._is_ref_dtype
    assert ref.is_floating
    assert ref.size == 4
    assert ref.as_numpy_dtype is np.float32
    assert dt.float32.is_compatible_with("float32_ref")
    assert not ref.is_compatible_with(dt.float32)


def test_names_and_reprs() -> None:
    assert repr(dt.float32) == "tf.float32"
    assert str(dt.float32) == "<dtype: 'float32'>"
    assert int(dt.int64) == dt.int64.as_datatype_enum == 9


def test_type_predicates() -> None:
    assert dt.bfloat16.is_floating
    assert dt.uint8.is_integer
    assert dt.uint8.is_unsigned
    assert not dt.bool.is_integer
    assert dt.bool.is_bool
    assert dt.complex64.is_complex
    assert dt.complex64.real_dtype is dt.float32
    assert dt.complex128._as_ref.real_dtype is dt.float64
    assert dt.string.real_dtype is dt.string
    assert dt.qint8.is_quantized
    assert not dt.qint8.is_integer
    assert not dt.resource.is_numpy_compatible
    assert dt.string.is_numpy_compatible
    assert [dtype.size for dtype in (dt.bfloat16, dt.complex128, dt.string, dt.resource, dt.qint32)] == [2, 16, 0, 0, 4]


def test_numpy_types() -> None:
    assert dt.string.as_numpy_dtype is object
    assert dt.bool.as_numpy_dtype is np.bool_
    assert dt.bfloat16.as_numpy_dtype is ml_dtypes.bfloat16
    assert dt.qint8.as_numpy_dtype == np.dtype([("qint8", np.int8)])
    with pytest.raises(TypeError, match="resource"):
        _ = dt.resource.as_numpy_dtype


def test_extremes() -> None:
    assert dt.float32.min == np.finfo(np.float32).min
    assert dt.int8.min == -128
    assert dt.uint64.max == 2**64 - 1
    assert float(dt.bfloat16.max) > 3e38
    assert dt.float64.limits == (0, 1)
    assert dt.int8.limits == (0, 127)
    assert dt.bool.limits == (0, True)
    for dtype in (dt.bool, dt.string, dt.complex64, dt.qint8):
        with pytest.raises(TypeError, match=dtype.name):
            _ = dtype.max
    for dtype in (dt.bfloat16, dt.string, dt.complex64, dt.qint8):
        with pytest.raises(ValueError, match=dtype.name):
            _ = dtype.limits


def test_families() -> None:
    assert {dt.float16, dt.bfloat16, dt.float32, dt.float64} == dt.FLOATING
    assert {dt.int8, dt.int16, dt.int32, dt.int64} == dt.SIGNED_INTEGERS
    assert {dt.uint8, dt.uint16, dt.uint32, dt.uint64} == dt.INTEGERS - dt.SIGNED_INTEGERS
    assert dt.NUMERIC == dt.FLOATING | dt.INTEGERS | dt.COMPLEX
    assert {dt.int32, dt.int64} == dt.INDEX
    assert len(dt.QUANTIZED) == 5
    assert len(dt.QUANTIZED_DTYPES) == 10


def test_ml_dtypes_is_needed_only_for_bfloat16() -> None:
    program = (
        "import sys; sys.modules['ml_dtypes'] = None\n"
        "from thalweg import dtypes\n"
        "assert dtypes.as_dtype('bfloat16').size == 2\n"
        "try: dtypes.bfloat16.as_numpy_dtype\n"
        "except ImportError as error: assert 'pip install ml_dtypes' in str(error)\n"
        "else: raise SystemExit('no error')\n"
    )
    children.run([sys.executable, "-c", program])
