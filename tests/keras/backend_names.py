"""K: the functions of keras.backend under their public names."""

from types import SimpleNamespace

from thalweg._src.base.export import EXPORTS
from thalweg._src.graph.scopes import name_scope
from thalweg._src.keras.backend import (  # noqa: F401  declare names
    control,
    convolution,
    functions,
    math,
    nn,
    random,
    rnn,
    settings,
    shapes,
    state,
    values,
    variables,
)

_PREFIX = "keras.backend."

K = SimpleNamespace(name_scope=name_scope)
for _each in EXPORTS:
    for _name in _each.names:
        if _name.startswith(_PREFIX) and _each.value is not None:
            setattr(K, _name.removeprefix(_PREFIX), _each.value)
