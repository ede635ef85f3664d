"""The transformation of a function: statements and expressions that may depend on tensors become calls of operators.

The blocks of a statement become nested functions that share the variables of the function through its cells. With
Python values an operator calls them as Python itself would run the blocks; only for tensors it reads and replaces
the variables, its state.
"""

from __future__ import annotations

import ast
from typing import Any

from thalweg._src.graph.autograph import failures
from thalweg._src.graph.autograph.jumps import Lowering
from thalweg._src.graph.autograph.names import Activity, Liveness, parameters
from thalweg._src.graph.autograph.syntax import Node, expression, gast, kind, locate, statements, walk_function

# Functions that look at the frame of their caller, debuggers among them.
_DIRECT = frozenset(("super", "locals", "globals", "eval", "exec", "vars", "dir", "breakpoint", "set_trace"))
_COMPARISONS = {
    **{"Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge", "Eq": "eq", "NotEq": "ne"},
    **{"Is": "is_", "IsNot": "is_not", "In": "in", "NotIn": "not in"},
}
_IN_PLACE = {
    **{"Add": "iadd", "Sub": "isub", "Mult": "imul", "Div": "itruediv", "FloorDiv": "ifloordiv", "Mod": "imod"},
    **{"Pow": "ipow", "MatMult": "imatmul", "LShift": "ilshift", "RShift": "irshift"},
    **{"BitAnd": "iand", "BitOr": "ior", "BitXor": "ixor"},
}


def transform(node: Node, filename: str) -> Node:
    """Returns the definition of a function, or a lambda, with operators of the name `ag__` in it."""
    yields = [inner for inner in walk_function(_body(node)) if kind(inner) in ("Yield", "YieldFrom", "Await")]
    if yields or kind(node) == "AsyncFunctionDef":
        raise failures.unsupported(
            filename,
            (*yields, node)[0],
            "Generators and coroutines cannot be converted.",
            "collect the values in a list and return it, or use a tf.data.Dataset.",
        )
    return _Transformer(node, filename).run()


def _body(node: Node) -> list[Node]:
    return [node.body] if kind(node) == "Lambda" else list(node.body)


def _binds(*nodes: Node) -> bool:
    """Returns whether expressions assign a variable, which they could not in a function of their own."""
    return any(kind(inner) == "NamedExpr" for node in nodes for inner in walk_function([node]))


class _Transformer(ast.NodeTransformer):
    """Transforms one function; nested functions have a transformer of their own."""

    def __init__(self, node: Node, filename: str) -> None:
        self._node = node
        self._filename = filename
        self._parameters = parameters(node)
        self._locals = {*self._parameters}
        self._outer: dict[str, str] = {}
        self._setters: dict[str, list[str]] = {}  # nested functions, with the variables here that they assign
        self._shared: dict[str, None] = {}  # local variables that blocks share with the function

    def run(self) -> Node:
        node = self._node
        if kind(node) == "Lambda":
            node.body = self.visit(node.body)
            return node
        described = kind(node.body[0]) == "Expr" and kind(node.body[0].value) == "Constant"
        docstring, body = (node.body[:1], node.body[1:]) if described else ([], node.body)
        if body:
            node.body = [*docstring, *self._function_body(body)]
        return node

    def _function_body(self, body: list[Node]) -> list[Node]:
        first = body[0]
        # The order matters: jumps are removed first, since flags and conditions are variables and statements like all
        # others; then names and liveness are computed on what is left; then blocks become functions, which hides names
        # from the analysis.
        body = Lowering(self._filename).function(body)
        activity = Activity(body)
        self._outer = activity.outer
        self._locals = {*self._parameters, *activity.bound} - {*self._outer}
        Liveness(body, {*self._outer})
        for descendant in walk_function(body):
            if kind(descendant) == "FunctionDef":
                inner = Activity(descendant.body)
                self._setters[descendant.name] = [name for name in inner.bound if name in inner.outer]
        has_effects = any(
            kind(descendant) == "Assert" or (kind(descendant) == "Expr" and kind(descendant.value) == "Call")
            for descendant in walk_function(body)
        )
        body = self._block(body)
        if has_effects:
            body = self._with_effects(body, first)
        lines = [f"{how} {name}" for name, how in self._outer.items()]
        # A block assigns variables of the function by `nonlocal`, which needs the function to have them: an assignment
        # that is never executed is enough for Python's compiler.
        if names := [name for name in self._shared if name not in self._parameters]:
            lines += [f"if False:\n    {' = '.join(names)} = None"]  # makes them variables of the function
        return [*(statements("\n".join(lines), first) if lines else []), *body]

    @staticmethod
    def _with_effects(body: list[Node], at: Node) -> list[Node]:
        """Returns a body whose results wait for the operations that its statements add."""
        if kind(body[-1]) == "Return" and body[-1].value is not None:
            last = body[-1]
            last.value = expression("ag__scope.returned(ag__VALUE)", last, ag__VALUE=last.value)
        return statements("with ag__.function_scope() as ag__scope:\n    ag__BODY", at, ag__BODY=body)

    # -- statements ---------------------------------------------------------------------------------------------------

    def _block(self, nodes: list[Node]) -> list[Node]:
        done: list[Node] = []
        for node in nodes:
            result = self.visit(node)
            done += result if isinstance(result, list) else [result]
        return done

    def _symbols(self, nodes: list[Node]) -> list[str]:
        """Returns the variables, and the attributes of variables, that statements modify."""
        activity = Activity(nodes)
        calls = [inner for inner in walk_function(nodes) if kind(inner) == "Call"]
        # A call of a nested function that assigns variables of this one modifies them, too.
        called = [call.func.id for call in calls if kind(call.func) == "Name"]
        assigned = [name for function in called for name in self._setters.get(function, ())]
        changed = [name for name in (*activity.changed, *assigned) if name in self._locals]
        names = list(dict.fromkeys([*activity.bound, *changed]))
        self._shared |= {name: None for name in names if name not in self._outer}
        return [*names, *(text for text, base in activity.attributes.items() if base not in activity.bound)]

    def _declarations(self, names: list[str]) -> str:
        """Returns the declarations by which a nested function shares variables, as text."""
        kinds: dict[str, list[str]] = {}
        for name in names:
            if "." not in name:
                kinds.setdefault(self._outer.get(name, "nonlocal"), []).append(name)
        return "\n".join(f"    {how} {', '.join(declared)}" for how, declared in kinds.items()) or "    pass"

    def _state(self, symbols: list[str]) -> str:
        """Returns the functions that read and replace the values of variables, as text."""
        values = "".join(f"ag__.ld(lambda: {symbol}), " for symbol in symbols)
        # The setter assigns all variables at once, in parallel; attributes go through local names, since each is set
        # only if it has a value, and deleted if it lost it. UNDEFINED stands for a variable that has none: it is
        # deleted, so that reading it is Python's own NameError.
        targets = [symbol.replace(".", "__") if "." in symbol else symbol for symbol in symbols]
        targets = [f"ag__{target}" if target != symbol else target for target, symbol in zip(targets, symbols)]
        lines = [f"def ag__get():\n    return ({values})", "def ag__set(ag__values):", self._declarations(symbols)]
        if symbols:
            lines.append(f"    {', '.join(targets)}, = ag__values")
        for symbol, target in zip(symbols, targets):
            if target == symbol:
                lines.append(f"    if {symbol} is ag__.UNDEFINED:\n        del {symbol}")
            else:
                lines.append(f"    if {target} is not ag__.UNDEFINED:\n        {symbol} = {target}")
                lines.append(f"    elif ag__.ld(lambda: {symbol}) is not ag__.UNDEFINED:\n        del {symbol}")
        return "\n".join(lines) + "\n"

    def visit_If(self, node: Node) -> list[Node]:
        symbols = self._symbols([*node.body, *node.orelse])
        live = [symbol for symbol in symbols if symbol in node.live or "." in symbol]
        # Two functions without parameters: they share the variables of the function through cells, so that with a
        # Python condition one of them is simply called, and runs as the statement would have.
        declared = self._declarations(symbols)
        text = self._state(symbols) + (
            f"def ag__body():\n{declared}\n    ag__BODY\n"
            f"def ag__orelse():\n{declared}\n    ag__ORELSE\n"
            f"ag__.if_stmt(ag__TEST, ag__body, ag__orelse, ag__get, ag__set, {tuple(symbols)}, {tuple(live)})"
        )
        at, test = node.test, self.visit(node.test)
        return statements(text, at, ag__TEST=test, ag__BODY=self._block(node.body), ag__ORELSE=self._block(node.orelse))

    def visit_While(self, node: Node) -> list[Node]:
        body, options = self._loop_options(node.body)
        symbols = self._symbols(body)
        text = self._state(symbols) + (
            "def ag__test():\n    return ag__TEST\n"
            f"def ag__body():\n{self._declarations(symbols)}\n    ag__BODY\n"
            f"ag__.while_stmt(ag__test, ag__body, ag__get, ag__set, {self._loop_names(symbols, node)}, ag__OPTIONS)"
        )
        at, test = node.test, self.visit(node.test)
        return statements(text, at, ag__TEST=test, ag__BODY=self._block(body), ag__OPTIONS=options)

    def visit_For(self, node: Node) -> list[Node]:
        body, options = self._loop_options(node.body)
        symbols = self._symbols([node.target, *body])
        at, extra = node.iter, node.extra_test
        # The extra test says whether a jump has ended the loop.
        test = "def ag__test():\n    return ag__TEST\n" if extra is not None else "ag__test = None\n"
        text = self._state(symbols) + (
            f"{test}def ag__body(ag__item):\n{self._declarations(symbols)}\n    ag__TARGET\n    ag__BODY\n"
            "ag__.for_stmt(ag__ITER, ag__test, ag__body, ag__get, ag__set, "
            f"{self._loop_names(symbols, node)}, ag__OPTIONS)"
        )
        return statements(
            text,
            at,
            ag__ITER=self.visit(node.iter),
            ag__TEST=None if extra is None else self.visit(extra),
            ag__TARGET=statements("ag__TARGET = ag__item", node.target, ag__TARGET=node.target),
            ag__BODY=self._block(body),
            ag__OPTIONS=options,
        )

    @staticmethod
    def _loop_names(symbols: list[str], node: Node) -> str:
        """Returns the variables of a loop as text: all, those read in or after it, those read after it, lists."""
        carried = tuple(symbol for symbol in symbols if symbol in node.head or "." in symbol)
        live = tuple(symbol for symbol in symbols if symbol in node.live or "." in symbol)
        appended = tuple(name for name in Activity(node.body).appended if name in symbols)
        return f"{tuple(symbols)}, {carried}, {live}, {appended}"

    def _loop_options(self, body: list[Node]) -> tuple[list[Node], Node]:
        """Returns the body of a loop without a call of set_loop_options, and a function of that call."""
        for number, node in enumerate(body):
            if kind(node) == "Expr" and kind(node.value) == "Call":
                function = node.value.func
                if "set_loop_options" in (getattr(function, "attr", None), getattr(function, "id", None)):
                    rest = [*body[:number], *body[number + 1 :]] or [locate(gast.Pass(), node)]
                    node.value.func = expression("ag__.loop_options", node)
                    return rest, expression("lambda: ag__CALL", node, ag__CALL=node.value)
        return body, locate(gast.Constant(None, None), body[0])

    def visit_FunctionDef(self, node: Node) -> Node:
        node.args.defaults = [self.visit(default) for default in node.args.defaults]
        node.args.kw_defaults = [default and self.visit(default) for default in node.args.kw_defaults]
        if any(kind(inner) in ("Yield", "YieldFrom") for inner in walk_function(node.body)):
            return node
        return _Transformer(node, self._filename).run()

    def visit_AsyncFunctionDef(self, node: Node) -> Node:
        return node

    def visit_ClassDef(self, node: Node) -> Node:
        node.body = [self.visit(inner) if kind(inner) == "FunctionDef" else inner for inner in node.body]
        return node

    def visit_Lambda(self, node: Node) -> Node:
        node.args.defaults = [self.visit(default) for default in node.args.defaults]
        return _Transformer(node, self._filename).run()

    def visit_Global(self, node: Node) -> Node:
        return locate(gast.Pass(), node)  # declared at the top of the function

    visit_Nonlocal = visit_Global  # noqa: N815

    def visit_AnnAssign(self, node: Node) -> Any:
        if node.value is None:
            return locate(gast.Pass(), node)
        # A variable with an annotation could not be shared.
        return self.visit(locate(gast.Assign([node.target], node.value, None), node))

    def visit_Assign(self, node: Node) -> Any:
        target = node.targets[0]
        if len(node.targets) > 1 or not self._is_element(target):
            return self.generic_visit(node)
        # `x[i] = y` on a tensor gives a new tensor, which the variable has to be assigned.
        name = target.value.id
        text = f"{name} = ag__.set_item(ag__VALUE, {name}, ag__INDEX)"
        return statements(text, node, ag__VALUE=self.visit(node.value), ag__INDEX=self.visit(target.slice))

    def visit_AugAssign(self, node: Node) -> Any:
        if not self._is_element(node.target) or _binds(node.value):
            return self.generic_visit(node)
        name = node.target.value.id
        text = f"{name} = ag__.update_item({name}, ag__INDEX, '{_IN_PLACE[kind(node.op)]}', lambda: ag__VALUE)"
        return statements(text, node, ag__VALUE=self.visit(node.value), ag__INDEX=self.visit(node.target.slice))

    def _is_element(self, target: Node) -> bool:
        """Returns whether a target of an assignment is an element of a local variable."""
        if kind(target) != "Subscript" or kind(target.value) != "Name" or target.value.id not in self._locals:
            return False
        return all(kind(inner) != "Slice" for inner in walk_function([target.slice]))

    def visit_Assert(self, node: Node) -> Node:
        message = locate(gast.Constant(None, None), node) if node.msg is None else self.visit(node.msg)
        call = "ag__.assert_stmt(ag__TEST, lambda: ag__MESSAGE)"
        return statements(call, node, ag__TEST=self.visit(node.test), ag__MESSAGE=message)[0]

    def visit_Expr(self, node: Node) -> Node:
        is_call = kind(node.value) == "Call" and not self._is_direct(node.value)
        node.value = self.visit(node.value)
        if is_call:
            node.value = expression("ag__.effect(ag__VALUE)", node, ag__VALUE=node.value)
        return node

    # -- expressions --------------------------------------------------------------------------------------------------

    def visit_Call(self, node: Node) -> Node:
        if getattr(node.func, "id", None) == "super" and not node.args and self._parameters:
            # The blocks of statements are functions of their own, in which super() would not find its arguments.
            node.args = [expression(argument, node) for argument in ("__class__", self._parameters[0])]
        self.generic_visit(node)
        if self._is_direct(node):
            return node
        called = locate(
            gast.Call(expression("ag__.converted_call", node), [node.func, *node.args], node.keywords), node
        )
        return called

    def _is_direct(self, node: Node) -> bool:
        """Returns whether a function must be called from the frame of the user's function."""
        function = node.func
        if kind(function) == "Attribute":
            return bool(function.attr == "set_trace")
        return kind(function) == "Name" and function.id in _DIRECT and function.id not in self._locals

    def visit_BoolOp(self, node: Node) -> Node:
        self.generic_visit(node)
        # An assignment expression in an operand would assign a variable of the lambda.
        if _binds(*node.values):
            return node
        operator = "and_" if kind(node.op) == "And" else "or_"
        return self._lazy(f"ag__.{operator}", node, node.values)

    def _lazy(self, operator: str, node: Node, operands: list[Node]) -> Node:
        """Returns the call of an operator with functions that return its operands."""
        call = expression(f"{operator}()", node)
        # Operands are evaluated only if the operator asks for them.
        call.args = [expression("lambda: ag__VALUE", operand, ag__VALUE=operand) for operand in operands]
        return call

    def visit_UnaryOp(self, node: Node) -> Node:
        self.generic_visit(node)
        if kind(node.op) != "Not":
            return node
        return expression("ag__.not_(ag__VALUE)", node, ag__VALUE=node.operand)

    def visit_Compare(self, node: Node) -> Node:
        self.generic_visit(node)
        names = [_COMPARISONS[kind(op)] for op in node.ops]
        if len(names) == 1:
            if names[0] not in ("eq", "ne"):
                return node
            text = f"ag__.{names[0]}(ag__LEFT, ag__RIGHT)"
            return expression(text, node, ag__LEFT=node.left, ag__RIGHT=node.comparators[0])
        if _binds(node):
            return node
        call = self._lazy("ag__.compare", node, node.comparators)
        call.args = [expression(repr(tuple(names)), node), node.left, *call.args]
        return call

    def visit_IfExp(self, node: Node) -> Node:
        self.generic_visit(node)
        if _binds(node.body, node.orelse):
            return node
        call = self._lazy("ag__.if_exp", node, [node.body, node.orelse])
        call.args = [node.test, *call.args]
        return call
