"""What conversion keeps of a function, which functions it converts, and the functions of tf.autograph."""

import functools
import inspect
import io
import pdb
import sys

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.graph.autograph.convert import convert
from thalweg._src.graph.autograph.failures import ConversionError


def converted_value(function, *values):
    """Returns the result of a converted function of scalar placeholders, for values."""
    placeholders = [tf.placeholder(tf.int32, []) for _ in values]
    with tf.Session() as session:
        return session.run(tf.autograph.to_graph(function)(*placeholders), dict(zip(placeholders, values)))


def documented(a, b=2, *args, c: int = 3, **kwargs) -> int:
    """Adds."""
    if a > b:
        return a
    return b + c


def test_a_converted_function_keeps_its_signature():
    result = tf.autograph.to_graph(documented)
    assert inspect.signature(result) == inspect.signature(documented)
    assert (result.__name__, result.__doc__, result.__module__) == ("documented", "Adds.", __name__)
    assert result.__qualname__ == documented.__qualname__ and result.__annotations__ == documented.__annotations__
    assert result(1) == 5 and result(1, 0) == 1 and result(1, c=7) == 9


def test_defaults_are_the_same_objects():
    def collects(x, seen=[]):
        seen.append(x)
        return seen

    assert tf.autograph.to_graph(collects)(3) is collects.__defaults__[0]


def test_closures_are_shared():
    limit = 3

    def limited(x):
        if x > limit:
            return limit
        return x

    result = tf.autograph.to_graph(limited)
    assert result(10) == 3
    limit = 5
    assert result(10) == 5


def test_globals_are_read_live(monkeypatch):
    def reads(x):
        return x + OFFSET

    result = tf.autograph.to_graph(reads)
    monkeypatch.setattr(sys.modules[__name__], "OFFSET", 20)
    assert result(1) == 21


OFFSET = 10


def test_code_is_converted_once():
    def factory(n):
        def function(x):
            if x > n:
                return n
            return x

        return function

    first, second = tf.autograph.to_graph(factory(1)), tf.autograph.to_graph(factory(2))
    assert first.__code__ is second.__code__
    assert (first(5), second(5)) == (1, 2)


def test_a_converted_function_is_not_converted_again():
    result = tf.autograph.to_graph(documented)
    assert convert(result) is result


def test_attributes_of_a_function_are_kept():
    def marked(x):
        return x

    marked.number = 7
    assert tf.autograph.to_graph(marked).number == 7


def test_two_lambdas_on_a_line():
    functions = [lambda x: x + 1 if x > 2 else x, lambda x: x - 1 if x > 2 else x * 5]
    assert [converted_value(function, 4) for function in functions] == [5, 3]
    assert [converted_value(function, 1) for function in functions] == [1, 5]


def test_a_lambda_over_several_lines():
    function = lambda x: (  # noqa: E731
        x + 1 if x > 2 else x * 2
    )
    assert converted_value(function, 4) == 5


def test_library_functions_are_called_as_they_are():
    calls = []

    def caller(x):
        calls.append(functools.reduce(lambda a, b: a + b, [1, 2]))
        return tf.add(x, np.int32(1))

    assert converted_value(caller, 3) == 4
    assert calls == [3]
    assert convert(tf.add) is tf.add and convert(np.sum) is np.sum and convert(print) is print
    assert convert(inspect.getsource) is inspect.getsource


def test_functions_of_libraries_that_wrap_others_are_called_as_they_are():
    @tf.contrib.framework.add_arg_scope
    def scaled(x, by=2):
        return x * by

    def caller(x):
        with tf.contrib.framework.arg_scope([scaled], by=5):
            return scaled(x) if x > 2 else x

    assert convert(scaled) is scaled
    assert converted_value(caller, 3) == 15


def test_without_gast_functions_run_as_they_are(monkeypatch):
    monkeypatch.setitem(sys.modules, "gast", None)

    def chosen(x):
        return 1 if x > 2 else 0

    with pytest.raises(ConversionError, match="pip install gast"):
        tf.autograph.to_graph(chosen)
    with pytest.warns(UserWarning, match="pip install gast"):
        assert convert(chosen) is chosen


def test_do_not_convert():
    @tf.autograph.experimental.do_not_convert
    def plain(x):
        return 1 if x > 2 else 0

    def caller(x):
        return plain(x)

    assert tf.autograph.to_graph(caller)(3) == 1
    with pytest.raises(TypeError, match="not allowed"):
        converted_value(caller, 3)


def test_do_not_convert_with_parentheses_and_of_an_object():
    class Adder:
        def __call__(self, x):
            return x + 1 if x is not None and type(x) is int else bool(x)

    assert tf.autograph.experimental.do_not_convert()(documented.__call__)(1) == 5
    unconverted = tf.autograph.experimental.do_not_convert(Adder())
    with pytest.raises(TypeError, match="not allowed"):
        converted_value(lambda x: unconverted(x), 3)


def test_without_recursion_called_functions_are_not_converted():
    def inner(x):
        return 1 if x > 2 else 0

    def outer(x):
        if x > 5:
            return 7
        return inner(x)

    assert converted_value(outer, 4) == 1
    placeholder = tf.placeholder(tf.int32, [])
    with pytest.raises(TypeError, match="not allowed"):
        tf.autograph.to_graph(outer, recursive=False)(placeholder)


def test_methods_and_objects():
    class Counter:
        def __init__(self):
            self.count = 0

        def __call__(self, x):
            if x > 0:
                self.count = self.count + x
            return self.count

        def method(self, x):
            return self(x) + 1

    assert converted_value(Counter(), 3) == 3
    assert converted_value(Counter().method, 3) == 4
    assert converted_value(functools.partial(Counter.method, Counter()), -1) == 1


def test_the_decorator_of_contrib():
    @tf.contrib.autograph.convert()
    def chosen(x):
        if x > 1:
            return x
        return 0

    x = tf.placeholder(tf.int32, [])
    with tf.Session() as session:
        assert session.run(chosen(x), {x: 5}) == 5


def test_to_code():
    text = tf.autograph.to_code(documented, indentation="   ")
    assert text.startswith("def documented(a, b=2, *args, c: int=3, **kwargs) -> int:")
    assert "ag__.if_stmt(a > b, ag__body, ag__orelse, ag__get, ag__set, " in text
    assert "\n   def ag__body():\n      nonlocal" in text


def test_verbosity(capsys):
    def logged(x):
        return x

    tf.autograph.set_verbosity(10, True)
    try:
        tf.autograph.to_graph(logged)
    finally:
        tf.autograph.set_verbosity(0)
    text = capsys.readouterr().out
    assert "Converted test_verbosity.<locals>.logged" in text and "def logged(x):" in text


def test_trace(capsys):
    def traced(x):
        tf.autograph.trace(x, "seen")
        return x

    converted_value(traced, 1)
    assert "Placeholder" in capsys.readouterr().out


def test_features():
    feature = tf.autograph.experimental.Feature
    assert feature.LISTS in feature.all() and feature.LISTS not in feature.all_but(feature.LISTS)


def test_a_debugger_stops_in_the_users_source():
    written = io.StringIO()
    debugger = pdb.Pdb(stdin=io.StringIO("p 'x is ' + str(x)\nnext\nwhere\ncontinue\n"), stdout=written, readrc=False)
    debugger.use_rawinput = False

    def stops(x):
        while x < 2:
            debugger.set_trace()
            x += 1
        return x

    assert tf.autograph.to_graph(stops)(1) == 2
    assert "x is 1" in written.getvalue() and "-> x += 1" in written.getvalue()
