"""Valid calls: one of each operation that refuses arguments made from its schema; a module a family, read by all."""

from importlib import import_module
from pkgutil import iter_modules

from tests.valid_calls.values import Call

VALID: dict[str, Call] = {}
for _module in iter_modules(__path__):
    _calls: dict[str, Call] = getattr(import_module(f"{__name__}.{_module.name}"), "VALID", {})
    assert not VALID.keys() & _calls.keys(), f"{_module.name} repeats {VALID.keys() & _calls.keys()}"
    VALID |= _calls
