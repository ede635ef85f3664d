"""`tensorflow.python.util.tf_decorator`: decorators that remember the function that they wrap."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


class TFDecorator:
    """What a decorator did: its name, the function that it wraps, and the documentation that it adds."""

    def __init__(
        self, decorator_name: str, target: Function, decorator_doc: str = "", decorator_argspec: Any = None
    ) -> None:
        functools.update_wrapper(self, target)
        self._decorated_target = target
        self._decorator_name = decorator_name
        self._decorator_doc = decorator_doc
        self._decorator_argspec = decorator_argspec
        self.__doc__ = f"{target.__doc__ or ''}\n\n{decorator_doc}".strip()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the wrapped function."""
        return self._decorated_target(*args, **kwargs)

    @property
    def decorated_target(self) -> Function:
        """The wrapped function."""
        return self._decorated_target

    @decorated_target.setter
    def decorated_target(self, value: Function) -> None:
        self._decorated_target = value

    @property
    def decorator_name(self) -> str:
        """The name of the decorator."""
        return self._decorator_name

    @property
    def decorator_doc(self) -> str:
        """The documentation that the decorator adds."""
        return self._decorator_doc

    @property
    def decorator_argspec(self) -> Any:
        """The arguments that the decorated function takes, if the decorator changes them."""
        return self._decorator_argspec


def make_decorator(
    target: Function,
    decorator_func: Function,
    decorator_name: str | None = None,
    decorator_doc: str = "",
    decorator_argspec: object = None,
) -> Function:
    """Returns the decorating function under the name and documentation of the one that it wraps."""
    name = decorator_name or inspect.stack(context=0)[1].function
    decorator = TFDecorator(name, target, decorator_doc, decorator_argspec)
    functools.update_wrapper(decorator_func, target)
    decorator_func.__doc__ = decorator.__doc__
    decorator_func._tf_decorator = decorator  # type: ignore[attr-defined]
    return decorator_func


def tf_decorator(decorator_name: str, decorator_doc: str = "") -> Callable[[Function], Callable[[Function], Function]]:
    """Returns a decorator of decorators that marks their results as `make_decorator` does."""

    def mark(decorate: Function) -> Callable[[Function], Function]:
        @functools.wraps(decorate)
        def decorated(target: Function) -> Function:
            return make_decorator(target, decorate(target), decorator_name, decorator_doc)

        return decorated

    return mark


def unwrap(maybe_tf_decorator: object) -> tuple[list[TFDecorator], Any]:
    """Returns the decorators around a function, outermost first, and the function itself."""
    decorators: list[TFDecorator] = []
    current = maybe_tf_decorator
    while True:
        decorator = current if isinstance(current, TFDecorator) else getattr(current, "_tf_decorator", None)
        if decorator is None:
            return decorators, current
        decorators.append(decorator)
        current = decorator.decorated_target
