"""Random programs of Python's statements over integers: converted on tensors, they compute what Python computes."""

import linecache
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import thalweg as tf

NAMES = st.sampled_from(["a", "b", "c"])
NUMBERS = st.integers(-3, 9).map(str)
numbers = count()


@st.composite
def expressions(draw, depth=2):
    if depth == 0:
        return draw(st.one_of(NAMES, NAMES, NUMBERS))
    left, right = draw(expressions(depth - 1)), draw(expressions(depth - 1))
    return draw(
        st.sampled_from(
            [
                left,
                f"({left} + {right})",
                f"({left} - {right})",
                f"({left} * {right} % 89)",
                f"({left} // 3)",
                f"({left} if {draw(conditions(0))} else {right})",
                f"values[{draw(st.integers(0, 1))}]",
                f"absolute({left})",
            ]
        )
    )


@st.composite
def conditions(draw, depth=1):
    left, right = draw(expressions(depth)), draw(expressions(0))
    operator = draw(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]))
    simple = f"{left} {operator} {right}"
    if depth == 0:
        return simple
    other = draw(conditions(depth - 1))
    return draw(
        st.sampled_from(
            [
                simple,
                f"({simple} and {other})",
                f"({simple} or {other})",
                f"not ({simple})",
                f"{left} < {right} <= {draw(expressions(0))}",
                f"(fuel > 2 and {simple})",
            ]
        )
    )


@st.composite
def blocks(draw, depth, in_loop):
    """Returns the lines of a block."""
    return [line for _ in range(draw(st.integers(1, 3))) for line in draw(statements(depth, in_loop))]


@st.composite
def statements(draw, depth, in_loop):
    name = draw(NAMES)
    kinds = ["assign", "augment", "element"]
    if depth:
        kinds += ["if", "if", "else", "while", "for", "python_for", "try"]
    if depth and in_loop:
        kinds += ["jump", "jump"]
    if depth < 3:
        kinds += ["return"]
    kind = draw(st.sampled_from(kinds))
    if kind == "assign":
        return [f"{name} = {draw(expressions())} % 97"]
    if kind == "augment":
        return [f"{name} {draw(st.sampled_from(['+=', '-=']))} {draw(expressions(1))}"]
    if kind == "element":
        return [f"values[{draw(st.integers(0, 1))}] = {draw(expressions(1))} % 31"]
    if kind == "return":
        return [f"if {draw(conditions())}:", f"    return {name}, b, values[1]"]
    if kind == "jump":
        return [f"if {draw(conditions())}:", f"    {draw(st.sampled_from(['break', 'continue']))}"]
    if kind == "if":
        return [f"if {draw(conditions())}:", *_indented(draw(blocks(depth - 1, in_loop)))]
    if kind == "else":
        then, otherwise = draw(blocks(depth - 1, in_loop)), draw(blocks(depth - 1, in_loop))
        return [f"if {draw(conditions())}:", *_indented(then), "else:", *_indented(otherwise)]
    if kind == "try":
        return ["try:", *_indented(draw(blocks(depth - 1, in_loop))), "finally:", f"    {name} = {name} + 1"]
    body = _indented(draw(blocks(depth - 1, True)))
    otherwise = ["else:", *_indented(draw(blocks(0, in_loop)))] if draw(st.booleans()) else []
    if kind == "while":
        return [f"while fuel > 0 and {draw(conditions())}:", "    fuel -= 1", *body, *otherwise]
    if kind == "python_for":
        return [f"for {name} in (1, 4):", *body, *otherwise]
    return [f"for {name} in range({draw(expressions(0))} % 4):", *body, *otherwise]


def _indented(lines):
    return [f"    {line}" for line in lines]


HEAD = """def absolute(x):
    if x < 0:
        return -x
    return x

def program(a, b):
    c, fuel, values = 2, 9, [a, 3]
"""


@st.composite
def programs(draw):
    body = draw(blocks(draw(st.integers(1, 3)), False))
    return HEAD + "\n".join(_indented([*body, "return a, c, values[0]"])) + "\n"


def compiled(text):
    """Returns the function of a program, whose source can be found."""
    filename = f"<program {next(numbers)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    names = {"__name__": "random_program"}
    exec(compile(text, filename, "exec"), names)
    return names["program"]


def check(text):
    function = compiled(text)
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = (tf.placeholder(tf.int32, []) for _ in range(2))
        result = [tf.convert_to_tensor(value) for value in tf.autograph.to_graph(function)(a, b)]
        for x, y in ((0, 0), (3, -2), (-5, 7), (8, 8)):
            expected = function(x, y)
            assert tuple(session.run(result, {a: x, b: y})) == expected, text
            assert tf.autograph.to_graph(function)(x, y) == expected, text


quick = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@quick
@given(programs())
def test_random_programs_compute_the_same(text):
    check(text)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@settings(quick, max_examples=3000)
@given(programs())
def test_many_random_programs_compute_the_same(text):
    check(text)
