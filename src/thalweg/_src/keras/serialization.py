"""Objects by name: what Keras writes in place of an object in a configuration, and how it finds the object again.

An object with a configuration becomes `{"class_name": ..., "config": ...}`, a function or a class its name. Names are
looked up among the objects that a call gives, among those of `get_custom_objects`, and in the module of their kind.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias

from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.graph.graph_def_checks import shown
from thalweg._src.keras.entries import require_entries
from thalweg._src.keras.places import at, entry, in_class_of_user, short, within

# What arguments take for an object: its name, its class and configuration, the object or function itself, or None.
Identifier: TypeAlias = "str | Mapping[str, Any] | Callable[..., Any] | None"

# Marks an object inside the configuration of another, to tell it from a dictionary that the object takes as such.
_NESTED = "__passive_serialization__"

# Arguments that only later releases of Keras write, with the values that change nothing; ... for any value.
_LATER = {"fn": ..., "groups": 1, "ignore_class": None, "synchronized": False}

_custom_objects: dict[str, Any] = {}
_trusted: ContextVar[bool | None] = ContextVar("trusted", default=None)  # the descriptions that are being read


@export("keras.utils.get_custom_objects")
def get_custom_objects() -> dict[str, Any]:
    """Returns the dictionary of the objects of a program's own, by name, which a program may change."""
    return _custom_objects


@export("keras.utils.CustomObjectScope")
class CustomObjectScope:
    """A context in which the objects of dictionaries are found by name.

    Args:
        *args: Dictionaries from names to objects.
    """

    def __init__(self, *args: Mapping[str, Any] | None) -> None:
        self.custom_objects = args
        self.backup: dict[str, Any] | None = None

    def __enter__(self) -> CustomObjectScope:
        self.backup = _custom_objects.copy()
        for objects in self.custom_objects:
            _custom_objects.update(objects or {})
        return self

    def __exit__(self, *exception: object) -> None:
        _custom_objects.clear()
        _custom_objects.update(self.backup or {})


@export("keras.utils.custom_object_scope")
def custom_object_scope(*args: Mapping[str, Any] | None) -> CustomObjectScope:
    """Returns a context in which the objects of dictionaries are found by name.

    Args:
        *args: Dictionaries from names to objects.
    """
    return CustomObjectScope(*args)


class RefusedFunctionError(ValueError):
    """A description of a model names a function of a module; `refused` is (module, function)."""

    def __init__(self, what: str, name: str, module: Any) -> None:
        self.refused = (module, name)
        super().__init__(
            f"the {what} is the function {shown(str(name))} of the module {shown(str(module))}, which is refused, "
            "since the description of the model is not trusted\n  hint: name the function in custom_objects, or pass "
            "trusted=True to tf.keras.models.load_model or model_from_json if you know where the model comes from"
        )


class RefusedFileError(ValueError):
    """A description of a model names a file to read, and is not trusted; `refused` is its path."""

    def __init__(self, what: str, path: str) -> None:
        self.refused = path
        super().__init__(
            f"the {what} reads the file {shown(str(path))}, which is refused, since the model is not trusted\n"
            "  hint: pass trusted=None or trusted=True if you know where the model comes from"
        )


class NameOfFunction(str):
    """The name of a function in a configuration, with the function itself.

    A configuration that stays in the process finds its functions in this way, while one from a file has texts alone.
    """

    function: Callable[..., Any]

    def __new__(cls, function: Callable[..., Any]) -> NameOfFunction:
        name = super().__new__(cls, function.__name__)
        name.function = function
        return name


@contextmanager
def trusting(trusted: bool | None) -> Iterator[None]:
    """A context in which descriptions of models may name functions of any module, if they are trusted."""
    before = _trusted.set(trusted)
    try:
        yield
    finally:
        _trusted.reset(before)


def require_file(what: str, path: Any) -> None:
    """Raises RefusedFileError if a description that is read with trusted=False names a file, not None."""
    if path is not None and _trusted.get() is False:
        raise RefusedFileError(what, path)


def find_function(name: str, module: Any, custom_objects: Mapping[str, Any] | None, what: str) -> Any:
    """Returns the function of a name: a custom object, that of this process, or in a trusted description of a module.

    what: the place of the name, for errors
    """
    for objects in (custom_objects, _custom_objects):
        if objects and objects.get(name) is not None:
            return objects[name]
    if isinstance(name, NameOfFunction):
        return name.function
    if not _trusted.get():
        raise RefusedFunctionError(what, name, module)
    return find_object(name, vars(sys.modules[module]) if module in sys.modules else {}, None, what)


def class_and_config(name: str, config: Any) -> dict[str, Any]:
    """Returns what stands for an object of a class in a configuration."""
    return {"class_name": name, "config": config}


@export("keras.utils.serialize_keras_object")
def serialize_keras_object(instance: Any) -> Any:
    """Returns the class and configuration of an object, the name of a function or class, None for None.

    Args:
        instance: A function, a class, an object with `get_config`, or None.
    """
    if instance is None:
        return None
    if hasattr(instance, "get_config") and not isinstance(instance, type):
        config = {key: _serialized_item(item) for key, item in instance.get_config().items()}
        return class_and_config(type(instance).__name__, config)
    if hasattr(instance, "__name__"):
        return instance.__name__
    raise ValueError(f"Cannot serialize {instance!r}: expected a function, or an object with `get_config`")


def _serialized_item(item: Any) -> Any:
    if isinstance(item, str):
        return item
    try:
        serialized = serialize_keras_object(item)
    except ValueError:  # a value, which stands for itself
        return item
    return {**serialized, _NESTED: True} if isinstance(serialized, dict) else serialized


@export("keras.utils.deserialize_keras_object")
def deserialize_keras_object(
    identifier: Any,
    module_objects: Mapping[str, Any] | None = None,
    custom_objects: Mapping[str, Any] | None = None,
    printable_module_name: str = "object",
) -> Any:
    """Returns the object that a configuration or a name stands for; a function stands for itself."""
    if identifier is None:
        return None
    if isinstance(identifier, dict):
        with within(identifier):
            cls, config = find_class_and_config(identifier, module_objects, custom_objects, printable_module_name)
            with at("config"):
                return _created(cls, config, custom_objects)
    if isinstance(identifier, str):
        obj = find_object(identifier, module_objects, custom_objects, printable_module_name)
        return obj() if isinstance(obj, type) else obj
    if inspect.isfunction(identifier):
        return identifier
    raise ValueError(f"Could not interpret serialized {printable_module_name}: {short(identifier)}")


def find_object(
    name: str,
    module_objects: Mapping[str, Any] | None = None,
    custom_objects: Mapping[str, Any] | None = None,
    printable_module_name: str = "object",
) -> Any:
    """Returns the object of a name."""
    for argument, objects in (("custom_objects", custom_objects), ("module_objects", module_objects)):
        require_members(argument, objects or {}, "a dict of objects by their names, or None", "get")
    for objects in (custom_objects, _custom_objects, module_objects):
        if objects and objects.get(name) is not None:
            return objects[name]
    raise ValueError(
        f"Unknown {printable_module_name}: {short(name)}; an object of the program's own is found if `custom_objects` "
        "or a `tf.keras.utils.custom_object_scope` has its name"
    )


def find_class_and_config(
    config: Any,
    module_objects: Mapping[str, Any] | None = None,
    custom_objects: Mapping[str, Any] | None = None,
    printable_module_name: str = "object",
) -> tuple[Any, dict[str, Any]]:
    """Returns the class that a configuration names, and what the class is configured with."""
    if not isinstance(config, dict) or "class_name" not in config or "config" not in config:
        raise ValueError(
            f"Improper config format: {short(config)}; expected a dictionary with the keys 'class_name' and 'config'"
        )
    name = entry(config, "class_name", str)
    with at("class_name"):
        cls = find_object(name, module_objects, custom_objects, printable_module_name)
    arguments = config["config"]
    if not isinstance(arguments, dict):  # such as the list of layers of a model
        return cls, arguments
    with at("config"):
        return cls, {
            key: _item(value, module_objects, custom_objects)
            for key, value in arguments.items()
            if key not in _LATER or not _is_later(cls, key, value)
        }


def _is_own(cls: Any) -> bool:
    return getattr(cls, "__module__", "").startswith("thalweg.")


def _is_later(cls: Any, key: str, value: Any) -> bool:
    """Returns whether a class of this package lacks an argument that a later release has, and does not need it."""
    if not isinstance(cls, type) or not _is_own(cls):
        return False
    return key not in inspect.signature(cls).parameters and _LATER[key] in (..., value)


def _item(item: Any, module_objects: Mapping[str, Any] | None, custom_objects: Mapping[str, Any] | None) -> Any:
    if not isinstance(item, dict) or _NESTED not in item:
        return item
    return deserialize_keras_object(item, module_objects, custom_objects, "config_item")


def _created(cls: Any, config: dict[str, Any], custom_objects: Mapping[str, Any] | None) -> Any:
    create: Callable[..., Any] | None = getattr(cls, "from_config", None)
    with contextlib.nullcontext() if _is_own(cls) else in_class_of_user():
        if _is_own(cls):
            require_entries(cls, config)
        if create is not None and "custom_objects" in inspect.signature(create).parameters:
            return create(config, custom_objects={**_custom_objects, **(custom_objects or {})})
        with CustomObjectScope(custom_objects):
            return cls(**config) if create is None else create(config)
