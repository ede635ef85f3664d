"""The kind of new variables whose scope and caller do not choose: reference or resource variables."""

from __future__ import annotations

from thalweg._src.base.export import export


class _Defaults:
    resource_variables = False


_defaults = _Defaults()


@export("disable_resource_variables")
def disable_resource_variables() -> None:
    """Makes new variables reference variables, the default."""
    _defaults.resource_variables = False


@export("enable_resource_variables")
def enable_resource_variables() -> None:
    """Makes new variables resource variables unless their scope or caller says otherwise."""
    _defaults.resource_variables = True


@export("resource_variables_enabled")
def resource_variables_enabled() -> bool:
    """Returns whether new variables are resource variables by default."""
    return _defaults.resource_variables
