"""Objects by name: configurations, objects of the program's own, scopes, and errors."""

import functools
import json

import numpy as np
import pytest

from thalweg._src.keras.serialization import (
    CustomObjectScope,
    custom_object_scope,
    deserialize_keras_object,
    find_class_and_config,
    get_custom_objects,
    serialize_keras_object,
)


class Leaf:
    def __init__(self, size=1):
        self.size = size

    def get_config(self):
        return {"size": self.size}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


class Branch:
    """An object with objects, functions and plain values in its configuration, which has no `from_config`."""

    def __init__(self, leaf, function, values):
        self.leaf = leaf
        self.function = function
        self.values = values

    def get_config(self):
        return {"leaf": self.leaf, "function": self.function, "values": self.values}


class Root:
    """An object whose `from_config` asks for the objects of the program's own."""

    @classmethod
    def from_config(cls, config, custom_objects=None):
        root = cls()
        root.config, root.custom_objects = config, custom_objects
        return root


def double(x):
    return 2 * x


_OBJECTS = {"Leaf": Leaf, "Branch": Branch, "Root": Root, "double": double}


def test_an_object_becomes_its_class_and_configuration():
    assert serialize_keras_object(Leaf(3)) == {"class_name": "Leaf", "config": {"size": 3}}


def test_functions_and_classes_become_their_names():
    assert serialize_keras_object(double) == "double"
    assert serialize_keras_object(Leaf) == "Leaf"
    assert serialize_keras_object(None) is None


@pytest.mark.parametrize("value", [3, "double", [1], functools.partial(double, 3)])
def test_what_has_neither_configuration_nor_name_cannot_be_written(value):
    with pytest.raises(ValueError, match="Cannot serialize"):
        serialize_keras_object(value)


def test_objects_inside_of_a_configuration_come_back():
    values = {"class_name": "no object", "size": 3}
    config = serialize_keras_object(Branch(Leaf(4), double, values))
    assert config["config"]["function"] == "double"
    assert config["config"]["values"] == values
    branch = deserialize_keras_object(json.loads(json.dumps(config)), _OBJECTS)
    assert type(branch) is Branch
    assert type(branch.leaf) is Leaf
    assert branch.leaf.size == 4
    assert branch.values == values


def test_a_name_stands_for_a_function_or_for_an_object_of_a_class():
    assert deserialize_keras_object("double", _OBJECTS) is double
    assert deserialize_keras_object("Leaf", _OBJECTS).size == 1
    assert deserialize_keras_object(double, _OBJECTS) is double
    assert deserialize_keras_object(None, _OBJECTS) is None


def test_a_class_without_from_config_and_a_function_are_called():
    value = {"class_name": "double", "config": {"x": 4}}
    assert deserialize_keras_object(value, _OBJECTS) == 8
    config = {"class_name": "Branch", "config": {"leaf": 1, "function": 2, "values": 3}}
    assert deserialize_keras_object(config, _OBJECTS).values == 3


def test_objects_of_a_call_come_before_those_of_the_scope_and_of_the_module():
    def third(x):
        return x / 3

    def half(x):
        return x / 2

    assert deserialize_keras_object("double", _OBJECTS, {"double": half}) is half
    with custom_object_scope({"double": third}):
        assert deserialize_keras_object("double", _OBJECTS) is third
        assert deserialize_keras_object("double", _OBJECTS, {"double": half}) is half
    assert deserialize_keras_object("double", _OBJECTS) is double


def test_from_config_gets_the_objects_of_the_program_if_it_asks_for_them():
    config = {"class_name": "Root", "config": {"a": 1}}
    with CustomObjectScope({"outer": 1}):
        root = deserialize_keras_object(config, _OBJECTS, {"inner": 2})
    assert root.config == {"a": 1}
    assert root.custom_objects == {"outer": 1, "inner": 2}


def test_from_config_finds_the_objects_of_the_program_by_name():
    class Finder(Leaf):
        @classmethod
        def from_config(cls, config):
            return deserialize_keras_object("own")

    config = {"class_name": "Finder", "config": {}}
    assert deserialize_keras_object(config, {"Finder": Finder}, {"own": double}) is double
    assert "own" not in get_custom_objects()


def test_a_scope_ends_with_what_was_known_before():
    get_custom_objects()["kept"] = 1
    try:
        with pytest.raises(KeyError), CustomObjectScope({"a": 2}, {"kept": 3}, None) as scope:
            assert scope.custom_objects[0] == {"a": 2}
            assert get_custom_objects() == {"a": 2, "kept": 3}
            raise KeyError
        assert get_custom_objects() == {"kept": 1}
        assert deserialize_keras_object("kept") == 1
    finally:
        get_custom_objects().clear()


def test_an_unknown_name_is_refused_with_the_kind_of_object():
    for value in ("missing", {"class_name": "missing", "config": {}}):
        with pytest.raises(ValueError, match=r"Unknown metric function: missing; .*custom_object_scope"):
            deserialize_keras_object(value, _OBJECTS, printable_module_name="metric function")


@pytest.mark.parametrize("value", [{}, {"class_name": "Leaf"}, {"config": {}}])
def test_a_configuration_without_class_is_refused(value):
    with pytest.raises(ValueError, match="Improper config format"):
        deserialize_keras_object(value, _OBJECTS)


@pytest.mark.parametrize("value", [3, [1], np.float32(2)])
def test_what_stands_for_nothing_is_refused(value):
    with pytest.raises(ValueError, match="Could not interpret serialized thing"):
        deserialize_keras_object(value, _OBJECTS, printable_module_name="thing")


def test_the_configuration_of_a_model_may_be_a_list():
    cls, config = find_class_and_config({"class_name": "Root", "config": [1, 2]}, _OBJECTS)
    assert cls is Root
    assert config == [1, 2]
