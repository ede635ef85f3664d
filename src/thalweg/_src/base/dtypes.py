"""Element types of tensors (DType)."""

from __future__ import annotations

import builtins
import difflib
from typing import Any, TypeAlias

import numpy as np

from thalweg._src.base.export import export, export_constants

_REF_OFFSET = 100  # offset between the enum of a type and that of its reference type

# What public functions accept as a dtype.
DTypeLike: TypeAlias = "DType | np.dtype[Any] | type | str | int"

_BY_ENUM: dict[int, DType] = {}


@export("DType", "dtypes.DType")
class DType:
    """The element type of a tensor; one object for each type."""

    __slots__ = (
        "_as_ref",
        "_is_ref_dtype",
        "_numpy",
        "as_datatype_enum",
        "base_dtype",
        "is_bool",
        "is_complex",
        "is_floating",
        "is_integer",
        "is_numpy_compatible",
        "is_quantized",
        "is_unsigned",
        "name",
        "real_dtype",
        "size",
    )

    # Properties are precomputed: graph construction reads them several times per node.
    name: str
    as_datatype_enum: int
    base_dtype: DType
    real_dtype: DType
    size: int
    is_floating: builtins.bool
    is_integer: builtins.bool
    is_unsigned: builtins.bool
    is_complex: builtins.bool
    is_bool: builtins.bool
    is_quantized: builtins.bool
    is_numpy_compatible: builtins.bool
    _is_ref_dtype: builtins.bool
    _as_ref: DType
    _numpy: Any

    def __new__(cls, type_enum: int) -> DType:
        """Returns the one instance with this enum value."""
        try:
            return _BY_ENUM[int(type_enum)]
        except KeyError:
            raise TypeError(f"{type_enum} is not the enum value of a data type.") from None

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"A DType is immutable: {self.name}.{name}.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"A DType is immutable: {self.name}.{name}.")

    @property
    def as_numpy_dtype(self) -> Any:
        """The NumPy type that represents such elements."""
        if self._numpy is not None:
            return self._numpy
        if self.base_dtype is bfloat16:
            return _ml_dtypes("bfloat16").bfloat16
        raise TypeError(f"{self.name} has no NumPy type.")

    @property
    def min(self) -> Any:
        """The smallest finite value that can be represented."""
        return self._extreme("min")

    @property
    def max(self) -> Any:
        """The largest finite value that can be represented."""
        return self._extreme("max")

    def _extreme(self, which: str) -> Any:
        if self.is_integer:
            return int(getattr(np.iinfo(self._numpy), which))
        if self.base_dtype is bfloat16:
            return getattr(_ml_dtypes("bfloat16").finfo(self.as_numpy_dtype), which)
        if self.is_floating:
            return getattr(np.finfo(self._numpy), which)
        raise TypeError(f"{self.name} has no {which}imum value.")

    @property
    def limits(self) -> tuple[int, Any]:
        """The range of intensities of an image stored in this type."""
        if self.is_integer:
            return 0, self.max
        if self.is_bool:
            return 0, True
        if self.is_floating and self.base_dtype is not bfloat16:
            return 0, 1
        raise ValueError(f"{self.name} has no limits.")

    def is_compatible_with(self, other: DTypeLike) -> builtins.bool:
        """Returns whether a value of `other` can be used where this type is expected."""
        other = as_dtype(other)
        return self is other or self is other.base_dtype

    def __eq__(self, other: object) -> builtins.bool:
        if self is other:
            return True
        if other is None or type(other) is DType:
            return False
        try:
            return as_dtype(other) is self
        except TypeError:
            return False

    __hash__ = object.__hash__  # types are singletons, so identity decides; look-ups in sets of types are frequent

    def __int__(self) -> int:
        return self.as_datatype_enum

    def __repr__(self) -> str:
        return "tf." + self.name

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)


def _ml_dtypes(name: str) -> Any:
    try:
        import ml_dtypes
    except ImportError as error:
        raise ImportError(f"NumPy arrays of {name} require the package ml_dtypes: pip install ml_dtypes") from error
    return ml_dtypes


def _define(name: str, enum: int, size: int, numpy: Any = None, real: DType | None = None) -> DType:
    kind = np.dtype(numpy).kind if numpy is not None else "f" if name == "bfloat16" else ""
    value, ref = object.__new__(DType), object.__new__(DType)
    for dtype in (value, ref):
        facts = {
            "name": name if dtype is value else name + "_ref",
            "as_datatype_enum": enum if dtype is value else enum + _REF_OFFSET,
            "base_dtype": value,
            "real_dtype": real or dtype,
            "size": size,
            "is_floating": kind == "f",
            "is_integer": kind in ("i", "u"),
            "is_unsigned": kind == "u",
            "is_complex": kind == "c",
            "is_bool": kind == "b",
            "is_quantized": kind == "V",
            "is_numpy_compatible": name not in ("resource", "variant"),
            "_is_ref_dtype": dtype is ref,
            "_as_ref": ref,
            "_numpy": numpy,
        }
        for key, fact in facts.items():
            object.__setattr__(dtype, key, fact)
        _BY_ENUM[dtype.as_datatype_enum] = dtype
    return value


float32 = export("float32", "dtypes.float32")(_define("float32", 1, 4, np.float32))
float64 = export("double", "float64", "dtypes.double", "dtypes.float64")(_define("float64", 2, 8, np.float64))
int32 = export("int32", "dtypes.int32")(_define("int32", 3, 4, np.int32))
uint8 = export("uint8", "dtypes.uint8")(_define("uint8", 4, 1, np.uint8))
int16 = export("int16", "dtypes.int16")(_define("int16", 5, 2, np.int16))
int8 = export("int8", "dtypes.int8")(_define("int8", 6, 1, np.int8))
string = export("string", "dtypes.string")(_define("string", 7, 0, object))
complex64 = export("complex64", "dtypes.complex64")(_define("complex64", 8, 8, np.complex64, float32))
int64 = export("int64", "dtypes.int64")(_define("int64", 9, 8, np.int64))
bool = export("bool", "dtypes.bool")(_define("bool", 10, 1, np.bool_))
qint8 = export("qint8", "dtypes.qint8")(_define("qint8", 11, 1, np.dtype([("qint8", np.int8)])))
quint8 = export("quint8", "dtypes.quint8")(_define("quint8", 12, 1, np.dtype([("quint8", np.uint8)])))
qint32 = export("qint32", "dtypes.qint32")(_define("qint32", 13, 4, np.dtype([("qint32", np.int32)])))
bfloat16 = export("bfloat16", "dtypes.bfloat16")(_define("bfloat16", 14, 2))
qint16 = export("qint16", "dtypes.qint16")(_define("qint16", 15, 2, np.dtype([("qint16", np.int16)])))
quint16 = export("quint16", "dtypes.quint16")(_define("quint16", 16, 2, np.dtype([("quint16", np.uint16)])))
uint16 = export("uint16", "dtypes.uint16")(_define("uint16", 17, 2, np.uint16))
complex128 = export("complex128", "dtypes.complex128")(_define("complex128", 18, 16, np.complex128, float64))
float16 = export("float16", "half", "dtypes.float16", "dtypes.half")(_define("float16", 19, 2, np.float16))
resource = export("resource", "dtypes.resource")(_define("resource", 20, 0))
variant = export("variant", "dtypes.variant")(_define("variant", 21, 0))
uint32 = export("uint32", "dtypes.uint32")(_define("uint32", 22, 4, np.uint32))
uint64 = export("uint64", "dtypes.uint64")(_define("uint64", 23, 8, np.uint64))
half = float16
double = float64

ALL = frozenset(dtype for dtype in _BY_ENUM.values() if not dtype._is_ref_dtype)
FLOATING = frozenset(dtype for dtype in ALL if dtype.is_floating)
INTEGERS = frozenset(dtype for dtype in ALL if dtype.is_integer)
SIGNED_INTEGERS = frozenset(dtype for dtype in INTEGERS if not dtype.is_unsigned)
COMPLEX = frozenset((complex64, complex128))
REAL = FLOATING | INTEGERS
NUMERIC = REAL | COMPLEX
QUANTIZED = frozenset(dtype for dtype in ALL if dtype.is_quantized)
INDEX = frozenset((int32, int64))
QUANTIZED_DTYPES = QUANTIZED | {dtype._as_ref for dtype in QUANTIZED}

_ALIASES = {"half": float16, "float": float32, "double": float64}
_BY_NAME = {
    **{dtype.name: dtype for dtype in _BY_ENUM.values()},
    **_ALIASES,
    **{name + "_ref": dtype._as_ref for name, dtype in _ALIASES.items()},
}
_BY_TYPE: dict[type, DType] = {
    **{dtype._numpy: dtype for dtype in ALL if isinstance(dtype._numpy, type)},
    builtins.bool: bool,
    int: int64,
    float: float32,
    complex: complex128,
    str: string,
    bytes: string,
    np.object_: string,
    np.str_: string,
    np.bytes_: string,
}
_BY_STRUCTURE = {dtype._numpy: dtype for dtype in QUANTIZED}
# Platforms name one C type twice (long, long long); NumPy's kind and item size identify the type.
_BY_LAYOUT = {
    (np.dtype(dtype._numpy).kind, dtype.size): dtype for dtype in NUMERIC | {bool} if dtype._numpy is not None
}


def native_name(dtype: DType) -> str:
    """Returns the name that TensorFlow's errors in a step use, such as double for float64."""
    return {"float16": "half", "float32": "float", "float64": "double"}.get(dtype.name, dtype.name)


@export("as_dtype", "dtypes.as_dtype")
def as_dtype(type_value: object) -> DType:
    """Converts a name, enum value, NumPy type, Python type, or any object with a `dtype`, to a DType."""
    if type(type_value) is DType:
        return type_value
    dtype: DType | None = None
    if isinstance(type_value, str):
        dtype = _BY_NAME.get(type_value)
    elif isinstance(type_value, np.dtype):
        dtype = _from_numpy(type_value)
    elif isinstance(type_value, type):
        dtype = _BY_TYPE.get(type_value)
        if dtype is None and (issubclass(type_value, np.generic) or type_value.__name__ == "bfloat16"):
            dtype = _from_numpy(np.dtype(type_value))
    elif isinstance(type_value, int):
        dtype = _BY_ENUM.get(type_value)
    elif hasattr(type_value, "dtype"):
        return as_dtype(type_value.dtype)
    if dtype is not None:
        return dtype
    near = difflib.get_close_matches(type_value, _BY_NAME, 1) if isinstance(type_value, str) else ()
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise TypeError(f"Cannot convert {type_value!r} to a DType.{hint}")


def _from_numpy(dtype: np.dtype[Any]) -> DType | None:
    if dtype.kind == "V":
        return bfloat16 if dtype.name == "bfloat16" else _BY_STRUCTURE.get(dtype)
    return _BY_TYPE.get(dtype.type) or _BY_LAYOUT.get((dtype.kind, dtype.itemsize))


export_constants(
    QUANTIZED_DTYPES=("QUANTIZED_DTYPES", "dtypes.QUANTIZED_DTYPES"),
)
