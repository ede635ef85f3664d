"""Programs with functions: calls, closures, methods, defaults and decorators."""

import functools

from tests.graph.autograph.collected import ONE, TWO, program

LIMIT = 4
counter = 0


def absolute(x):
    if x < 0:
        return -x
    return x


@program(ONE)
def calls_a_function(x):
    return absolute(x) + 1


@program(ONE)
def calls_in_a_loop(x):
    total = 0
    while total < 20:
        total += absolute(x) + 1
    return total


@program(ONE)
def nested_function(x):
    def inner(a):
        if a > 3:
            return a * 2
        return a

    return inner(x) + inner(x - 1)


@program(ONE)
def nested_function_with_defaults(x):
    def inner(a, b=3, *, c=absolute(-4)):
        if a > b:
            return c
        return b

    return inner(x) + inner(x, 1) * 10 + inner(x, c=2) * 100


@program(ONE)
def closure_of_a_variable(x):
    factor = 1

    def scaled(a):
        return a * factor

    if x > 2:
        factor = 5
    return scaled(x)


@program(ONE)
def nonlocal_variable(x):
    total = 0

    def add(a):
        nonlocal total
        if a > 2:
            total = total + a
        else:
            total = total - 1

    add(x)
    add(x + 2)
    return total


@program(ONE)
def nonlocal_variable_assigned_in_blocks(x):
    total = 0

    def add(a):
        nonlocal total
        total = total + a

    if x > 2:
        add(x)
    while total < 5:
        add(2)
    return total


@program(ONE)
def global_variable(x):
    global counter
    counter = 0
    if x > 2:
        counter = counter + x
    return counter


@program(ONE)
def reads_a_global(x):
    if x > LIMIT:
        return LIMIT
    return x


@program(ONE)
def lambdas(x):
    absolute_of = lambda a: a if a > 0 else -a
    both = lambda a, b=2: absolute_of(a) + b if a != b else 0
    return both(x) + both(x, 1)


@program(ONE)
def function_as_a_value(x):
    def twice(function, a):
        return function(function(a))

    return twice(lambda a: a + 1 if a > 1 else a * 3, x)


@program(ONE)
def functions_in_a_list(x):
    for function in [absolute, lambda a: a - 1 if a > 0 else a]:
        x = function(x)
    return x


@program(ONE)
def comprehension(x):
    values = [absolute(x - i) for i in range(3)]
    return sum(values) + sum(value if value > 1 else 0 for value in values)


@program(ONE)
def comprehensions_with_conditions(x):
    values = {name: x + i for i, name in enumerate("abc") if name != "b"}
    return values["a"] * values["c"] + len([v for v in values.values()])


def variable_arguments(*args, **kwargs):
    total = 0
    for value in args:
        if value > 1:
            total += value
    return total + kwargs.get("more", 0)


@program(TWO)
def starred_arguments(a, b):
    return variable_arguments(a, *[b, 3], **{"more": a}) + variable_arguments(*(a, b), more=b)


def logged(function):
    @functools.wraps(function)
    def wrapper(*args):
        result = function(*args)
        if result > 100:
            result = 100
        return result

    return wrapper


@logged
def cubed(x):
    if x < 0:
        return -(x * x * x)
    return x * x * x


@program(ONE)
def decorated(x):
    return cubed(x)


@program(ONE)
def decorated_inside(x):
    @logged
    def squared(a):
        return a * a if a > 2 else a

    return squared(x)


@program(ONE)
def partial_function(x):
    def larger(a, b):
        if a > b:
            return a
        return b

    return functools.partial(larger, 3)(x) + functools.partial(larger, b=1)(x)


class Base:
    offset = 2

    def __init__(self, start):
        self.value = start
        self.__hidden = start + 1

    def __call__(self, x):
        if x > self.value:
            return x
        return self.value

    def step(self, x):
        if x > 3:
            self.value = self.value + x
        return self.value

    def hidden(self, x):
        if x > 2:
            self.__hidden = x
        return self.__hidden

    @property
    def double(self):
        return self.value * 2

    @staticmethod
    def static(x):
        return x if x > 1 else 1

    @classmethod
    def of_class(cls, x):
        if x > 1:
            return x + cls.offset
        return cls.offset


class Derived(Base):
    def step(self, x):
        if x > 100:
            return 0
        return super().step(x) + 1

    def sign(self, x):
        if x < 0:
            result = super().static(-x)
        else:
            result = super().static(x)
        return result

    def named(self, x):
        if x < 0:
            return super(Derived, self).static(-x) + Derived.offset
        return super(Derived, self).static(x)


@program(ONE)
def method(x):
    return Base(3).step(x)


@program(ONE)
def method_of_a_base_class(x):
    return Derived(3).step(x)


@program(ONE)
def super_in_branches(x):
    return Derived(1).sign(x)


@program(ONE)
def class_by_its_name(x):
    return Derived(1).named(x)


@program(ONE)
def private_attribute(x):
    return Base(4).hidden(x)


@program(ONE)
def callable_object(x):
    return Base(3)(x)


@program(ONE)
def inherited_call(x):
    return Derived(3)(x)


@program(ONE)
def property_of_an_object(x):
    base = Base(3)
    base.step(x)
    return base.double


@program(ONE)
def static_and_class_methods(x):
    return Base.static(x) * 10 + Base.of_class(x)


@program(ONE)
def attribute_in_a_loop(x):
    base = Base(0)
    while base.value < 10:
        base.value = base.value + absolute(x) + 1
    return base.value


@program(ONE)
def attribute_of_an_attribute(x):
    outer = Base(1)
    outer.inner = Base(2)
    if x > 1:
        outer.inner.value = x
        outer.value = 7
    return outer.value * 100 + outer.inner.value


@program(ONE)
def recursion_over_python_values(x):
    def repeat(n, a):
        if n == 0:
            return a
        return repeat(n - 1, a + 1 if a > 0 else a - 1)

    return repeat(3, x)


@program(ONE)
def class_inside(x):
    class Local:
        def doubled(self, a):
            if a > 2:
                return a * 2
            return a

    return Local().doubled(x)


@program(ONE)
def generator_of_python_values(x):
    def numbers():
        for i in range(3):
            yield i

    for i in numbers():
        if x > i:
            x = x + i
    return x


@program([(3.7,), (-2.2,), (0.0,)])
def to_integer(x):
    return int(x) + 1


@program(ONE)
def to_float(x):
    return float(x) / 2


@program(ONE)
def absolute_value(x):
    return abs(x)


@program(ONE)
def passed_assertion(x):
    assert x > -100, "too small"
    return x


@program(ONE)
def formatted(x):
    text = f"{len('abc') if x is not None else 0}"
    return x + len(text)
