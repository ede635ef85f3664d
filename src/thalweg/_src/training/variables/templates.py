"""Templates: functions that create their variables in the first call and share them in later ones."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph.default import executing_eagerly_outside_functions
from thalweg._src.graph.scopes import GraphKeys, get_collection, get_collection_ref
from thalweg._src.graph.source_line import made_at, user_stack
from thalweg._src.training.variables.variable_scope import EagerVariableStore, VariableScope, variable_scope


class Template:
    """A function with a variable scope of its own."""

    def __init__(
        self,
        name: str,
        func: Callable[..., Any],
        create_scope_now: bool = False,
        unique_name: str | None = None,
        custom_getter: Callable[..., Any] | None = None,
    ) -> None:
        if name is None:
            raise ValueError("name cannot be None.")
        self._name = name
        self._func = func
        self._unique_name = unique_name
        self._custom_getter = custom_getter
        self._stack = user_stack()
        self._store = EagerVariableStore.current() if executing_eagerly_outside_functions() else None
        if self._store is not None and unique_name is not None:
            raise ValueError("unique_name_ cannot be used when eager execution is enabled.")
        self._variable_scope: VariableScope | None = None
        self._variables_created = False
        self._first_call = True
        if create_scope_now:
            with self._new_scope(auxiliary_name_scope=False) as scope:
                self._variable_scope = scope

    def _new_scope(self, **kwargs: Any) -> variable_scope:
        return variable_scope(self._unique_name, self._name, custom_getter=self._custom_getter, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function inside the template's scope."""
        with contextlib.nullcontext() if self._store is None else self._store.as_default():
            return self._call_in_scope(args, kwargs)

    def _call_in_scope(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._variable_scope is None:
            with self._new_scope() as scope:
                self._variable_scope = scope
                return self._call(args, kwargs)
        with variable_scope(self._variable_scope, reuse=not self._first_call):
            return self._call(args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            if self._variables_created:
                return self._call_again(args, kwargs)
            self._first_call = False
            try:
                result = self._func(*args, **kwargs)
            except BaseException:
                self._first_call = True
                raise
            self._variables_created = True
            return result
        except Exception as error:
            error.add_note(f"in the template {self._name!r}, defined at: {made_at(self._stack)}")
            raise

    def _call_again(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        before = len(self._all_trainable())
        result = self._func(*args, **kwargs)
        trainable = self._all_trainable()
        if len(trainable) != before:
            raise ValueError(
                f"a later call of the template created new trainable variables: {trainable[before:]}; "
                "hint: tf.get_variable shares variables between calls, tf.Variable does not"
            )
        return result

    def _all_trainable(self) -> list[Any]:
        """Returns the trainable variables of the graph or the store, in the order of their creation."""
        if self._store is None:
            return get_collection_ref(GraphKeys.TRAINABLE_VARIABLES)
        return [variable for variable in self._store._store.variables.values() if variable.trainable]

    @property
    def name(self) -> str:
        return self._name

    @property
    def func(self) -> Callable[..., Any]:
        return self._func

    @property
    def variable_scope(self) -> VariableScope | None:
        return self._variable_scope

    @property
    def var_scope(self) -> VariableScope | None:
        return self._variable_scope

    @property
    def variable_scope_name(self) -> str | None:
        """The name of the scope, which is the prefix of the variables' names."""
        if self._variable_scope is None:
            return None
        name = self._variable_scope.name
        return name if not name or name.endswith("/") else f"{name}/"

    def _collection(self, key: str) -> list[Any]:
        if self._store is not None:
            variables = self._store.variables() if key == GraphKeys.GLOBAL_VARIABLES else []
            variables = self._store.trainable_variables() if key == GraphKeys.TRAINABLE_VARIABLES else variables
            return [variable for variable in variables if variable.name.startswith(self.variable_scope_name or "")]
        return get_collection(key, self.variable_scope_name) if self._variables_created else []

    @property
    def global_variables(self) -> list[Any]:
        return self._collection(GraphKeys.GLOBAL_VARIABLES)

    @property
    def local_variables(self) -> list[Any]:
        return self._collection(GraphKeys.LOCAL_VARIABLES)

    @property
    def variables(self) -> list[Any]:
        return self.global_variables + self.local_variables

    @property
    def trainable_variables(self) -> list[Any]:
        return self._collection(GraphKeys.TRAINABLE_VARIABLES)

    @property
    def non_trainable_variables(self) -> list[Any]:
        trained = {id(variable) for variable in self.trainable_variables}
        return [variable for variable in self.global_variables if id(variable) not in trained]

    weights = variables
    trainable_weights = trainable_variables
    non_trainable_weights = non_trainable_variables


@export("make_template", "contrib.eager.make_template")
def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Callable[..., Any] | None = None,
    **kwargs: Any,
) -> Template:
    """Returns a function that creates its variables in its first call and shares them in later ones.

    The scope is opened in the first call, or immediately; its name is made unique unless `unique_name_` is given.

    Args:
        name_: Name of the template's variable scope.
        func_: The function to wrap.
        create_scope_now_: Whether the variable scope is made now, not at the first call.
        unique_name_: Name of the variable scope, taken as it is.
        custom_getter_: Custom getter of the variable scope.
        **kwargs: Keyword arguments that are bound to the function.
    """
    if kwargs:
        func_ = functools.partial(func_, **kwargs)
    return Template(name_, func_, create_scope_now_, unique_name_, custom_getter_)
