"""Errors of conversion and of converted functions: they name the variable, the types and the user's line."""

import inspect
import traceback

import pytest

import thalweg as tf
from thalweg._src.graph.autograph.failures import ConversionError


def x_tensor():
    return tf.placeholder(tf.int32, [])


def line_of(function, text):
    """Returns the line of a function's file that contains a text."""
    lines, first = inspect.getsourcelines(function)
    return first + next(number for number, line in enumerate(lines) if text in line)


def call(function, *arguments):
    return tf.autograph.to_graph(function)(*(arguments or (x_tensor(),)))


def check_raises(function, error_class, words, at, *arguments):
    """Calls a converted function; the error has the words and the line of the statement."""
    with pytest.raises(error_class) as caught:
        call(function, *arguments)
    for word in words:
        assert word in str(caught.value)
    assert f"test_errors.py:{line_of(function, at)} in {function.__name__}" in str(caught.value)


def undefined_in_else(x):
    if x > 1:
        y = 1
    return y


def undefined_in_body(x):
    if x > 1:
        pass
    else:
        y = 1
    return y


def none_in_one_branch(x):
    y = None
    if x > 1:
        y = x
    return y


def object_in_one_branch(x):
    y = object
    if x > 1:
        y = x
    return y


def different_types(x):
    y = x
    if x > 1:
        y = tf.constant(1.5)
    return y


def different_structures(x):
    y = (x, x)
    if x > 1:
        y = (x, x, x)
    return y


def list_of_other_length(x):
    values = []
    if x > 1:
        values.append(x)
    return values


def returns_in_one_branch(x):
    if x > 1:
        return x


def returns_none_in_one_branch(x):
    if x > 1:
        return x
    return None


def integer_condition(x):
    if x:
        x = 1
    return x


def vector_condition(x):
    if tf.stack([x, x]) > 1:
        x = 1
    return x


@pytest.mark.parametrize(
    ("function", "error_class", "words"),
    [
        (undefined_in_else, ValueError, ["'y' must also be initialized in the else branch", "before the `if`"]),
        (undefined_in_body, ValueError, ["'y' must also be initialized in the main branch"]),
        (none_in_one_branch, TypeError, ["'y'", "a tensor of int32 in the main branch", "None in the other"]),
        (object_in_one_branch, TypeError, ["'y'", "of type type in the other"]),
        (different_types, TypeError, ["'y'", "float32 in the main branch", "int32 in the other", "tf.cast"]),
        (different_structures, ValueError, ["'y'", "same nested structure"]),
        (list_of_other_length, ValueError, ["'values'", "same nested structure"]),
        (returns_in_one_branch, TypeError, ["the return value", "must return one in the other too"]),
        (returns_none_in_one_branch, TypeError, ["the return value", "None in the other"]),
        (integer_condition, TypeError, ["`if`", "int32", "compare it"]),
        (vector_condition, ValueError, ["`if`", "scalar", "tf.reduce_all"]),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_branches_that_do_not_agree(function, error_class, words):
    check_raises(function, error_class, words, "if ")


def undefined_before(x):
    for i in range(x):
        y = i
    return y


def target_after_loop(x):
    for i in range(x):
        pass
    return i


def type_changes(x):
    y = 0
    while x > 1:
        y = y + tf.constant(0.5)
        x -= 1
    return y


def number_becomes_float(x):
    y = 0
    while x > 1:
        y = 2.5
        x -= 1
    return y


def shape_changes(x):
    y = tf.zeros([1])
    while x > 1:
        y = tf.concat([y, y], 0)
        x -= 1
    return y


def structure_changes(x):
    y = (x,)
    while x > 1:
        y = (x, x)
        x -= 1
    return y


def none_before(x):
    y = None
    while x > 1:
        y = x
        x -= 1
    return y


def object_changes(x):
    y = object()
    while x > 1:
        y = object()
        x -= 1
    return y


def deleted_in_loop(x):
    y = x
    while x > 1:
        y = x
        del y
        x -= 1
    return y


def array_becomes_tensor(x):
    y = tf.TensorArray(tf.int32, 3)
    while x > 1:
        y = x
        x -= 1
    return y


@pytest.mark.parametrize(
    ("function", "error_class", "words"),
    [
        (undefined_before, ValueError, ["'y' must be defined before the loop"]),
        (target_after_loop, ValueError, ["'i' must be defined before the loop"]),
        (number_becomes_float, TypeError, ["'y'", "int32 before the loop", "float32 after one iteration"]),
        (shape_changes, ValueError, ["'y'", "[1] before the loop", "[2] after one iteration", "shape_invariants"]),
        (structure_changes, ValueError, ["'y'", "same nested structure before and after one iteration"]),
        (none_before, TypeError, ["'y'", "None before the loop", "a tensor of int32 after one iteration"]),
        (object_changes, TypeError, ["'y'", "of type object before the loop"]),
        (deleted_in_loop, ValueError, ["'y' is deleted"]),
        (array_becomes_tensor, TypeError, ["'y'", "of type TensorArray before the loop"]),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_loops_that_change_their_variables(function, error_class, words):
    check_raises(function, error_class, words, "for " if "for " in inspect.getsource(function) else "while ")


def test_an_error_in_a_loop_has_the_line_of_the_expression():
    with pytest.raises((TypeError, ValueError)) as caught:
        call(type_changes)
    assert line_of(type_changes, "0.5") in [frame.lineno for frame in traceback.extract_tb(caught.value.__traceback__)]


def iterates_over_a_scalar(x):
    for i in x:
        x = i
    return x


def test_iterating_over_a_scalar():
    check_raises(iterates_over_a_scalar, TypeError, ["is a scalar"], "for ")


def test_the_length_of_a_scalar():
    check_raises(length_of_a_scalar, ValueError, ["len requires a non-scalar tensor"], "len(")


def length_of_a_scalar(x):
    return len(x)


# -- tracebacks -------------------------------------------------------------------------------------------------------


def fails_inside(x):
    while x < 5:
        if x > 2:
            raise KeyError("the user's error")
        x += 1
    return x


def test_an_exception_points_to_the_users_line():
    with pytest.raises(KeyError) as caught:
        call(fails_inside, 0)
    frames = [frame for frame in traceback.extract_tb(caught.value.__traceback__) if frame.filename == __file__]
    assert frames[-1].lineno == line_of(fails_inside, "raise")
    assert frames[-1].name == "fails_inside"
    assert frames[-1].line.startswith("raise KeyError")
    assert {frame.lineno for frame in frames} >= {line_of(fails_inside, "while "), line_of(fails_inside, "if x")}


def test_an_operation_has_the_users_line():
    def doubled(x):
        if x > 2:
            x = tf.multiply(x, 2, name="doubled")
        return x

    call(doubled)
    operation = next(op for op in tf.get_default_graph().get_operations() if op.type == "Mul")
    last = operation.traceback[-1]
    assert (last[0], last[1]) == (__file__, line_of(doubled, "tf.multiply"))


def test_an_error_of_a_step_names_the_users_line():
    def divided(x):
        if x > -100:
            x = 8 // x
        return x

    x = x_tensor()
    y = call(divided, x)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(y, {x: 0})
    assert f"test_errors.py:{line_of(divided, '8 //')} in divided" in str(caught.value)


def test_an_unbound_variable_is_pythons_error():
    def unbound(x):
        if x is None:
            y = 1
        return y

    with pytest.raises(UnboundLocalError, match="y"):
        call(unbound)


# -- what cannot be converted -----------------------------------------------------------------------------------------


def generator(x):
    while x > 0:
        yield x
        x -= 1


def returns_in_finally(x):
    try:
        x += 1
    finally:
        return x


async def coroutine(x):
    return x


@pytest.mark.parametrize(
    ("function", "line", "hint"),
    [
        (generator, "yield x", "collect the values in a list"),
        (returns_in_finally, "return x", "leave the `finally` clause first"),
        (coroutine, "async def", "collect the values in a list"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_statement_that_cannot_be_converted(function, line, hint):
    with pytest.raises(ConversionError) as caught:
        tf.autograph.to_graph(function)
    assert isinstance(caught.value, NotImplementedError)
    assert f"{__file__}:{line_of(function, line)}: {line}" in str(caught.value)
    assert hint in str(caught.value)


def made_by_exec():
    names = {}
    exec("def made(x):\n    if x > 1:\n        x = 2\n    return x", names)
    return names["made"]


def test_source_that_is_not_available():
    with pytest.raises(ValueError, match="source of 'made' is not available: it was defined in '<string>', by exec"):
        tf.autograph.to_graph(made_by_exec())


def test_a_called_function_without_source_runs_as_it_is():
    made = made_by_exec()

    def caller(x):
        return made(x) + 1

    with pytest.warns(UserWarning, match="could not transform 'made' and will run it as-is"):
        assert call(caller, 5) == 3
    with pytest.raises(TypeError, match="not allowed"):
        call(caller)


@pytest.mark.parametrize(("entity", "words"), [(int, "pass a function"), (3, "pass a function"), (len, "no source")])
def test_what_is_no_function(entity, words):
    with pytest.raises(ConversionError, match=words):
        tf.autograph.to_graph(entity)


def test_an_invariant_of_no_variable():
    def loop(x):
        y = tf.zeros([1])
        while x > 0:
            tf.autograph.experimental.set_loop_options(shape_invariants=[(tf.zeros([2]), [None])])
            y = y + 1
            x -= 1
        return y

    with pytest.raises(ValueError, match="shape_invariants: no variable of the loop has the value"):
        call(loop)


def test_an_assertion_of_python_values_fails_at_once():
    def checked(x):
        assert x > 3, f"{x} is too small"
        return x

    with pytest.raises(AssertionError, match="2 is too small"):
        call(checked, 2)


def test_a_list_of_tensors_of_different_types():
    def appended(x):
        values = [1]
        for _ in range(x):
            values.append(0.5)
        return values[0]

    with pytest.raises(TypeError, match="A list of int32 tensors cannot contain one of float32"):
        call(appended)


def test_a_list_of_a_loop_is_no_list_of_python():
    def appended(x):
        values = []
        for i in range(x):
            values.append(i)
        return values

    values = call(appended)
    with pytest.raises(TypeError, match="length of this list is a tensor"):
        len(values)
    with pytest.raises(TypeError, match="iterate over it in a converted function"):
        list(values)
    with pytest.raises(AttributeError, match=r"'pop'.*Use a tf.TensorArray"):
        values.pop()
