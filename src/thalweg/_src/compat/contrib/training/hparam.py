"""HParams: named hyperparameters with types, which can be overridden by strings and dictionaries."""

from __future__ import annotations

import json
import numbers
import re
from typing import Any

from thalweg._src.base.export import export

_ASSIGNMENT = re.compile(
    r"""
    (?P<name>[a-zA-Z][\w.]*)          # a name
    (\[\s*(?P<index>\d+)\s*\])?       # an element of a list
    \s*=\s*
    ((?P<value>[^,\[]*)               # one value
     |\[(?P<values>[^\]]*)\])         # or a list of them
    ($|,\s*)""",
    re.VERBOSE,
)


@export("contrib.training.parse_values")
def parse_values(values: str, type_map: dict[str, Any], ignore_unknown: bool = False) -> dict[str, Any]:
    """Parses hyperparameters such as "rate=0.1,sizes=[2,3],names[1]=b", converted to their types."""
    results: dict[str, Any] = {}
    position = 0
    while position < len(values):
        match = _ASSIGNMENT.match(values, position)
        if not match:
            raise ValueError(f"Malformed hyperparameter value: {values[position:]}")
        position = match.end()
        name = match["name"]
        if name not in type_map:
            if ignore_unknown:
                continue
            raise ValueError(f"Unknown hyperparameter: {name}.")
        kind = type_map[name]
        if match["value"] is not None:
            value = _parsed(name, match["value"].strip(), kind)
            if match["index"] is None:
                _require_new(name, results)
                results[name] = value
            else:
                _set_element(name, int(match["index"]), value, results)
        else:
            if match["index"] is not None:
                raise ValueError(f"Assignment of a list to a list index in {values!r}.")
            _require_new(name, results)
            results[name] = [_parsed(name, word.strip(), kind) for word in re.split("[ ,]", match["values"]) if word]
    return results


def _require_new(name: str, results: dict[str, Any]) -> None:
    if name in results:
        raise ValueError(f"Multiple assignments to variable {name!r}")


def _set_element(name: str, index: int, value: object, results: dict[str, Any]) -> None:
    elements = results.setdefault(name, {})
    if not isinstance(elements, dict) or index in elements:
        raise ValueError(f"Multiple assignments to variable '{name}[{index}]'")
    elements[index] = value


def _parsed(name: str, text: str, kind: Any) -> Any:
    try:
        if kind is bool:
            if text.lower() in ("true", "1"):
                return True
            if text.lower() in ("false", "0"):
                return False
            raise ValueError(text)
        return kind(text)
    except ValueError:
        shown = getattr(kind, "__name__", kind)
        raise ValueError(f"Could not parse hparam {name!r} of type {shown!r} with value {text!r}.") from None


def _converted(name: str, kind: Any, value: Any) -> Any:
    """Converts a value to the type of a hyperparameter; raises ValueError if that loses information."""
    if kind is None or value is None:
        return value
    wrong = ValueError(f"Could not cast hparam {name!r} of type {kind.__name__!r} from value {value!r}")
    if issubclass(kind, str) != isinstance(value, str):
        raise wrong
    if issubclass(kind, bool) != isinstance(value, bool):
        raise wrong
    if issubclass(kind, numbers.Integral) and not isinstance(value, numbers.Integral):
        raise wrong
    if issubclass(kind, numbers.Number) and not isinstance(value, numbers.Number):
        raise wrong
    return kind(value)


@export("contrib.training.HParams")
class HParams:
    """A set of hyperparameters, each an attribute: `HParams(rate=0.1, sizes=[2, 3])`."""

    def __init__(self, hparam_def: Any = None, model_structure: Any = None, **kwargs: Any) -> None:
        if hparam_def is not None:
            raise ValueError("HParams are made from keyword arguments; hparam_def is not supported")
        self._hparam_types: dict[str, tuple[Any, bool]] = {}
        self._model_structure = model_structure
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: object) -> None:
        """Adds a hyperparameter, with the type of its value."""
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        if isinstance(value, list | tuple):
            if not value:
                raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
            self._hparam_types[name] = (type(value[0]), True)
        else:
            self._hparam_types[name] = (type(value), False)
        setattr(self, name, value)

    def set_hparam(self, name: str, value: object) -> None:
        """Sets the value of a hyperparameter; it must have its type."""
        kind, many = self._hparam_types[name]
        kind = None if kind is type(None) else kind
        if isinstance(value, list):
            if not many:
                raise ValueError(f"Must not pass a list for single-valued parameter: {name}")
            setattr(self, name, [_converted(name, kind, item) for item in value])
            return
        if many:
            raise ValueError(f"Must pass a list for multi-valued parameter: {name}.")
        setattr(self, name, _converted(name, kind, value))

    def del_hparam(self, name: str) -> None:
        """Removes a hyperparameter."""
        if hasattr(self, name):
            delattr(self, name)
            del self._hparam_types[name]

    def parse(self, values: str) -> HParams:
        """Overrides hyperparameters by a string such as "rate=0.1,sizes=[2,3]"."""
        types = {name: kind for name, (kind, _) in self._hparam_types.items()}
        return self.override_from_dict(parse_values(values, types))

    def override_from_dict(self, values_dict: dict[str, Any]) -> HParams:
        """Overrides hyperparameters by a dictionary; single elements by {index: value}."""
        for name, value in values_dict.items():
            if isinstance(value, dict):
                current = list(getattr(self, name))
                for index, element in value.items():
                    if index >= len(current):
                        raise ValueError(f"{name}[{index}] is out of range: there are {len(current)} values")
                    current[index] = element
                value = current
            self.set_hparam(name, value)
        return self

    def parse_json(self, values_json: str) -> HParams:
        """Overrides hyperparameters by a JSON object."""
        return self.override_from_dict(json.loads(values_json))

    def set_model_structure(self, model_structure: object) -> None:
        """Stores an object that describes the structure of the model."""
        self._model_structure = model_structure

    def get_model_structure(self) -> Any:
        """Returns the object set by `set_model_structure`."""
        return self._model_structure

    def to_json(self, indent: Any = None, separators: Any = None, sort_keys: bool = False) -> str:
        """Returns the hyperparameters as JSON, without functions."""
        plain = {name: value for name, value in self.values().items() if not callable(value)}
        return json.dumps(plain, indent=indent, separators=separators, sort_keys=sort_keys)

    def values(self) -> dict[str, Any]:
        """Returns all hyperparameters by name."""
        return {name: getattr(self, name) for name in self._hparam_types}

    def get(self, key: str, default: Any = None) -> Any:
        """Returns the value of a hyperparameter, or a default of its type if there is none."""
        if key not in self._hparam_types:
            return default
        if default is not None:
            kind, many = self._hparam_types[key]
            if many != isinstance(default, list):
                raise ValueError(f"Multi-valued hparam {key!r} and default {default!r} do not fit")
            for item in default if many else [default]:
                _converted(key, kind, item)
        return getattr(self, key)

    def __contains__(self, key: str) -> bool:
        return key in self._hparam_types

    def __str__(self) -> str:
        return str(sorted(self.values().items()))

    def __repr__(self) -> str:
        return f"HParams({', '.join(f'{name}={value!r}' for name, value in sorted(self.values().items()))})"
