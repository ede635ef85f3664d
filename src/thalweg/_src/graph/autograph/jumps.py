"""Lowering of return, break and continue: flags, and conditions on the statements that a jump skips."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from thalweg._src.graph.autograph import failures
from thalweg._src.graph.autograph.syntax import (
    FUNCTIONS,
    RETURN_VALUE,
    Node,
    blocks,
    expression,
    gast,
    kind,
    locate,
    statements,
    walk_function,
)

RETURNED = "ag__returned"
_LOOPS = ("While", "For")


@dataclass(frozen=True, slots=True)
class _Jumps:
    """The flags that jumps set, in a function and in its innermost loop; None where the jump stays as it is."""

    returned: str | None = None
    broken: str | None = None
    continued: str | None = None

    def flags(self, nodes: list[Node]) -> list[str]:
        """Returns the flags that statements may set."""
        # `break` and `continue` concern the innermost loop; a `return` leaves all of them.
        kinds = {kind(node) for node in _statements(nodes, into_loops=False)}
        returns = any(kind(node) == "Return" for node in _statements(nodes))
        flags = (
            self.returned if returns else None,
            self.broken if "Break" in kinds else None,
            self.continued if "Continue" in kinds else None,
        )
        return [flag for flag in flags if flag is not None]


class Lowering:
    """Lowers the jumps of one function."""

    def __init__(self, filename: str) -> None:
        self._filename = filename
        self._loops = 0

    def function(self, body: list[Node]) -> list[Node]:
        """Returns the body of a function, in which at most the last statement is a return."""
        # A single return at the end is what every function without jumps has, and stays.
        if all(node is body[-1] for node in _statements(body) if kind(node) == "Return"):
            return self._block(body, _Jumps())
        if not _ends(body):  # the other paths return None
            body = [*body, locate(gast.Return(None), body[-1])]
        # A return in the middle becomes an assignment and a flag; the statements behind it are skipped by conditions on
        # the flag. In a graph both sides of a condition are traced, so that control cannot leave a block early: it has
        # to reach its end.
        begin, end = statements(f"{RETURNED} = False\nreturn {RETURN_VALUE}", body[0])
        return [begin, *self._block(body, _Jumps(RETURNED)), locate(end, body[-1])]

    def _block(self, nodes: list[Node], jumps: _Jumps) -> list[Node]:
        done: list[Node] = []
        for number, node in enumerate(nodes):
            # What follows a statement that may jump is put under a condition. What follows an unconditional jump can
            # never run, and is dropped.
            rest = nodes[number + 1 :]
            name = kind(node)
            if name == "Return" and jumps.returned:
                value = node.value or locate(gast.Constant(None, None), node)
                return [*done, *statements(f"{RETURN_VALUE} = value\n{RETURNED} = True", node, value=value)]
            if name in ("Break", "Continue"):
                flag = jumps.broken if name == "Break" else jumps.continued
                return [*done, *statements(f"{flag} = True", node)]
            if name in _LOOPS:
                return [*done, *self._loop(node, rest, jumps)]
            flags = jumps.flags([node]) if name not in (*FUNCTIONS, "ClassDef") else []
            done.append(node)
            if flags:
                # `if c: return a` followed by the rest of a block is `if c: return a else: rest`: then each path sets
                # the return value exactly once, and no flag has to be tested between the two.
                if name == "If" and rest and _ends(node.body):
                    node.orelse, rest = [*node.orelse, *rest], []
                elif name == "If" and rest and _ends(node.orelse):
                    node.body, rest = [*node.body, *rest], []
                self._inside(node, jumps)
                return [*done, *self._unless(flags, rest, jumps)]
            self._inside(node, jumps)
        return done

    def _inside(self, node: Node, jumps: _Jumps) -> None:
        """Lowers the blocks of a statement other than a loop."""
        if kind(node) in (*FUNCTIONS, "ClassDef"):
            return
        if hasattr(node, "finalbody"):
            if jumps.flags(node.finalbody):
                raise failures.unsupported(
                    self._filename,
                    node.finalbody[0],
                    "`return`, `break` and `continue` in a `finally` clause cannot be converted.",
                    "leave the `finally` clause first.",
                )
            # Without its jumps the body always ends normally, after which Python runs `else`: a condition on the flags
            # skips it as the jump would have.
            skipping = jumps.flags(node.body)
            body, node.body = node.body, []
            orelse, node.orelse = node.orelse, []
            for block in blocks(node):
                block[:] = self._block(block, jumps)
            node.body = self._block(body, jumps)
            node.orelse = self._unless(skipping, orelse, jumps)
            return
        for block in blocks(node):
            block[:] = self._block(block, jumps)

    def _unless(self, flags: list[str], rest: list[Node], jumps: _Jumps) -> list[Node]:
        """Returns statements that run if no flag is set."""
        lowered = self._block(rest, jumps)
        if not lowered or not flags:
            return lowered
        return statements(f"if {_none_of(flags)}:\n    rest", rest[0], rest=lowered)

    def _loop(self, node: Node, rest: list[Node], jumps: _Jumps) -> list[Node]:
        """Returns a loop and the statements after it; its conditions include that no jump has ended it."""
        self._loops += 1
        if kind(node) == "While" and any(kind(expr) == "NamedExpr" for expr in walk_function([node.test])):
            _move_test_into_body(node)
        # Names with a number, since flags of nested loops must not meet.
        inside = _Jumps(jumps.returned, f"ag__break_{self._loops}", f"ag__continue_{self._loops}")
        # Asked before the body is lowered, as no jumps are left afterwards.
        flags = inside.flags(node.body)
        node.body = self._block(node.body, inside)
        # `continue` skips the rest of one iteration: its flag is cleared at the beginning of each. `break` and `return`
        # also end the loop, by a condition that is tested before the loop's own, which after a `break` might not be
        # valid any more.
        if inside.continued in flags:
            node.body = [*statements(f"{inside.continued} = False", node.body[0]), *node.body]
            flags.remove(inside.continued)
        done: list[Node] = []
        if inside.broken in flags:
            done = statements(f"{inside.broken} = False", _head(node))
        extra = None
        if flags:
            extra = expression(_none_of(flags), _head(node))
        if kind(node) == "For":
            node.extra_test = extra
        elif extra is not None:
            always = kind(node.test) == "Constant" and node.test.value is True
            node.test = extra if always else expression("extra and test", node.test, extra=extra, test=node.test)
        # `else` of a loop runs unless it was left by `break`: an ordinary statement behind the loop.
        orelse, node.orelse = node.orelse, []
        if orelse and inside.broken in flags:
            orelse = statements(f"if not {inside.broken}:\n    orelse", orelse[0], orelse=orelse)
        returned = [flag for flag in flags if flag == jumps.returned]
        return [*done, node, *self._unless(returned, [*orelse, *rest], jumps)]


def _move_test_into_body(node: Node) -> None:
    """Makes the condition of a loop a statement, since the variables that it assigns are those of the body."""
    # An assignment in the condition is one of the loop's variables, and the function of a condition could not set it.
    ends = statements("if not test:\n    orelse\n    break", node.test, test=node.test, orelse=node.orelse)
    node.test = locate(gast.Constant(True, None), node.test)
    node.body, node.orelse = [*ends, *node.body], []


def _head(node: Node) -> Node:
    return node.test if kind(node) == "While" else node.iter


def _none_of(flags: Iterable[str]) -> str:
    return f"not ({' or '.join(flags)})"


def _statements(nodes: list[Node], into_loops: bool = True) -> Iterator[Node]:
    """Yields statements and those inside of them, but not those of nested functions."""
    for node in nodes:
        yield node
        if kind(node) in (*FUNCTIONS, "ClassDef"):
            continue
        if kind(node) in _LOOPS and not into_loops:
            yield from _statements(node.orelse, into_loops)
            continue
        for block in blocks(node):
            yield from _statements(block, into_loops)


def _ends(nodes: list[Node]) -> bool:
    """Returns whether the end of a block is unreachable."""
    return any(_leaves(node) for node in nodes)


def _leaves(node: Node) -> bool:
    match kind(node):
        case "Return" | "Break" | "Continue" | "Raise":
            return True
        case "If":
            return _ends(node.body) and _ends(node.orelse)
        case "With":
            return _ends(node.body)
        case "Try":
            handled = all(_ends(handler.body) for handler in node.handlers)
            return _ends(node.finalbody) or (handled and (_ends(node.body) or _ends(node.orelse)))
        case "While":
            always = kind(node.test) == "Constant" and bool(node.test.value)
            return always and not any(kind(inner) == "Break" for inner in _statements(node.body, into_loops=False))
    return False
