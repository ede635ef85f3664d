"""Names in syntax trees: which ones statements read and modify, and which ones are live after them."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from thalweg._src.graph.autograph.syntax import FUNCTIONS, Node, kind

# Methods that change lists, dictionaries and sets.
_MUTATORS = frozenset(
    ("add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault")
    + ("sort", "update")
)


class Activity(ast.NodeVisitor):
    """What code does with names.

    bound: names that are assigned or deleted
    changed: names whose value is changed in place, by a method or an assignment to an element
    appended: names of lists that are appended to
    attributes: assigned attributes of names, such as "self.x", with the name
    read: names that are read, also by nested functions
    captured: names that nested functions read
    outer: names that are declared global or nonlocal, with the statement
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.bound: dict[str, None] = {}
        self.changed: dict[str, None] = {}
        self.appended: dict[str, None] = {}
        self.attributes: dict[str, str] = {}
        self.read: set[str] = set()
        self.captured: set[str] = set()
        self.outer: dict[str, str] = {}
        for node in nodes:
            self.visit(node)

    def visit_Name(self, node: Node) -> None:
        if kind(node.ctx) == "Load":
            self.read.add(node.id)
        else:
            self.bound[node.id] = None

    def visit_AugAssign(self, node: Node) -> None:
        # gast has one context for the target of `x += 1`, which is read as well.
        if kind(node.target) == "Name":
            self.read.add(node.target.id)
        self.generic_visit(node)

    def visit_Attribute(self, node: Node) -> None:
        # `self.x = ...` is state like a variable of its own, unless the object itself is assigned.
        if kind(node.ctx) != "Load" and (text := _dotted(node)) is not None:
            self.attributes[text] = text.partition(".")[0]
        self.generic_visit(node)

    def visit_Subscript(self, node: Node) -> None:
        if kind(node.ctx) != "Load" and kind(node.value) == "Name":
            self.changed[node.value.id] = None
        self.generic_visit(node)

    def visit_Call(self, node: Node) -> None:
        method = node.func
        if kind(method) == "Attribute" and method.attr in _MUTATORS and kind(method.value) == "Name":
            self.changed[method.value.id] = None
            if method.attr == "append":
                self.appended[method.value.id] = None
        self.generic_visit(node)

    def visit_FunctionDef(self, node: Node) -> None:
        self.bound[node.name] = None
        self._include_function(node, node.body)
        for expression in (*node.decorator_list, *filter(None, [node.returns])):
            self.visit(expression)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_Lambda(self, node: Node) -> None:
        self._include_function(node, [node.body])

    def _include_function(self, node: Node, body: list[Node]) -> None:
        inner = Activity(body)
        # What a nested function reads and does not define is a variable of this one, captured by its cell.
        inner_names = {*inner.bound, *parameters(node)} - {*inner.outer}
        self.captured |= (inner.read | {*inner.outer}) - inner_names
        self.read |= (inner.read | {*inner.outer}) - inner_names
        for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(default)

    def visit_ClassDef(self, node: Node) -> None:
        self.bound[node.name] = None
        inner = Activity([*node.body, *node.bases, *node.decorator_list, *node.keywords])
        self.captured |= inner.read
        self.read |= inner.read

    def _visit_comprehension(self, node: Node) -> None:
        # The variables of a comprehension are its own; those assigned by `:=` in it are of the function around.
        targets = {*Activity([generator.target for generator in node.generators]).bound}
        expressions = [getattr(node, field) for field in ("elt", "key", "value") if hasattr(node, field)]
        for generator in node.generators:
            expressions += [generator.iter, *generator.ifs]
        inner = Activity(expressions)
        self.read |= inner.read - targets
        self.captured |= inner.captured - targets
        self.bound |= inner.bound
        self.changed |= {name: None for name in inner.changed if name not in targets}

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension  # noqa: N815

    def visit_Import(self, node: Node) -> None:
        self.bound |= {(alias.asname or alias.name).partition(".")[0]: None for alias in node.names}

    visit_ImportFrom = visit_Import  # noqa: N815

    def visit_Global(self, node: Node) -> None:
        self.outer |= dict.fromkeys(node.names, kind(node).lower())

    visit_Nonlocal = visit_Global  # noqa: N815

    def visit_MatchAs(self, node: Node) -> None:
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if isinstance(name, str):
            self.bound[name] = None
        self.generic_visit(node)

    visit_MatchStar = visit_MatchMapping = visit_MatchAs  # noqa: N815


def _dotted(node: Node) -> str | None:
    """Returns the text of an attribute of a name, such as "self.x"."""
    attributes = []
    while kind(node) == "Attribute":
        attributes.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(attributes)]) if kind(node) == "Name" else None


def parameters(node: Node) -> list[str]:
    """Returns the names of the parameters of a function or a lambda."""
    arguments = node.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    return [argument.id for argument in named if argument is not None]


class Liveness:
    """Marks statements with the names that are read after them, `live`, and loops with those of an iteration, `head`.

    The body of a function is passed without jumps.
    """

    def __init__(self, body: list[Node], always: set[str]) -> None:
        # A nested function may be called anywhere after its definition, and reads variables as they are by then.
        self._functions = [
            (node, Activity([node]).captured)
            for statement in body
            for node in ast.walk(statement)
            if kind(node) in FUNCTIONS
        ]
        self._block(body, always)

    def _block(self, nodes: list[Node], live: set[str]) -> set[str]:
        # Liveness analysis, backwards: a name is live before a statement if the statement reads it, or if it is live
        # after it and the statement does not assign it. A name too many only costs a loop variable; one that is missing
        # would lose its value.
        for node in reversed(nodes):
            live = self._statement(node, live)
        return live

    def _statement(self, node: Node, live: set[str]) -> set[str]:
        match kind(node):
            case "If":
                node.live = live | self._captured_outside(node)
                return _read(node.test) | self._block(node.body, live) | self._block(node.orelse, live)
            case "While" | "For":
                return self._loop(node, live)
            case "With":
                after = Activity(node.items)
                return (self._block(node.body, live) - {*after.bound}) | after.read
            case "Try" | "TryStar":
                # An exception may leave the body after any statement, so that what handlers read is live throughout it.
                live = self._block(node.finalbody, live)
                caught = set().union(*(self._block(handler.body, live) for handler in node.handlers))
                return caught | self._block(node.body, caught | self._block(node.orelse, live))
            case "Match":
                read = _read(node.subject) | {name for case in node.cases if case.guard for name in _read(case.guard)}
                return read.union(live, *(self._block(case.body, live) for case in node.cases))
            case "Return":
                return _read(node)
        done = Activity([node])
        return (live - {*done.bound}) | done.read

    def _loop(self, node: Node, live: set[str]) -> set[str]:
        is_for = kind(node) == "For"
        tests = [test for test in ([node.extra_test] if is_for else [node.test]) if test is not None]
        targets = Activity([node.target]) if is_for else Activity([])
        head = live | Activity(tests).read
        # The names read in an iteration depend on those live at its end, which are those at the beginning of the next
        # one: a fixed point. The sets only grow, and are bounded by the names of the function.
        while True:
            extended = head | ((self._block(node.body, head) - {*targets.bound}) | targets.read)
            if extended == head:
                break
            head = extended
        outside = self._captured_outside(node)
        node.live, node.head = live | outside, head | outside
        return head | _read(node.iter) if is_for else head

    def _captured_outside(self, node: Node) -> set[str]:
        """Returns the names that nested functions defined elsewhere read: these may be called at any later time."""
        inside = {id(inner) for inner in ast.walk(node)}
        return set().union(*(names for function, names in self._functions if id(function) not in inside))


def _read(node: Node) -> set[str]:
    return Activity([node]).read
