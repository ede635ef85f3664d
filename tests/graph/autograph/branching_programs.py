"""Programs with conditions: if statements, boolean operators, comparisons and returns."""

from tests.graph.autograph.collected import ONE, TWO, program


@program(ONE)
def if_alone(x):
    if x > 2:
        x = x * 10
    return x


@program(ONE)
def if_else(x):
    if x > 2:
        y = x * 10
    else:
        y = x - 1
    return y


@program(ONE)
def elif_chain(x):
    if x < 0:
        y = 1
    elif x == 0:
        y = 2
    elif x < 5:
        y = 3
    else:
        y = 4
    return y


@program(TWO)
def nested_ifs(a, b):
    c = 0
    if a > 0:
        if b > 0:
            c = a + b
        else:
            c = a - b
        c = c * 2
    elif b > 2:
        c = -7
    return c


@program(TWO)
def several_variables(a, b):
    if a > b:
        a, b = b, a
    return a * 100 + b


@program(ONE)
def number_in_one_branch(x):
    y = 5
    if x > 1:
        y = x
    return y


@program(ONE)
def float_and_integer(x):
    y = 1
    if x > 1:
        y = 2.5
    return y * 2


@program(ONE)
def constants_that_agree(x):
    if x > 1:
        y, z = 3, x
    else:
        y, z = 3, -x
    return y + z


@program(ONE)
def augmented(x):
    y = 1
    if x > 0:
        y += x
        y *= 3
        y -= 1
    return y


@program(ONE)
def dead_variable_of_one_branch(x):
    y = 0
    if x > 0:
        temporary = x * 2
        y = temporary + 1
    return y


@program(ONE)
def dead_variables_of_different_types(x):
    if x > 0:
        t = "text"
        y = len(t)
    else:
        t = None
        y = 0 if t is None else 1
    return y


@program(ONE)
def redefined_later(x):
    if x > 0:
        y = 1
    y = 2
    return x + y


@program(TWO)
def both_and(a, b):
    return 1 if a > 0 and b > 0 else 0


@program(TWO)
def either_or(a, b):
    return 1 if a > 0 or b > 0 else 0


@program(TWO)
def negation(a, b):
    if not a > b:
        return a
    return b


@program(TWO)
def many_operands(a, b):
    if a > -5 and b > 0 and a < 6 and (b == 4 or b == 1 or a == 0):
        return 1
    return 0


@program(TWO)
def mixed_with_python_values(a, b):
    flag = True
    if flag and a > b:
        return 1
    if not flag or a == b:
        return 2
    return 3


@program([(8, 0), (8, 2), (8, 4), (-1, 0)])
def short_circuit(a, b):
    if b != 0 and a // b > 3:
        return 1
    return 0


@program([(0, 0), (6, 0), (6, 2), (6, 3)])
def short_circuit_or(a, b):
    if b == 0 or a // b == 3:
        return 1
    return 0


@program(ONE)
def chained_comparison(x):
    return 1 if 0 < x <= 5 else 0


@program(TWO)
def long_chain(a, b):
    return 1 if -1 < a <= 7 != b >= 0 else 0


@program(TWO)
def equality(a, b):
    if a == b:
        return 1
    if a != b + 3:
        return 2
    return 3


@program(ONE)
def compared_with_none(x):
    y = None
    if y == None:
        y = x
    if x != None:
        y = y + 1
    return y


@program(ONE)
def conditional_expression(x):
    return x if x > 0 else -x


@program(TWO)
def nested_conditional_expressions(a, b):
    return (1 if a > b else 2) if a > 0 else (3 if b > 1 else 4)


@program(TWO)
def conditional_arguments(a, b):
    return max_of(a if a > 0 else 0, b)


def max_of(a, b):
    return a if a > b else b


@program(ONE)
def return_in_both(x):
    if x > 0:
        return x
    else:
        return -x


@program(ONE)
def early_return(x):
    if x > 4:
        return x
    x = x * 2
    return x + 1


@program(ONE)
def several_early_returns(x):
    if x < 0:
        return 1
    if x == 0:
        return 2
    y = x * x
    if y > 20:
        return y
    return y + 100


@program(TWO)
def return_in_nested_if(a, b):
    if a > 0:
        if b > 0:
            return a * b
        a = a + 1
    return a - b


@program(TWO)
def return_deep_inside(a, b):
    if a >= 0:
        if b > 0:
            if a > b:
                return 1
            b = b + 10
        a = a + b
    else:
        a = -a
    return a * 2


@program(TWO)
def return_in_else(a, b):
    if a > b:
        c = a
    else:
        return b
    return c * 3


@program(TWO)
def returned_tuple(a, b):
    if a > b:
        return a, b, 1
    return b, a, 0


@program(TWO)
def returned_dictionary(a, b):
    if a > b:
        return {"x": a, "y": [b, 2]}
    return {"x": b, "y": [a, 3]}


@program(ONE)
def nothing_after_return(x):
    if x > 0:
        return 1
        x = 5
    return 2
    return 3


@program(ONE)
def raises_for_python_values(x):
    limit = 3
    if limit < 0:
        raise ValueError("negative")
    if x > limit:
        return limit
    return x


@program(ONE)
def with_statement(x):
    with Context() as value:
        if x > value:
            return x
        x = x + value
    return x * 2


class Context:
    def __enter__(self):
        return 3

    def __exit__(self, *error):
        return False


@program(ONE)
def return_in_try(x):
    try:
        if x > 2:
            return x * 2
        x = x + 1
    finally:
        done = 1
    return x + done


@program(ONE)
def else_of_try(x):
    y = 0
    try:
        if x > 2:
            return -1
    except ValueError:
        y = 5
    else:
        y = 7
    return x + y


@program(ONE)
def exception_of_python(x):
    try:
        y = int("no number")
    except ValueError:
        y = 4
    if x > y:
        y = x
    return y


@program(ONE)
def matched(x):
    match [1, 2]:
        case [1, second]:
            if x > second:
                return second
        case _:
            return -1
    return x


@program(ONE)
def list_of_values(x):
    values = [x, 2, 3]
    if x > 1:
        values[0] = 7
        values[2] = x
    return values[0] + 10 * values[1] + 100 * values[2]


@program(ONE)
def dictionary_of_values(x):
    values = {"a": x, "b": {"c": 1}}
    if x > 1:
        values["a"] = -x
        values["b"]["c"] = x + 1
    return values["a"] + values["b"]["c"]


@program(ONE)
def same_list_under_two_names(x):
    values = [x, 1]
    other = values
    if x > 1:
        values[1] = 5
    return other[1] + values[0]


@program(ONE)
def tuple_replaced(x):
    pair = (x, 1)
    if x > 1:
        pair = (1, x)
    a, b = pair
    return a * 10 + b


@program(ONE)
def walrus(x):
    if (y := x + 1) > 3:
        return y
    return y * 10


@program(ONE)
def walrus_in_operators(x):
    n = 4
    if n > 3 and (m := n + 1) > 4:
        n = m
    return n + x


@program(ONE)
def annotated(x: int) -> int:
    y: int = 3
    if x > 2:
        y: int = x
        z: int
        z = y
        y = z + 1
    return y


@program(ONE)
def deleted(x):
    y = 1
    if x > 2:
        z = x
        y = z
        del z
    return y


@program(ONE)
def imported_inside(x):
    if x > 2:
        import math

        y = math.floor(2.5)
    else:
        y = 1
    return x + y


@program(TWO)
def python_conditions(a, b):
    mode = "fast"
    if mode == "fast":
        c = a
    elif mode == "slow":
        c = undefined_name
    if len(mode) == 4 and mode in ("fast", "slow") and mode is not None:
        c += b
    return c


@program(ONE)
def undefined_in_python_branch(x):
    if x is None:
        y = 1
    try:
        return y
    except NameError:
        return x


@program(ONE)
def membership(x):
    if 3 in [1, 2, 3] and 4 not in (1, 2):
        return x
    return 0


@program(ONE)
def docstring_and_pass(x):
    """Does little."""
    if x > 3:
        pass
    else:
        x = 3
    return x


@program([(1.5,), (-2.0,), (0.0,)])
def floats(x):
    if x > 1.0:
        return x * 2
    if x < 0:
        return x / 4
    return 0.25


@program([(True, False), (True, True), (False, True), (False, False)])
def booleans(p, q):
    if p and not q:
        return 1
    if q or p:
        return 2
    return 3


@program([(True, 3), (False, 4)])
def boolean_variable(p, x):
    found = False
    if p:
        found = x > 2
    if found:
        return x
    return 0
