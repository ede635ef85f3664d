"""`tensorflow.python.util.tf_export`: decorators by which modules of TensorFlow declare their public names.

The public names of this package are generated from declarations of its own, so these decorators only note the names
on what they decorate.
"""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")


class api_export:
    """A decorator that notes public names on a function or class and returns it."""

    def __init__(self, *args: str, **kwargs: Any) -> None:
        self._names = args
        self._names_v1 = tuple(kwargs.get("v1", args))

    def __call__(self, func: T) -> T:
        """Notes the names and returns the function or class."""
        func._tf_api_names = self._names  # type: ignore[attr-defined]
        func._tf_api_names_v1 = self._names_v1  # type: ignore[attr-defined]
        return func

    def export_constant(self, module_name: str, name: str) -> None:
        """Does nothing: a constant cannot hold its names."""


tf_export = keras_export = estimator_export = api_export


def get_canonical_name_for_symbol(
    symbol: object, api_name: str = "tensorflow", add_prefix_to_v1_names: bool = False
) -> Any:
    """Returns the first name that was noted on a function or class, None if there is none."""
    names = vars(symbol).get("_tf_api_names") or vars(symbol).get("_tf_api_names_v1") or (None,)
    return names[0]
