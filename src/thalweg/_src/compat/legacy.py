"""Removed names: what programs of the time of TensorFlow 1 use and Python, NumPy, SciPy and others lack today.

They are restored on request, found in programs, and explained in hints. This file imports nothing of Thalweg:
processes that a program starts load it by itself, without torch.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import importlib.util
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NamedTuple

_HERE = "thalweg._src.compat.legacy"
_IMAGES = "thalweg._src.compat.scipy_images"
_ABCS = """AsyncGenerator AsyncIterable AsyncIterator Awaitable Callable Collection Container Coroutine
    Generator Hashable ItemsView Iterable Iterator KeysView Mapping MappingView MutableMapping MutableSequence
    MutableSet Reversible Sequence Set Sized ValuesView"""
_SUMMARIES = """audio_pb custom_scalar custom_scalar_pb histogram_pb image_pb pr_curve pr_curve_pb pr_curve_raw_data_op
    pr_curve_raw_data_pb pr_curve_streaming_op scalar_pb text_pb"""
_WINDOWS = "barthann bartlett blackman blackmanharris bohman boxcar flattop gaussian hamming hann kaiser nuttall parzen"
_ASSERTIONS = {
    "assertAlmostEquals": "assertAlmostEqual",
    "assertEquals": "assertEqual",
    "assertItemsEqual": "assertCountEqual",
    "assertNotEquals": "assertNotEqual",
    "assertRaisesRegexp": "assertRaisesRegex",
    "assertRegexpMatches": "assertRegex",
    "assert_": "assertTrue",
}

# By module: the removed name, and the module and name of what it stands for, in the module itself without a colon.
REMOVED: dict[str, dict[str, str]] = {
    "PIL.Image": {"ANTIALIAS": "LANCZOS", "CUBIC": "BICUBIC", "LINEAR": "BILINEAR"},
    "PIL.ImageDraw": {"ImageDraw.textsize": f"{_IMAGES}:textsize"},
    "PIL.ImageFont": {"FreeTypeFont.getsize": f"{_IMAGES}:getsize", "ImageFont.getsize": f"{_IMAGES}:getsize"},
    "base64": {"decodestring": "decodebytes", "encodestring": "encodebytes"},
    "cgi": {"escape": "html:escape"},
    "collections": {name: f"collections.abc:{name}" for name in _ABCS.split()},
    "configparser": {"SafeConfigParser": "ConfigParser"},
    "fractions": {"gcd": "math:gcd"},
    "inspect": {"ArgSpec": f"{_HERE}:ArgSpec", "getargspec": f"{_HERE}:getargspec"},
    "matplotlib.cm": {"get_cmap": f"{_HERE}:get_cmap"},
    "numpy": {
        **{name: f"builtins:{name}" for name in ("bool", "complex", "float", "int", "object", "str")},
        **{"long": "builtins:int", "unicode": "builtins:str"},
        **{"NAN": "nan", "NaN": "nan", "Inf": "inf", "Infinity": "inf", "PINF": "inf", "infty": "inf"},
        **{"NINF": f"{_HERE}:NINF", "NZERO": f"{_HERE}:NZERO", "PZERO": f"{_HERE}:PZERO"},
        **{
            "bool8": "bool_",
            "bytes0": "bytes_",
            "int0": "intp",
            "object0": "object_",
            "str0": "str_",
            "uint0": "uintp",
        },
        **{"cfloat": "complex128", "clongfloat": "clongdouble", "complex_": "complex128", "float_": "float64"},
        **{"longcomplex": "clongdouble", "longfloat": "longdouble", "singlecomplex": "complex64", "void0": "void"},
        **{"string_": "bytes_", "unicode_": "str_", "typeDict": "sctypeDict"},
        **{"alltrue": "all", "cumproduct": "cumprod", "product": "prod", "sometrue": "any", "rank": "ndim"},
        **{"asfarray": f"{_HERE}:asfarray", "asscalar": f"{_HERE}:asscalar", "cast": f"{_HERE}:cast"},
        **{"in1d": f"{_HERE}:in1d", "mat": "asmatrix", "msort": f"{_HERE}:msort", "round_": "round"},
        **{"row_stack": "vstack", "sctypes": f"{_HERE}:sctypes", "trapz": "trapezoid", "lib.pad": "pad"},
        "loads": "pickle:loads",
        "issubclass_": f"{_HERE}:issubclass_",
        "generic.tostring": f"{_HERE}:_tostring",
        **{f"ndarray.{name}": f"{_HERE}:_{name}" for name in ("itemset", "newbyteorder", "ptp", "tostring")},
    },
    "os": {"errno": "errno:"},
    "scipy.integrate": {"cumtrapz": "cumulative_trapezoid", "simps": "simpson", "trapz": "trapezoid"},
    "scipy.misc": {
        **{name: f"{_IMAGES}:{name}" for name in ("bytescale", "fromimage", "imread", "imresize", "imrotate")},
        **{name: f"{_IMAGES}:{name}" for name in ("imsave", "toimage")},
        **{name: f"scipy.special:{name}" for name in ("comb", "factorial", "factorial2", "logsumexp")},
    },
    "scipy.ndimage": {"imread": f"{_IMAGES}:imread"},
    "scipy.signal": {**{name: f"scipy.signal.windows:{name}" for name in _WINDOWS.split()}, "hanning": "windows.hann"},
    "scipy.sparse.linalg.eigen": {"__path__": f"{_HERE}:_NO_FOLDERS"},  # so that a module inside it can be renamed
    "tensorboard.summary": {name: f"tensorboard.summary.v1:{name}" for name in _SUMMARIES.split()},
    "threading": {"Thread.isAlive": "Thread.is_alive"},
    "time": {"clock": "process_time"},
    "unittest.case": {f"TestCase.{old}": f"TestCase.{new}" for old, new in _ASSERTIONS.items()},
}
# Modules that were removed as a whole, and the module that has their names.
MODULES = {
    "imp": "thalweg._src.compat.imp_module",
    "pkg_resources": "thalweg._src.compat.pkg_resources_module",
    "scipy.misc": _IMAGES,
    "scipy.ndimage.filters": "scipy.ndimage",
    "scipy.ndimage.interpolation": "scipy.ndimage",
    "scipy.ndimage.measurements": "scipy.ndimage",
    "scipy.ndimage.morphology": "scipy.ndimage",
    "scipy.sparse.linalg.eigen": "scipy.sparse.linalg",
    "scipy.sparse.linalg.eigen.arpack": "scipy.sparse.linalg",
    "sklearn.cross_validation": "sklearn.model_selection",
    "sklearn.datasets.samples_generator": "sklearn.datasets",
    "sklearn.decomposition.base": "sklearn.base",
    "sklearn.externals.joblib": "joblib",
    "sklearn.externals.six": "six",
    "sklearn.grid_search": "sklearn.model_selection",
    "sklearn.learning_curve": "sklearn.model_selection",
    "xml.etree.cElementTree": "xml.etree.ElementTree",
}
_OPTION = "`thalweg run --legacy` (or install_as_tensorflow(legacy=True)) restores it"
_EXTRA = '`pip install "thalweg[legacy]"` installs a NumPy that still accepts it'
_CAME_WITH_TENSORFLOW = ("six", "termcolor", "wrapt")
# Texts of errors for changed behaviour, and what to do.
_CHANGED = {
    r"The binary mode of fromstring is removed": _OPTION,
    r"Unable to avoid copy while creating an array": _OPTION,
    r"inhomogeneous shape": _OPTION,
    r"load\(\) missing 1 required positional argument: 'Loader'": _OPTION,
    r"only (0-dimensional|length-1|size-1) arrays can be converted": _EXTRA,
    r"^setting an array element with a sequence\.$": _EXTRA,
    r"out of bounds for u?int\d+": _EXTRA,
    r"Object arrays cannot be loaded when allow_pickle=False": "np.load(..., allow_pickle=True) loads the file; it can "
    "execute code, so that no option does this for all files",
}


# -- what removed names stand for -------------------------------------------------------------------------------------

_NO_FOLDERS: list[str] = []
NINF, NZERO, PZERO = float("-inf"), -0.0, 0.0


class ArgSpec(NamedTuple):
    """The parameters of a function, as Python 2 described them."""

    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[Any, ...] | None


def getargspec(func: Callable[..., Any]) -> ArgSpec:
    """Returns the parameters of a function without keyword-only ones."""
    spec = inspect.getfullargspec(func)
    if spec.kwonlyargs or spec.annotations:
        raise ValueError("Function has keyword-only parameters or annotations, use inspect.signature()")
    return ArgSpec(*spec[:4])


def _numpy() -> Any:
    return sys.modules["numpy"]  # which is loaded, since these are its functions


def asfarray(a: Any, dtype: Any = float) -> Any:
    """Returns an array of a floating-point type."""
    return _numpy().asarray(a, dtype if _numpy().issubdtype(dtype, _numpy().inexact) else float)


def asscalar(a: Any) -> Any:
    """Returns the only element of an array as a Python number."""
    return a.item()


def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    """Returns whether each element of an array, flattened, is in another one."""
    return _numpy().isin(_numpy().ravel(ar1), ar2, assume_unique, invert)


def msort(a: Any) -> Any:
    """Returns an array sorted along its first axis."""
    return _numpy().sort(a, axis=0)


def issubclass_(arg1: Any, arg2: Any) -> bool:
    """Returns whether a class is a subclass of another, False if it is not a class."""
    return isinstance(arg1, type) and issubclass(arg1, arg2)


class _Cast:
    """`np.cast[dtype](x)`: converts to a type."""

    def __getitem__(self, dtype: Any) -> Callable[[Any], Any]:
        return lambda x: _numpy().asarray(x).astype(dtype)


cast = _Cast()


def get_cmap(name: Any = None, lut: int | None = None) -> Any:
    """Returns a color map of Matplotlib."""
    return import_module("matplotlib.pyplot").get_cmap(name, lut)


def __getattr__(name: str) -> Any:
    """Returns the scalar types of NumPy by kind, which need NumPy."""
    if name != "sctypes":
        raise AttributeError(name)
    bits = {"int": (8, 16, 32, 64), "uint": (8, 16, 32, 64), "float": (16, 32, 64), "complex": (64, 128)}
    types = {kind: [getattr(_numpy(), f"{kind}{size}") for size in sizes] for kind, sizes in bits.items()}
    return {**types, "others": [bool, object, bytes, str, _numpy().void]}


def _tostring(self: Any, order: str = "C") -> bytes:
    return self.tobytes(order)  # type: ignore[no-any-return]


def _itemset(self: Any, *args: Any) -> None:
    *index, value = args
    self[tuple(index[0] if len(index) == 1 and isinstance(index[0], tuple) else index) or ...] = value


def _newbyteorder(self: Any, new_order: str = "S") -> Any:
    return self.view(self.dtype.newbyteorder(new_order))


def _ptp(self: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    return _numpy().ptp(self, axis, out, keepdims)


# -- functions with changed behaviour ---------------------------------------------------------------------------------


def _array(original: Callable[..., Any]) -> Callable[..., Any]:
    """Lets `copy=False` copy where it must, and makes arrays of objects from lists of different lengths."""
    as_needed = None if int(_numpy().__version__.split(".")[0]) >= 2 else False

    @functools.wraps(original)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("copy") is False:
            kwargs["copy"] = as_needed
        try:
            return original(*args, **kwargs)
        except ValueError as error:
            if "inhomogeneous" not in str(error) or len(args) > 1 or kwargs.get("dtype") is not None:
                raise
            return original(*args, **{**kwargs, "dtype": object})

    return wrapper


def _fromstring(original: Callable[..., Any]) -> Callable[..., Any]:
    """Reads bytes where no separator is given."""

    @functools.wraps(original)
    def wrapper(string: Any, dtype: Any = float, count: int = -1, *, sep: str = "", **kwargs: Any) -> Any:
        if sep:
            return original(string, dtype, count, sep=sep, **kwargs)
        data = string.encode("latin-1") if isinstance(string, str) else string
        return _numpy().frombuffer(data, dtype, count).copy()

    return wrapper


def _load(original: Callable[..., Any]) -> Callable[..., Any]:
    """Loads YAML without a loader as PyYAML 5 did: Python's plain types, no calls."""

    @functools.wraps(original)
    def wrapper(stream: Any, Loader: Any = None) -> Any:
        return original(stream, Loader or sys.modules["yaml"].FullLoader)

    return wrapper


_WRAPPED: dict[str, dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]]] = {
    "numpy": {"array": _array, "asarray": _array, "fromstring": _fromstring},
    "yaml": {"load": _load},
}


# -- restoring --------------------------------------------------------------------------------------------------------


def install() -> None:
    """Restores the removed names in all modules, those that are loaded and those that will be."""
    if _Restorer in sys.meta_path:
        return
    sys.meta_path.insert(0, _Restorer)
    sys.meta_path.append(_Renamed)
    for name in {*REMOVED, *_WRAPPED} & sys.modules.keys():
        _restore(sys.modules[name])


def _restore(module: ModuleType) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # modules warn about names that they will remove
        for name, target in REMOVED.get(module.__name__, {}).items():
            owner, last = _owner(module, name)
            if not hasattr(owner, last):
                _set(owner, last, _resolve(module, target))
        for name, wrap in _WRAPPED.get(module.__name__, {}).items():
            setattr(module, name, wrap(getattr(module, name)))


def _owner(module: ModuleType, name: str) -> tuple[Any, str]:
    *path, last = name.split(".")
    return functools.reduce(getattr, path, module), last


def _resolve(module: ModuleType, target: str) -> Any:
    place, colon, name = target.rpartition(":")
    owner = import_module(place) if colon else module
    return functools.reduce(getattr, name.split("."), owner) if name else owner


def _set(owner: Any, name: str, value: Any) -> None:
    try:
        setattr(owner, name, value)
    except TypeError:  # a class written in C has a dictionary too, behind a read-only view
        gc.get_referents(vars(owner))[0][name] = value
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(owner))


class _Restorer(Loader):
    """Finds modules as without it, and restores their names once they are loaded."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns the spec of a module in the tables."""
        if name not in REMOVED and name not in _WRAPPED:
            return None
        others = (finder for finder in sys.meta_path if finder is not cls and hasattr(finder, "find_spec"))
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec is not None and spec.loader is not None:
            spec.loader = cls(spec.loader)
        return spec

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Creates the module as its own loader does."""
        return self._loader.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        """Executes the module as its own loader does, and restores its names."""
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        _restore(module)


class _Renamed(Loader):
    """Makes removed modules, after all other finders, that show the names of another."""

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns the spec of a removed module, None for any other."""
        return ModuleSpec(name, cls(), is_package=True) if name in MODULES else None

    def create_module(self, spec: ModuleSpec) -> None:
        """Leaves the module to the import system."""

    def exec_module(self, module: ModuleType) -> None:
        """Makes the module look names up in the one that has them."""
        shown = import_module(MODULES[module.__name__])
        vars(module)["__getattr__"] = functools.partial(getattr, shown)


# -- finding ----------------------------------------------------------------------------------------------------------


def is_removed(name: str) -> bool:
    """Returns whether a name, with its module, has been removed from what is installed here and can be restored."""
    components = name.split(".")
    for count in range(1, len(components) + 1):
        module, inside = ".".join(components[:count]), ".".join(components[count:])
        if module in MODULES and _is_missing(module):
            return True
        if inside in REMOVED.get(module, {}):
            loaded = sys.modules.get(module)
            return loaded is None or not _has(loaded, inside)
    return False


@functools.cache
def _is_missing(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is None
    except Exception:  # a package that is missing, or broken
        return True


def _has(module: ModuleType, name: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            owner, last = _owner(module, name)
        except AttributeError:
            return False
        return hasattr(owner, last)


def hint(error: BaseException) -> str | None:
    """Returns what to do about an error that a removed name or a changed behaviour causes."""
    text = str(error)
    for name in _names(error, text):
        if isinstance(error, ImportError) and name.partition(".")[0] in _CAME_WITH_TENSORFLOW:
            return f'{name} came with TensorFlow; `pip install "thalweg[legacy]"` installs it'
        if is_removed(name):
            return f"{name} was removed; {_OPTION}"
    return next((advice for pattern, advice in _CHANGED.items() if re.search(pattern, text)), None)


def _names(error: BaseException, text: str) -> list[str]:
    """Returns the names that an error says are missing, each with its module."""
    if isinstance(error, AttributeError):
        if match := re.match(r"module '([\w.]+)' has no attribute '(\w+)'", text):
            return [f"{match[1]}.{match[2]}"]
        if match := re.match(r"`np\.(\w+)` was removed", text):
            return [f"numpy.{match[1]}"]
        owner = error.obj if isinstance(error.obj, type) else type(error.obj)
        return [f"{cls.__module__}.{cls.__name__}.{error.name}" for cls in owner.__mro__]
    if isinstance(error, ImportError):
        if match := re.match(r"cannot import name '(\w+)' from '([\w.]+)'", text):
            return [f"{match[2]}.{match[1]}"]
        return [str(error.name)]
    return []
