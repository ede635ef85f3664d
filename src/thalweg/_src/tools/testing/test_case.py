"""tf.test.TestCase: tests of graphs, with sessions and comparisons of values, arrays, shapes and messages."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import random
import re
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from absl.testing import absltest

from thalweg._src.base import dtypes, errors
from thalweg._src.base.config import ConfigProto
from thalweg._src.base.devices import DeviceSpec
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.graph.default import executing_eagerly, start_with_an_empty_graph
from thalweg._src.graph.default_stacks import get_default_session
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.indexed_slices import IndexedSlices, IndexedSlicesValue
from thalweg._src.graph.nest import flatten, is_nested, map_structure
from thalweg._src.graph.scopes import device
from thalweg._src.graph.seeds import set_random_seed
from thalweg._src.graph.sparse_tensor import SparseTensor, SparseTensorValue
from thalweg._src.graph.tensor import Tensor
from thalweg._src.runtime.resources.accelerators import gpu_count
from thalweg._src.runtime.session.session import Session

_SEED = 87654321


@export("test.get_temp_dir")
@functools.cache
def get_temp_dir() -> str:
    """Returns a new folder for this process's tests, which is removed at exit."""
    parent = absltest.get_default_test_tmpdir()
    os.makedirs(parent, exist_ok=True)
    folder = tempfile.mkdtemp(dir=parent)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


class CheckedThread:
    """Runs a function in a thread; joining it fails the test if the function raised."""

    def __init__(
        self, test: absltest.TestCase, target: Callable[..., Any], args: Any = None, kwargs: Any = None
    ) -> None:
        self._test = test
        self._target = target
        self._args = args or ()
        self._kwargs = kwargs or {}
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._joined = False

    def _run(self) -> None:
        try:
            self._target(*self._args, **self._kwargs)
        except BaseException as error:
            self._error = error

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        self._joined = True
        self._thread.join()
        if self._error is not None:
            self._test.fail(f"Error in checkedThread: {self._error!r}")

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def check_termination(self) -> None:
        """Fails the test if the thread was never joined."""
        if not self._joined:
            self._test.fail("a checkedThread was started and never joined")


class _EagerSession:
    """What a test gets instead of a session in eager execution."""

    def __init__(self, test: TestCase) -> None:
        self._test = test

    def run(self, fetches: Any, *args: Any, **kwargs: Any) -> Any:
        """Returns the values of eager tensors."""
        return self._test.evaluate(fetches)


def _eager_value(value: Any) -> Any:
    """Returns the value of an eager tensor or variable; calls a function first."""
    if isinstance(value, SparseTensor):
        return SparseTensorValue(*map(_eager_value, (value.indices, value.values, value.dense_shape)))
    if isinstance(value, IndexedSlices):
        return IndexedSlicesValue(value.values.numpy(), value.indices.numpy(), _eager_value(value.dense_shape))  # type: ignore[attr-defined]
    if callable(value):
        return map_structure(_eager_value, value())
    return value.numpy() if hasattr(value, "numpy") else value


@export("test.TestCase")
class TestCase(absltest.TestCase):
    """A test case with an empty default graph and fixed seeds for each test."""

    def __init__(self, methodName: str = "runTest") -> None:
        super().__init__(methodName)
        self._threads: list[CheckedThread] = []
        self._temp_dir: str | None = None
        self._session: Session | None = None

    def setUp(self) -> None:
        super().setUp()
        random.seed(_SEED)
        np.random.seed(_SEED)
        if not executing_eagerly():
            start_with_an_empty_graph()
        set_random_seed(_SEED)

    def tearDown(self) -> None:
        for thread in self._threads:
            thread.check_termination()
        if self._session is not None:
            self._session.close()
            self._session = None
        super().tearDown()

    def get_temp_dir(self) -> str:
        """Returns a folder for this test only."""
        if self._temp_dir is None:
            self._temp_dir = tempfile.mkdtemp(dir=get_temp_dir())
        return self._temp_dir

    def checkedThread(self, target: Callable[..., Any], args: Any = None, kwargs: Any = None) -> CheckedThread:
        """Returns a thread that reports an exception of its function; it must be joined."""
        thread = CheckedThread(self, target, args, kwargs)
        self._threads.append(thread)
        return thread

    # -- sessions -----------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def session(
        self, graph: Graph | None = None, config: Any = None, use_gpu: bool = False, force_gpu: bool = False
    ) -> Iterator[Any]:
        """Yields a new session, the default one in the block."""
        if executing_eagerly():
            yield _EagerSession(self)
            return
        with Session(graph=graph, config=_test_config(config)) as session, _on_device(use_gpu, force_gpu):
            yield session

    @contextlib.contextmanager
    def cached_session(
        self, graph: Graph | None = None, config: Any = None, use_gpu: bool = False, force_gpu: bool = False
    ) -> Iterator[Any]:
        """Yields this test's session, created on the first call: its variables last until the test ends."""
        if executing_eagerly():
            yield _EagerSession(self)
            return
        if self._session is None:
            self._session = Session(graph=graph, config=_test_config(config))
        elif graph is not None and graph is not self._session.graph:
            raise ValueError("cached_session was first called with a different graph")
        session = self._session
        with session.graph.as_default(), session.as_default(), _on_device(use_gpu, force_gpu):
            yield session

    def test_session(
        self, graph: Graph | None = None, config: Any = None, use_gpu: bool = False, force_gpu: bool = False
    ) -> Any:
        """Yields this test's session, or a new one if a graph is given."""
        if self._testMethodName == "test_session":
            self.skipTest("not a test, although its name starts like one")
        make = self.cached_session if graph is None else self.session
        return make(graph, config, use_gpu, force_gpu)

    def evaluate(self, tensors: Any) -> Any:
        """Returns the values of tensors: of eager ones, or in the default session, or in this test's session."""
        if executing_eagerly():
            return map_structure(_eager_value, tensors)
        session = get_default_session() or self._session
        if session is None:
            with self.session() as session:
                return session.run(tensors)
        return session.run(tensors)

    def _value(self, value: Any) -> Any:
        """Returns the array to compare: the value of a tensor, or any other value converted."""
        if isinstance(value, Tensor) and value.is_eager:
            return _eager_value(value)
        if isinstance(value, Tensor | SparseTensor | IndexedSlices) or hasattr(value, "_as_graph_element"):
            value = self.evaluate(value)
        return value

    def _array(self, value: Any) -> np.ndarray[Any, Any]:
        value = self._value(value)
        return value if isinstance(value, np.ndarray) else np.array(value)

    # -- arrays -------------------------------------------------------------------------------------------------------

    def assertAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None) -> None:
        """Fails unless numbers, arrays, or structures of them, are equal within tolerances."""
        a, b = self._value(a), self._value(b)
        if isinstance(a, Mapping) != isinstance(b, Mapping):
            self.fail(f"{a!r} and {b!r} are not both dictionaries. {msg or ''}")
        if isinstance(a, Mapping):
            self.assertCountEqual(list(a), list(b), msg)
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol, f"at {key!r}. {msg or ''}")
        elif is_nested(a) and any(is_nested(element) or isinstance(element, Tensor) for element in a):
            self.assertEqual(len(a), len(b), msg)
            for i, (one, other) in enumerate(zip(a, b)):
                self.assertAllClose(one, other, rtol, atol, f"at [{i}]. {msg or ''}")
        else:
            self._assert_array_close(self._array(a), self._array(b), rtol, atol, msg)

    def _assert_array_close(self, a: Any, b: Any, rtol: float, atol: float, msg: str | None) -> None:
        self.assertEqual(a.shape, b.shape, f"Shape mismatch: expected {a.shape}, got {b.shape}. {msg or ''}")
        a, b = (x.astype(np.float32) if x.dtype.name == "bfloat16" else x for x in (a, b))
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=msg or "", equal_nan=True)

    def assertAllCloseAccordingToType(
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: str | None = None,
    ) -> None:
        """Fails unless arrays are equal within the tolerances of the less precise of their types."""
        a, b = self._array(a), self._array(b)
        dtype_names = {a.dtype.name, b.dtype.name}
        for names, its_rtol, its_atol in (
            ({"float32", "complex64"}, float_rtol, float_atol),
            ({"float16"}, half_rtol, half_atol),
            ({"bfloat16"}, bfloat16_rtol, bfloat16_atol),
        ):
            if dtype_names & names:
                rtol, atol = max(rtol, its_rtol), max(atol, its_atol)
        self.assertAllClose(a, b, rtol, atol, msg)

    def assertNotAllClose(self, a: Any, b: Any, **kwargs: Any) -> None:
        """Fails if values are equal within tolerances."""
        try:
            self.assertAllClose(a, b, **kwargs)
        except AssertionError:
            return
        self.fail(f"expected values that differ, received close ones. {kwargs.get('msg') or ''}")

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Fails unless arrays have equal shapes and elements; NaN equals itself."""
        a, b = self._array(a), self._array(b)
        self.assertEqual(a.shape, b.shape, f"Shape mismatch: expected {a.shape}, got {b.shape}. {msg or ''}")
        a, b = (np.char.encode(x) if x.dtype.kind == "U" else x for x in (a, b))
        np.testing.assert_array_equal(a, b, err_msg=msg or "")

    def assertNotAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Fails if arrays have equal shapes and elements."""
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        self.fail(f"expected values that differ, received equal ones. {msg or ''}")

    def _assert_elements(self, a: Any, holds: Callable[[Any], Any], what: str) -> None:
        array = self._array(a)
        wrong = array[~holds(array)]
        self.assertFalse(wrong.size, f"{wrong.size} elements are not {what}: {wrong[:10]}")

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        """Fails unless all elements are greater than a number."""
        self._assert_elements(a, lambda x: x > comparison_target, f"> {comparison_target}")

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        """Fails unless all elements are less than a number."""
        self._assert_elements(a, lambda x: x < comparison_target, f"< {comparison_target}")

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        """Fails unless all elements are at least a number."""
        self._assert_elements(a, lambda x: x >= comparison_target, f">= {comparison_target}")

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        """Fails unless all elements are at most a number."""
        self._assert_elements(a, lambda x: x <= comparison_target, f"<= {comparison_target}")

    def assertAllInRange(
        self,
        target: Any,
        lower_bound: Any,
        upper_bound: Any,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """Fails unless all elements are in a range."""
        above, below = (np.greater, np.greater_equal), (np.less, np.less_equal)
        self._assert_elements(
            target,
            lambda x: above[not open_lower_bound](x, lower_bound) & below[not open_upper_bound](x, upper_bound),
            f"between {lower_bound} and {upper_bound}",
        )

    def assertAllInSet(self, target: Any, expected_set: Any) -> None:
        """Fails unless all elements are in a set."""
        self._assert_elements(target, lambda x: np.isin(x, list(expected_set)), f"in {expected_set}")

    def assertDTypeEqual(self, target: Any, expected_dtype: DTypeLike) -> None:
        """Fails unless an array, or each array of a list, has the type."""
        for array in flatten(target):
            dtype = array.dtype if hasattr(array, "dtype") else np.asarray(array).dtype
            self.assertEqual(dtypes.as_dtype(dtype), dtypes.as_dtype(expected_dtype))

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        """Fails unless two floats differ by at most `err`."""
        self.assertTrue(f1 == f2 or abs(f1 - f2) <= err, f"{f1!r} != {f2!r} +/- {err!r}. {msg or ''}")

    def assertArrayNear(self, farray1: Any, farray2: Any, err: float, msg: str | None = None) -> None:
        """Fails unless two sequences of floats are equal within `err`."""
        self.assertEqual(len(farray1), len(farray2), msg)
        for f1, f2 in zip(farray1, farray2):
            self.assertNear(float(f1), float(f2), err, msg)

    def assertNDArrayNear(self, ndarray1: Any, ndarray2: Any, err: float, msg: str | None = None) -> None:
        """Fails unless the Euclidean distance of two arrays is below err."""
        distance = np.linalg.norm(np.subtract(ndarray1, ndarray2))
        self.assertTrue(distance < err, f"the arrays differ by {distance}, more than {err}. {msg or ''}")

    def assertShapeEqual(self, np_array: Any, tf_tensor: Any, msg: str | None = None) -> None:
        """Fails unless an array has exactly the static shape of a tensor."""
        self.assertAllEqual(np.shape(np_array), tf_tensor.get_shape().as_list(), msg)

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: str | None = None) -> None:
        """Fails unless two device names are equal in canonical form."""
        one, other = (DeviceSpec.from_string(str(d)).to_string() if d else "" for d in (device1, device2))
        self.assertEqual(one, other, msg)

    # -- errors and messages ------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(  # type: ignore[override]
        self, exception_type: Any, expected_err_re_or_predicate: Any
    ) -> Iterator[None]:
        """Expects an exception whose text matches a pattern, or that satisfies a predicate."""
        try:
            yield
        except exception_type as error:
            if callable(expected_err_re_or_predicate):
                fits = bool(expected_err_re_or_predicate(error))
            else:
                fits = re.search(expected_err_re_or_predicate, str(error)) is not None
            if not fits:
                raise AssertionError(f"Exception of type {type(error)}: {error}") from error
            return
        self.fail(f"{getattr(exception_type, '__name__', exception_type)} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        """Returns a context manager that expects an OpError."""
        return self.assertRaisesWithPredicateMatch(errors.OpError, expected_err_re_or_predicate)

    def assertRaisesRegexp(self, *args: Any, **kwargs: Any) -> Any:
        """Deprecated name of `assertRaisesRegex`."""
        return self.assertRaisesRegex(*args, **kwargs)

    def assertItemsEqual(self, first: Any, second: Any, msg: str | None = None) -> None:
        """Deprecated name of `assertCountEqual`."""
        self.assertCountEqual(first, second, msg)

    def assertProtoEquals(self, expected_message_maybe_ascii: Any, message: Any, msg: str | None = None) -> None:
        """Fails unless a message equals another one, given as a message or as text."""
        expected = expected_message_maybe_ascii
        if isinstance(expected, str | bytes):
            from google.protobuf import text_format

            expected = text_format.Parse(expected, type(message)())
        self.assertEqual(expected, message, msg)

    @contextlib.contextmanager
    def captureWritesToStream(self, stream: Any) -> Iterator[Any]:
        """Yields an object whose contents() is what was written to a stream with a file descriptor."""
        number = stream.fileno()
        duplicate = os.dup(number)
        with tempfile.TemporaryFile() as file:
            stream.flush()
            os.dup2(file.fileno(), number)
            try:
                yield _Captured(stream, file)
            finally:
                stream.flush()
                os.dup2(duplicate, number)
                os.close(duplicate)


class _Captured:
    def __init__(self, stream: Any, file: Any) -> None:
        self._stream = stream
        self._file = file

    def contents(self) -> str:
        self._stream.flush()
        self._file.seek(0)
        return str(self._file.read().decode("utf-8"))


def _test_config(config: Any) -> ConfigProto:
    return ConfigProto(allow_soft_placement=True) if config is None else config


def _on_device(use_gpu: bool, force_gpu: bool) -> Any:
    if force_gpu and gpu_count():
        return device("/device:GPU:0")
    return contextlib.nullcontext() if use_gpu else device("/device:CPU:0")
