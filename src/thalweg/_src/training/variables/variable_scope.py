"""Variable scopes: variables by name, created once and shared wherever the same name is requested again."""

from __future__ import annotations

import contextlib
import enum
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.devices import DeviceSpec
from thalweg._src.base.dtypes import DType, DTypeLike
from thalweg._src.base.export import export, export_constants
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import ShapeLike
from thalweg._src.base.signatures import parameters_of
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import executing_eagerly, executing_eagerly_outside_functions, get_default_graph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.scopes import GraphKeys, graph_of, name_scope
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.variables import ref_variable, resource_variable  # noqa: F401  the classes of variables
from thalweg._src.training.variables.replication import VariableAggregation, VariableSynchronization
from thalweg._src.training.variables.variable_store import Getter, VariableStore
from thalweg._src.training.variables.variables import Variable


class ReuseMode(enum.Enum):
    AUTO_REUSE = 1


AUTO_REUSE = ReuseMode.AUTO_REUSE


@export("VariableScope")
class VariableScope:
    """The defaults of `get_variable`: name prefix, reuse, initializer, and others.

    Args:
        name: Name of the scope, the prefix of its variables.
        initializer: Default initializer.
        regularizer: Default regularizer.
        caching_device: Default caching device.
        partitioner: Default partitioner.
        custom_getter: Default custom getter.
        name_scope: Name of the name scope that belongs to the variable scope.
        dtype: Default type of variables.
        constraint: Default constraint.
    """

    name = ReadOnly[str]("The name of the scope.")
    original_name_scope = ReadOnly[str]("The name scope that was opened with this variable scope.", "_name_scope")
    reuse = ReadOnly[Any]("Whether variables are reused.")
    initializer = ReadOnly[Any]("The default initializer, or None.")
    dtype = ReadOnly[DType]("The default type of variables.")
    use_resource = ReadOnly[bool | None]("Whether variables are resource variables.")
    regularizer = ReadOnly[Any]("The default regularizer, or None.")
    caching_device = ReadOnly[Any]("The device on which values are cached, or None.")
    partitioner = ReadOnly[Any]("The default partitioner, or None.")
    custom_getter = ReadOnly[Getter | None]("The custom getter, or None.")
    constraint = ReadOnly[Any]("The function applied to variables after updates, or None.")

    def __init__(
        self,
        reuse: bool | ReuseMode,
        name: str = "",
        initializer: TensorLike | Callable[..., Any] | None = None,
        regularizer: Callable[..., Any] | None = None,
        caching_device: str | DeviceSpec | Callable[..., Any] | None = None,
        partitioner: Callable[..., Any] | None = None,
        custom_getter: Getter | None = None,
        name_scope: str = "",
        dtype: DTypeLike = dtypes.float32,
        use_resource: bool | None = None,
        constraint: Callable[..., Any] | None = None,
    ) -> None:
        self._name = name
        self._initializer = initializer
        self._regularizer = regularizer
        self._reuse = reuse
        self._caching_device = caching_device
        self._partitioner = partitioner
        self._custom_getter = custom_getter
        self._name_scope = name_scope
        self._dtype = dtypes.as_dtype(dtype)
        self._use_resource = use_resource
        self._constraint = constraint
        if executing_eagerly():
            if caching_device is not None:
                raise NotImplementedError("caching_device: variables of eager execution have no cached copies")
            self._reuse, self._use_resource = AUTO_REUSE, True

    def reuse_variables(self) -> None:
        """Makes this scope return existing variables from now on."""
        self._reuse = True

    def set_initializer(self, initializer: TensorLike | Callable[..., Any] | None) -> None:
        """Sets the default initializer."""
        self._initializer = initializer

    def set_dtype(self, dtype: DTypeLike) -> None:
        """Sets the default type of variables."""
        self._dtype = dtypes.as_dtype(dtype)

    def set_use_resource(self, use_resource: bool | None) -> None:
        """Sets whether variables are resource variables by default; None leaves that to the program's default."""
        self._use_resource = use_resource

    def set_regularizer(self, regularizer: Callable[..., Any] | None) -> None:
        """Sets the default regularizer."""
        self._regularizer = regularizer

    def set_caching_device(self, caching_device: str | DeviceSpec | Callable[..., Any]) -> None:
        """Sets the device on which values are cached."""
        self._caching_device = caching_device

    def set_partitioner(self, partitioner: Callable[..., Any] | None) -> None:
        """Sets the default partitioner."""
        self._partitioner = partitioner

    def set_custom_getter(self, custom_getter: Getter | None) -> None:
        """Sets the custom getter."""
        self._custom_getter = custom_getter

    def get_collection(self, name: str) -> list[Any]:
        """Returns the members of a collection whose names start with this scope's name."""
        return get_default_graph().get_collection(name, f"{self._name}/" if self._name else "")

    def trainable_variables(self) -> list[Any]:
        """Returns the trainable variables of the scope."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[Any]:
        """Returns the global variables of the scope."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        """Returns the local variables of the scope."""
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def get_variable(
        self,
        var_store: VariableStore,
        name: str,
        shape: ShapeLike = None,
        dtype: DTypeLike | None = None,
        initializer: TensorLike | Callable[..., Any] | None = None,
        regularizer: Callable[..., Any] | None = None,
        reuse: bool | ReuseMode | None = None,
        trainable: bool | None = None,
        collections: Sequence[str] | None = None,
        caching_device: str | DeviceSpec | Callable[..., Any] | None = None,
        partitioner: Callable[..., Any] | None = None,
        validate_shape: bool = True,
        use_resource: bool | None = None,
        custom_getter: Getter | None = None,
        constraint: Callable[..., Any] | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
    ) -> Any:
        """Returns the variable of this name under this scope, whatever the current name scope is."""
        if executing_eagerly_outside_functions():
            reuse = AUTO_REUSE  # whether variables are shared depends on the store
        # The name depends on variable scopes only.
        with name_scope(None):
            if dtype is not None and initializer is not None and not callable(initializer):
                initial_dtype = convert_to_tensor(initializer).dtype.base_dtype
                if initial_dtype != dtypes.as_dtype(dtype):
                    raise ValueError(f"Initializer type '{initial_dtype}' and explicit dtype '{dtype}' don't match.")
            return var_store.get(
                f"{self._name}/{name}" if self._name else name,
                custom_getter=custom_getter if custom_getter is not None else self._custom_getter,
                shape=shape,
                dtype=dtype if dtype is not None else self._dtype,
                initializer=initializer if initializer is not None else self._initializer,
                regularizer=regularizer if regularizer is not None else self._regularizer,
                reuse=reuse if reuse is not None else self._reuse,
                trainable=trainable,
                collections=collections,
                caching_device=caching_device if caching_device is not None else self._caching_device,
                partitioner=partitioner if partitioner is not None else self._partitioner,
                validate_shape=validate_shape,
                use_resource=use_resource if use_resource is not None else self._use_resource,
                constraint=constraint if constraint is not None else self._constraint,
                synchronization=synchronization,
                aggregation=aggregation,
            )


class _ScopeStore(threading.local):
    """The current variable scope and how often each name was opened, per thread."""

    def __init__(self) -> None:
        self.current = VariableScope(False)
        self.counts: dict[str, int] = {}

    def close_subscopes(self, name: str) -> None:
        for key in self.counts:
            if key.startswith(f"{name}/"):
                self.counts[key] = 0

    def unique(self, prefix: str) -> str:
        """Returns a scope name that has not been opened inside the current scope."""
        base = f"{self.current.name}/{prefix}" if self.current.name else prefix
        if not self.counts.get(base):
            return prefix
        number = 1
        while self.counts.get(f"{base}_{number}"):
            number += 1
        return f"{prefix}_{number}"


def _scope_store() -> _ScopeStore:
    return get_default_graph().singleton("variable_scopes", _ScopeStore)  # type: ignore[no-any-return]


def variable_store() -> VariableStore:
    """Returns the variables of the default graph; of eager execution, those of the current EagerVariableStore."""
    graph = get_default_graph()
    if not executing_eagerly_outside_functions():
        return graph.singleton("variable_store", VariableStore)  # type: ignore[no-any-return]
    return _eager.stores[-1] if _eager.stores else VariableStore()


class _EagerStores(threading.local):
    def __init__(self) -> None:
        self.stores: list[VariableStore] = []


_eager = _EagerStores()


@export("contrib.eager.EagerVariableStore")
class EagerVariableStore:
    """Keeps the variables that `get_variable` creates in eager execution, so that scopes can share them."""

    def __init__(self, store: VariableStore | None = None) -> None:
        if store is not None and not isinstance(store, VariableStore):
            raise ValueError(f"Cannot construct EagerVariableStore from {store!r}: expected a VariableStore")
        self._store = VariableStore() if store is None else store

    @staticmethod
    def current() -> EagerVariableStore:
        """Returns the store of the current scopes, or a new one."""
        return EagerVariableStore(_eager.stores[-1] if _eager.stores else None)

    @contextlib.contextmanager
    def as_default(self) -> Iterator[None]:
        """Context manager: `get_variable` creates and finds variables here."""
        _eager.stores.append(self._store)
        try:
            yield
        finally:
            _eager.stores.pop()

    def variables(self) -> list[Any]:
        """Returns all variables, sorted by name."""
        return sorted(self._store.variables.values(), key=lambda variable: variable.name)

    def trainable_variables(self) -> list[Any]:
        """Returns the trainable variables, sorted by name."""
        return [variable for variable in self.variables() if variable.trainable]

    def non_trainable_variables(self) -> list[Any]:
        """Returns the variables that are not trainable, sorted by name."""
        return [variable for variable in self.variables() if not variable.trainable]

    def copy(self) -> EagerVariableStore:
        """Returns a store with copies of the variables, of the same names and values."""
        store = VariableStore()
        for name, variable in self._store.variables.items():
            short = name.rpartition("/")[2]
            store.variables[name] = Variable(variable.read_value(), name=short, trainable=variable.trainable)
        return EagerVariableStore(store)


@export("get_variable_scope")
def get_variable_scope() -> VariableScope:
    """Returns the current variable scope."""
    return _scope_store().current


Variable._use_resource_in_scope = staticmethod(lambda: get_variable_scope().use_resource)


@export("no_regularizer")
def no_regularizer(_: object) -> None:
    """Regularizes nothing, in a scope whose parent has a regularizer."""
    return None


@export("get_variable")
def get_variable(
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike | None = None,
    initializer: TensorLike | Callable[..., Any] | None = None,
    regularizer: Callable[..., Any] | None = None,
    trainable: bool | None = None,
    collections: Sequence[str] | None = None,
    caching_device: str | DeviceSpec | Callable[..., Any] | None = None,
    partitioner: Callable[..., Any] | None = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Getter | None = None,
    constraint: Callable[..., Any] | None = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Any:
    """Returns the variable of this name in the current variable scope, created on first use if `reuse` allows it.

    Args:
        name: Name of the variable in the current scope.
        shape: Shape of the variable.
        dtype: Element type of the variable.
        initializer: Function or value that gives the initial value; by default that of the scope.
        collections: Collections that a new variable is added to.
    """
    return get_variable_scope().get_variable(
        variable_store(),
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=collections,
        caching_device=caching_device,
        partitioner=partitioner,
        validate_shape=validate_shape,
        use_resource=use_resource,
        custom_getter=custom_getter,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )


@export("get_local_variable")
@parameters_of(get_variable, trainable=False)
def get_local_variable(trainable: bool | None, collections: Sequence[str] | None, **arguments: Any) -> Any:
    """Returns a variable of the local collection: private to this process, neither saved nor trained.

    Args:
        trainable: Ignored: local variables are not trained.
    """
    return get_variable(trainable=False, collections=[*(collections or ()), GraphKeys.LOCAL_VARIABLES], **arguments)


@export("variable_scope")
class variable_scope:
    """A context manager: `with tf.variable_scope("layer", reuse=tf.AUTO_REUSE) as scope`.

    Args:
        default_name: Name to use if `name_or_scope` is None; it is made unique.
        values: Tensors whose graph is used.
        initializer: Default initializer of variables made inside.
        regularizer: Default regularizer of variables made inside.
        caching_device: Default caching device of variables made inside.
        partitioner: Default partitioner of variables made inside.
        custom_getter: Default custom getter of variables made inside.
        dtype: Default type of variables made inside.
        constraint: Default constraint of variables made inside.
        auxiliary_name_scope: Whether a name scope is opened too.
    """

    def __init__(
        self,
        name_or_scope: str | VariableScope | None,
        default_name: str | None = None,
        values: Sequence[object] | None = None,
        initializer: TensorLike | Callable[..., Any] | None = None,
        regularizer: Callable[..., Any] | None = None,
        caching_device: str | DeviceSpec | Callable[..., Any] | None = None,
        partitioner: Callable[..., Any] | None = None,
        custom_getter: Getter | None = None,
        reuse: bool | ReuseMode | None = None,
        dtype: DTypeLike | None = None,
        use_resource: bool | None = None,
        constraint: Callable[..., Any] | None = None,
        auxiliary_name_scope: bool = True,
    ) -> None:
        if name_or_scope is None and default_name is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if name_or_scope is not None and not isinstance(name_or_scope, str | VariableScope):
            raise TypeError(
                f"VariableScope: name_or_scope must be a string or VariableScope, received {name_or_scope!r}"
            )
        if reuse not in (True, False, None, AUTO_REUSE):
            raise ValueError(f"reuse: expected True, False, None or tf.AUTO_REUSE, received {reuse!r}")
        if not isinstance(auxiliary_name_scope, bool):
            raise TypeError(f"auxiliary_name_scope: expected a bool, received {auxiliary_name_scope!r}")
        self._name_or_scope = name_or_scope
        self._default_name = default_name
        self._values = values
        self._reuse = reuse or None  # reuse is inherited, so False has no effect
        self._auxiliary_name_scope = auxiliary_name_scope
        self._custom_getter = custom_getter
        self._changes: dict[str, Any] = {
            "_initializer": initializer,
            "_regularizer": regularizer,
            "_caching_device": caching_device,
            "_partitioner": partitioner,
            "_dtype": None if dtype is None else dtypes.as_dtype(dtype),
            "_use_resource": use_resource,
            "_constraint": constraint,
        }
        self._entered: list[contextlib.ExitStack] = []

    def __enter__(self) -> VariableScope:
        stack = contextlib.ExitStack()
        try:
            scope = self._enter(stack)
        except BaseException:
            stack.close()
            raise
        self._entered.append(stack)
        return scope

    def __exit__(self, *exc: object) -> None:
        self._entered.pop().close()

    def _enter(self, stack: contextlib.ExitStack) -> VariableScope:
        graph = graph_of(self._values) if self._values else None
        if graph is not None:
            stack.enter_context(graph.as_default())
        target = self._name_or_scope
        if target is None and self._reuse:
            raise ValueError("reuse=True needs name_or_scope: default_name creates a new scope")
        entered = stack.enter_context(self._name_scope(get_default_graph()))
        if isinstance(target, VariableScope):
            return stack.enter_context(_jump(target, self._derive(target, target.name, target.original_name_scope)))
        store = _scope_store()
        if target is None:
            assert self._default_name is not None
            target = store.unique(self._default_name)
        parent = store.current
        name = f"{parent.name}/{target}" if parent.name else target
        return stack.enter_context(_prolong(self._derive(parent, name, entered)))

    @contextlib.contextmanager
    def _name_scope(self, graph: Graph) -> Iterator[str]:
        """Enters the name scope of the variable scope: a new one with the same last component."""
        target = self._name_or_scope
        if isinstance(target, VariableScope):
            target = target.name.rpartition("/")[2]
        elif target is None:
            target = self._default_name
        if self._auxiliary_name_scope and target:
            with graph.name_scope(target) as scope:
                yield scope
        else:
            current = graph.get_name_scope()
            yield f"{current}/" if current else ""

    def _derive(self, base: VariableScope, name: str, original_name_scope: str) -> VariableScope:
        """Returns a copy of `base` with the given settings replaced."""
        scope = VariableScope(
            self._reuse or base.reuse,
            name=name,
            caching_device=self._changes["_caching_device"],
            name_scope=original_name_scope,
        )
        for key, value in self._changes.items():
            setattr(scope, key, getattr(base, key) if value is None else value)
        scope._custom_getter = _wrap(self._custom_getter, base.custom_getter)
        return scope


def _wrap(outer: Getter | None, inner: Getter | None) -> Getter | None:
    """Returns a getter that calls the new one with the old one as its inner getter."""
    if outer is None or inner is None:
        return inner if outer is None else outer

    def wrapped(getter: Getter, *args: Any, **kwargs: Any) -> Any:
        return outer(functools.partial(inner, getter), *args, **kwargs)

    return wrapped


@contextlib.contextmanager
def _prolong(scope: VariableScope) -> Iterator[VariableScope]:
    """Makes a nested scope current; names inside start afresh when it is opened again."""
    store = _scope_store()
    before = store.current
    store.counts[scope.name] = store.counts.get(scope.name, 0) + 1
    store.current = scope
    try:
        yield scope
    finally:
        store.close_subscopes(scope.name)
        store.current = before


@contextlib.contextmanager
def _jump(target: VariableScope, scope: VariableScope) -> Iterator[VariableScope]:
    """Makes an existing scope current; names opened inside are forgotten afterwards."""
    store = _scope_store()
    before = store.current
    store.counts[target.name] = store.counts.get(target.name, 0) + 1
    counts = dict(store.counts)
    store.current = scope
    try:
        yield scope
    finally:
        store.counts = counts
        store.current = before


@export("variable_op_scope")
@parameters_of(variable_scope.__init__, without=["self", "values", "auxiliary_name_scope"], before="name_or_scope")
def variable_op_scope(values: Sequence[object] | None, **arguments: Any) -> variable_scope:
    """Deprecated form of `variable_scope`, with the values first.

    Args:
        values: Tensors whose graph is used.
        default_name: Name to use if `name_or_scope` is None; it is made unique.
        initializer: Default initializer of variables made inside.
        regularizer: Default regularizer of variables made inside.
        caching_device: Default caching device of variables made inside.
        partitioner: Default partitioner of variables made inside.
        custom_getter: Default custom getter of variables made inside.
        dtype: Default type of variables made inside.
        constraint: Default constraint of variables made inside.
    """
    return variable_scope(values=values, **arguments)


export_constants(
    AUTO_REUSE="AUTO_REUSE",
)
