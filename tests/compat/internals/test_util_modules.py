"""tensorflow.python.util: decorators, inspection, deprecation, and modules that hide names."""

import functools
import sys
import types

import pytest
from thalweg.python.util import all_util, deprecation, function_utils, tf_decorator, tf_inspect
from thalweg.python.util.tf_export import get_canonical_name_for_symbol, tf_export

import thalweg as tf


def plain(a, b=2, *rest, c=3, **more):
    """Adds."""
    return a + b


def doubled(function):
    return tf_decorator.make_decorator(function, lambda *args, **kwargs: 2 * function(*args, **kwargs), "doubled", "x2")


def test_decorated_functions_are_looked_through():
    decorated = doubled(doubled(plain))
    decorators, target = tf_decorator.unwrap(decorated)
    assert decorated(1) == 12 and target is plain and decorated.__name__ == "plain"
    assert [d.decorator_name for d in decorators] == ["doubled", "doubled"] and "x2" in decorated.__doc__
    assert tf_inspect.getargspec(decorated) == (["a", "b"], "rest", "more", (2,))
    assert tf_inspect.getfullargspec(decorated).kwonlyargs == ["c"]
    assert tf_inspect.getcallargs(decorated, 1)["b"] == 2 and tf_inspect.isfunction(decorated)
    assert "def plain" in tf_inspect.getsource(decorated) and tf_inspect.isclass(int)


def test_a_decorator_takes_its_name_from_the_function_that_makes_it():
    def halved(function):
        return tf_decorator.make_decorator(function, lambda *args: function(*args) / 2)

    (decorator,), _ = tf_decorator.unwrap(halved(plain))
    assert decorator.decorator_name == "halved"


def test_arguments_of_functions():
    class Model:
        def build(self, x, y=1): ...

        def __call__(self, x): ...

    assert function_utils.fn_args(plain) == ("a", "b", "c")
    assert function_utils.fn_args(Model().build) == ("x", "y") and function_utils.fn_args(Model()) == ("x",)
    assert function_utils.fn_args(functools.partial(plain, 1, c=2)) == ("b",)
    assert function_utils.has_kwargs(plain) and not function_utils.has_kwargs(Model().build)
    assert function_utils.get_func_name(functools.partial(plain)) == "plain"
    assert function_utils.get_func_code(Model()) is Model.__call__.__code__
    with pytest.raises(TypeError, match="fn"):
        function_utils.has_kwargs(3)


def test_deprecation_warnings_can_be_silenced(monkeypatch):
    said = []
    monkeypatch.setattr("thalweg._src.base.logging.warning", lambda *args: said.append(args))
    old = deprecation.deprecated(None, "Use another.", warn_once=False)(plain)
    with deprecation.silence():
        old(1)
    monkeypatch.setattr(deprecation, "_PRINT_DEPRECATION_WARNINGS", False)
    old(1)
    assert not said
    monkeypatch.setattr(deprecation, "_PRINT_DEPRECATION_WARNINGS", True)
    old(1)
    assert len(said) == 1


def test_renamed_arguments():
    assert deprecation.deprecated_argument_lookup("axis", None, "dim", 2) == 2
    assert deprecation.deprecated_argument_lookup("axis", 1, "dim", None) == 1
    with pytest.raises(ValueError, match="both"):
        deprecation.deprecated_argument_lookup("axis", 1, "dim", 2)
    assert deprecation.rewrite_argument_docstring("dim: as `dim`", "dim", "axis") == "axis: as `axis`"
    assert deprecation.deprecated_endpoints("old.name")(plain) is plain


def test_exported_names_are_noted():
    assert tf_export("a.b", v1=["a.c"])(lambda: 0)() == 0
    assert get_canonical_name_for_symbol(tf_export("a.b")(type("T", (), {}))) == "a.b"
    assert get_canonical_name_for_symbol(type("T", (), {})) is None


def test_names_that_are_not_listed_are_removed(monkeypatch):
    module = types.ModuleType("listed", "@@kept\n")
    module.kept, module.also, module.hidden, module._private = 1, 2, 3, 4
    monkeypatch.setitem(sys.modules, "listed", module)
    assert all_util.make_all("listed") == ["kept"]
    all_util.remove_undocumented("listed", ["also"])
    assert not hasattr(module, "hidden") and (module.kept, module.also, module._private) == (1, 2, 4)


def test_behaviour_is_that_of_tensorflow_1():
    assert tf.python.tf2.enabled() is False
