"""Random programs of conditionals and loops, as text that Thalweg and TensorFlow both run."""

import random

COUNT = 160


def source(seed):
    """Returns the text of a program: `build(tf, x, p, n)` gives a vector of float64 that depends on x."""
    return _Writer(seed).write()


class _Writer:
    def __init__(self, seed):
        self._random = random.Random(seed)
        self._lines = []
        self._count = 0

    def write(self):
        result = self._expression(3, ["x"], [])
        return "\n".join(["def build(tf, x, p, n):", *self._lines, f"    return {result}"]) + "\n"

    def _name(self, prefix):
        self._count += 1
        return f"{prefix}{self._count}"

    def _expression(self, depth, values, counters, indent=1):
        """Returns an expression of the values in scope; functions that it needs are written before it."""
        kinds = ["plain", "plain", "unary", "binary"]
        if depth:
            kinds = ["unary", "binary", "cond", "cond", "loop", "loop", "scan", "array", "case"]
        kind = self._random.choice(kinds)
        return getattr(self, f"_{kind}")(depth, values, counters, indent)

    def _plain(self, depth, values, counters, indent):
        return self._random.choice([*values, "tf.constant([0.5, -0.25, 0.75], tf.float64)", values[-1]])

    def _unary(self, depth, values, counters, indent):
        function = self._random.choice(
            ["tf.sin({})", "tf.tanh({})", "(0.5 * {})", "tf.square({}) * 0.3", "tf.exp(-tf.square({}))"]
        )
        return function.format(self._expression(max(depth - 1, 0), values, counters, indent))

    def _binary(self, depth, values, counters, indent):
        function = self._random.choice(["({} + {})", "({} * {})", "({} - 0.5 * {})", "tf.maximum({}, {})"])
        left = self._expression(max(depth - 1, 0), values, counters, indent)
        return function.format(left, self._expression(max(depth - 1, 0), values, counters, indent))

    def _predicate(self, values, counters):
        options = ["p", f"tf.less(tf.reduce_sum({self._random.choice(values)}), 0.7)"]
        if counters:
            options += [f"tf.equal({self._random.choice(counters)} % 2, 0)"] * 2
        return self._random.choice(options)

    def _function(self, parameters, depth, values, counters, indent, results=None):
        """Writes a function and returns its name; `results` wraps what it returns."""
        name = self._name("f")
        place = len(self._lines)
        self._lines.append("    " * indent + f"def {name}({parameters}):")
        result = self._expression(depth, values, counters, indent + 1)
        # Functions that the expression needs were written after the head: they are inside of this one.
        self._lines.append("    " * (indent + 1) + f"return {(results or '{}').format(result)}")
        assert place < len(self._lines)
        return name

    def _cond(self, depth, values, counters, indent):
        predicate = self._predicate(values, counters)
        one = self._function("", depth - 1, values, counters, indent)
        two = self._function("", depth - 1, values, counters, indent)
        return f"tf.cond({predicate}, {one}, {two})"

    def _case(self, depth, values, counters, indent):
        functions = [self._function("", max(depth - 2, 0), values, counters, indent) for _ in range(3)]
        pairs = ", ".join(f"({self._predicate(values, counters)}, {f})" for f in functions[:2])
        return f"tf.case([{pairs}], default={functions[2]})"

    def _loop(self, depth, values, counters, indent):
        i, a = self._name("i"), self._name("a")
        times = self._random.choice(["2", "3", "n", *(f"{c} + 1" for c in counters)])
        first = self._random.choice(values)
        body = self._function(f"{i}, {a}", depth - 1, [*values, a], [*counters, i], indent, results=f"({i} + 1, {{}})")
        return f"tf.while_loop(lambda {i}, {a}: {i} < {times}, {body}, [tf.constant(0), {first}])[1]"

    def _scan(self, depth, values, counters, indent):
        a, b = self._name("a"), self._name("b")
        body = self._function(f"{a}, {b}", 0, [a, b], [], indent)
        rows = self._random.choice(values)
        return f"tf.reduce_sum(tf.scan({body}, tf.stack([{rows}, 0.5 * {rows}, x])), 0)"

    def _array(self, depth, values, counters, indent):
        i, t, a = self._name("i"), self._name("t"), self._name("a")
        given = self._random.choice(values)
        body = self._function(
            f"{i}, {t}, {a}",
            depth - 1,
            [*values, a],
            [*counters, i],
            indent,
            results=f"({i} + 1, {t}.write({i}, {a}), {{}})",
        )
        loop = (
            f"tf.while_loop(lambda {i}, {t}, {a}: {i} < 3, {body}, "
            f"[tf.constant(0), tf.TensorArray(tf.float64, 3), {given}])"
        )
        return f"tf.reduce_sum({loop}[1].stack(), 0)"
