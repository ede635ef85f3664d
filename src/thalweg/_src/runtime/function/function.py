"""tf.function: a Python function, traced into a graph for each combination of types and shapes of its arguments.

The first trace may create variables. The function is then traced again, as it runs in all later calls, which must not
create any.
"""

from __future__ import annotations

import functools
import inspect
import logging
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thalweg._src.base import shapes
from thalweg._src.base.export import export
from thalweg._src.graph import nest
from thalweg._src.graph.autograph.convert import convert
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.default_stacks import stacks
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.variable_creators import variable_creator_scope
from thalweg._src.runtime.function.concrete import ConcreteFunction, Spec, trace

_log = logging.getLogger("thalweg")
_WARN_AFTER = 5  # traces
Key = tuple[Any, ...]


@export("function", "contrib.eager.function")
def function(
    func: Callable[..., Any] | None = None,
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    experimental_autograph_options: object = None,
    experimental_relax_shapes: bool = False,
    experimental_compile: bool | None = None,
) -> Any:
    """Makes a Python function run as a graph: it is traced once for each combination of types and shapes.

    Args:
        func: The function; without it, a decorator is returned.
        input_signature: TensorSpecs of the arguments, for which the function is then traced once.
        autograph: Whether Python's control flow on tensors becomes control flow of the graph.
        experimental_autograph_options: Accepted for compatibility.
        experimental_relax_shapes: Whether sizes that differ between calls become unknown, instead of traced again.
        experimental_compile: Accepted for compatibility: functions that run often are compiled.
    """

    def decorate(python_function: Callable[..., Any]) -> Function:
        return Function(python_function, input_signature, autograph, experimental_relax_shapes)

    return decorate if func is None else decorate(func)


@export("contrib.eager.defun")
def defun(
    func: Callable[..., Any] | None = None,
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    experimental_autograph_options: object = None,
    experimental_relax_shapes: bool = False,
) -> Any:
    """Makes a Python function run as a graph, like `tf.function`; each trace may create variables.

    Args:
        func: The function; without it, a decorator is returned.
        input_signature: TensorSpecs of the arguments, for which the function is then traced once.
        autograph: Whether Python's control flow on tensors becomes control flow of the graph.
        experimental_autograph_options: Accepted for compatibility.
        experimental_relax_shapes: Whether sizes that differ between calls become unknown, instead of traced again.
    """

    def decorate(python_function: Callable[..., Any]) -> Function:
        return Function(python_function, input_signature, autograph, experimental_relax_shapes, False)

    return decorate if func is None else decorate(func)


class _Settings:
    runs_eagerly = False


_settings = _Settings()


@export("config.experimental_run_functions_eagerly", "config.run_functions_eagerly")
def experimental_run_functions_eagerly(run_eagerly: bool) -> None:
    """Makes functions run as plain Python, so that a debugger stops in them, or as graphs again.

    Args:
        run_eagerly: Whether functions run as plain Python.
    """
    _settings.runs_eagerly = bool(run_eagerly)


@export("config.experimental_functions_run_eagerly", "config.functions_run_eagerly")
def experimental_functions_run_eagerly() -> bool:
    """Returns whether functions run as plain Python."""
    return _settings.runs_eagerly


class Function:
    """A Python function with the graphs that it was traced into."""

    def __init__(
        self,
        python_function: Callable[..., Any],
        input_signature: Sequence[Any] | None = None,
        autograph: bool = True,
        relax_shapes: bool = False,
        creates_variables: bool = True,
    ) -> None:
        if not callable(python_function):
            raise TypeError(f"tf.function: expected a callable, received {python_function!r}")
        functools.update_wrapper(self, python_function)
        self._python_function = python_function
        self._name = getattr(python_function, "__name__", "function").strip("<>")
        self._autograph = autograph
        self._relaxes = relax_shapes
        self._may_create = creates_variables
        self._lock = threading.RLock()
        self._concrete: dict[Key, ConcreteFunction] = {}
        self._fast: dict[Any, ConcreteFunction] = {}
        self._relaxed: dict[Key, list[Any]] = {}
        self._created: list[weakref.ref[Any]] | None = None  # variables of the first trace
        self._methods: weakref.WeakKeyDictionary[Any, Function] = weakref.WeakKeyDictionary()
        self._input_signature = None if input_signature is None else tuple(input_signature)
        try:
            self._signature: inspect.Signature | None = inspect.signature(python_function)
        except (TypeError, ValueError):
            self._signature = None

    @property
    def python_function(self) -> Callable[..., Any]:
        """The function that is traced."""
        return self._python_function

    @property
    def input_signature(self) -> Any:
        """The TensorSpecs of the arguments, if they were given."""
        return self._input_signature

    def _get_tracing_count(self) -> int:
        return len(self._concrete)

    def __get__(self, instance: object, owner: object) -> Any:
        """Returns the function of one object, if it decorates a method."""
        if instance is None:
            return self
        if instance not in self._methods:
            weak = weakref.ref(instance)

            python_function = convert(self._python_function) if self._autograph else self._python_function

            def method(*args: Any, **kwargs: Any) -> Any:
                return python_function(weak(), *args, **kwargs)

            functools.update_wrapper(method, self._python_function)
            if self._signature is not None:
                parameters = list(self._signature.parameters.values())[1:]
                method.__signature__ = self._signature.replace(parameters=parameters)  # type: ignore[attr-defined]
            self._methods[instance] = Function(method, self._input_signature, False, self._relaxes, self._may_create)
        return self._methods[instance]

    # -- calls --------------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function: traces it if it was not called in this way before."""
        if _settings.runs_eagerly and stacks.is_eager:
            return self._python_function(*args, **kwargs)
        if stacks.is_plain and not kwargs:
            try:
                key = (*[(x.kind, x.value.shape) for x in args],)
                cached = self._fast.get(key)
            except (AttributeError, TypeError):
                cached = key = None
            if cached is not None:
                return cached.call_flat(args)
            concrete, tensors = self._prepare(args, kwargs)
            if key is not None and len(tensors) == len(args):
                self._fast[key] = concrete
            return concrete.call_flat(tensors)
        concrete, tensors = self._prepare(args, kwargs)
        return concrete.call_flat(tensors)

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """Returns the trace for arguments, of which tensors may be given as TensorSpecs."""
        if self._input_signature is not None and not args and not kwargs:
            args = self._input_signature
        return self._prepare(args, kwargs)[0]

    def _prepare(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[ConcreteFunction, list[Any]]:
        """Returns the trace for arguments, and those that are tensors."""
        if self._input_signature is not None:
            structure, leaves = self._by_signature(args, kwargs)
        else:
            structure, leaves = self._canonical(args, kwargs)
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        described = [_described(leaf) for leaf in leaves]
        if self._input_signature is not None:
            described = [Spec(s.dtype, shapes.as_shape(s.shape), s.name) for s in nest.flatten(self._input_signature)]
        with self._lock:
            key = self._key(structure, described)
            concrete = self._concrete.get(key)
            if concrete is None and self._relaxes:
                key, described = self._relax(structure, described)
                concrete = self._concrete.get(key)
            if concrete is None:
                self._warn(key)
                concrete = self._trace(structure, described)
                self._concrete[key] = concrete
        return concrete, tensors

    def _canonical(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, list[Any]]:
        """Returns the arguments in one form, however they were passed: structure and leaves."""
        if self._signature is not None:
            bound = self._signature.bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        structure = (args, kwargs)
        leaves = [_leaf(value) for value in nest.flatten(structure, expand_composites=True)]
        return structure, leaves

    def _by_signature(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, list[Any]]:
        """Returns the arguments as tensors that agree with the signature."""
        signature = self._input_signature
        assert signature is not None
        if self._signature is not None:
            args = self._signature.bind(*args, **kwargs).args
        if len(args) != len(signature):
            raise TypeError(
                f"{self._name}: expected {len(signature)} arguments as in input_signature, received {len(args)}"
            )
        leaves = []
        for index, (spec, leaf) in enumerate(zip(nest.flatten(signature), _up_to(signature, args))):
            if not isinstance(leaf, Tensor) and not _is_spec(leaf):
                leaf = convert_to_tensor(leaf, preferred_dtype=spec.dtype)
            fits = shapes.compatible(shapes.as_shape(leaf.shape), shapes.as_shape(spec.shape))
            if leaf.dtype.base_dtype is not spec.dtype or not fits:
                raise ValueError(
                    f"Python inputs incompatible with input_signature: argument {index} of {self._name}: expected "
                    f"{spec.dtype.name} of shape {spec.shape}, received {leaf.dtype.name} of shape {leaf.shape}"
                )
            leaves.append(leaf)
        return (signature, {}), leaves

    def _key(self, structure: object, described: Sequence[Any]) -> Key:
        graph = get_default_graph()
        where = None if graph.executes or graph.captures else graph
        shown = nest.map_structure(lambda _: None, structure, expand_composites=True)
        leaf_keys = tuple((leaf.dtype, leaf.shape) if isinstance(leaf, Spec) else _identity(leaf) for leaf in described)
        return where, graph.scopes.device, repr(shown), leaf_keys

    def _relax(self, structure: Any, described: list[Any]) -> tuple[Key, list[Any]]:
        """Returns the arguments with unknown sizes where calls have differed."""
        ranks = [
            Spec(d.dtype, len(d.shape) if d.shape is not None else None) if isinstance(d, Spec) else d
            for d in described
        ]
        group = self._key(structure, ranks)
        before = self._relaxed.get(group)
        if before is None:
            self._relaxed[group] = described
        else:
            merged = [
                Spec(new.dtype, shapes.in_common(old.shape, new.shape), new.name) if isinstance(new, Spec) else new
                for old, new in zip(before, described)
            ]
            self._relaxed[group] = described = merged
        return self._key(structure, described), described

    def _warn(self, key: Key) -> None:
        """Warns of a function that is traced again and again, and says what differs."""
        if len(self._concrete) < _WARN_AFTER or len(self._concrete) % _WARN_AFTER:
            return
        last = next(reversed(self._concrete))
        changed = [i for i, (old, new) in enumerate(zip(last[-1], key[-1])) if old != new]
        names = list(self._signature.parameters) if self._signature is not None else []
        what = ", ".join(
            f"{names[i] if i < len(names) else f'argument {i}'} ({_shown(last[-1][i])}, then {_shown(key[-1][i])})"
            for i in changed
        )
        _log.warning(
            "%d calls of %s were traced, each of which is slow. %s. Hint: pass numbers that change as tensors, give "
            "input_signature, or set experimental_relax_shapes=True",
            len(self._concrete) + 1,
            self._name,
            f"What changed: {what}" if what else "The structure of the arguments changed",
        )

    # -- tracing ------------------------------------------------------------------------------------------------------

    def _trace(self, structure: object, described: list[Any]) -> ConcreteFunction:
        if self._created is None and self._may_create:
            self._created = []
            try:
                concrete = self._trace_once(structure, described, self._create)
            except BaseException:
                self._created = None
                raise
            if not self._created:
                return concrete
        return self._trace_once(structure, described, self._refuse)

    def _trace_once(self, structure: object, described: list[Any], creator: Any) -> ConcreteFunction:
        function = convert(self._python_function) if self._autograph else self._python_function

        def call(*args: Any, **kwargs: Any) -> Any:
            with variable_creator_scope(creator):
                return function(*args, **kwargs)

        return trace(call, self._name, structure, described, get_default_graph())

    def _create(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        variable = next_creator(**kwargs)
        assert self._created is not None
        self._created.append(weakref.ref(variable))
        return variable

    def _refuse(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        if not self._may_create:
            return next_creator(**kwargs)
        raise ValueError(
            f"tf.function-decorated function {self._name!r} tried to create variables on non-first call. Create them "
            "outside, or once: `if self.v is None: self.v = tf.Variable(...)`"
        )


def _leaf(value: object) -> Any:
    """Returns an argument as it is traced: arrays become tensors."""
    return convert_to_tensor(value) if isinstance(value, np.ndarray | np.generic) else value


def _described(leaf: Any) -> Any:
    """Returns the type and shape of a tensor, and any other value as it is."""
    if isinstance(leaf, Tensor):
        return Spec(leaf.dtype.base_dtype, leaf.dims)
    if _is_spec(leaf):
        return Spec(leaf.dtype, shapes.as_shape(leaf.shape), leaf.name)
    return leaf


def _up_to(structure: Any, value: Any) -> list[Any]:
    """Returns the parts of a value at the leaves of a structure."""
    if isinstance(structure, dict):
        return [leaf for key in sorted(structure) for leaf in _up_to(structure[key], value[key])]
    if isinstance(structure, list | tuple):
        if not isinstance(value, list | tuple) or len(value) != len(structure):
            raise TypeError(f"expected {len(structure)} values as in input_signature, received {value!r}")
        return [leaf for inner, inner_value in zip(structure, value) for leaf in _up_to(inner, inner_value)]
    return [value]


def _is_spec(value: object) -> bool:
    return hasattr(value, "is_compatible_with") and hasattr(value, "dtype")


class _Same:
    """An object as a part of a key: equal to itself alone."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def _identity(leaf: object) -> Any:
    if not isinstance(leaf, bool | int | float | complex | str | bytes | None):
        return _Same(leaf)
    return type(leaf), leaf


def _shown(leaf_key: Any) -> str:
    if isinstance(leaf_key, _Same):
        return f"another {type(leaf_key.value).__name__}"
    first, second = leaf_key
    return repr(second) if isinstance(first, type) else f"{first.name} of shape {shapes.show(second)}"
