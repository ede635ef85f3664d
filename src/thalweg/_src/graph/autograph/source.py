"""The source of functions: the syntax tree of a code object, with the locations that it has in its file."""

from __future__ import annotations

import ast
import inspect
import linecache
from types import CodeType, FunctionType
from typing import Any

from thalweg._src.graph.autograph.failures import InaccessibleSourceCodeError
from thalweg._src.graph.autograph.syntax import Node, gast

_trees: dict[str, tuple[tuple[str, ...], ast.Module]] = {}  # of files, with the lines that were parsed

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def definition(function: FunctionType) -> Node:
    """Returns the definition of a function as a new tree of gast."""
    code = function.__code__
    definitions: list[Any] = [node for node in ast.walk(_file_tree(function)) if _may_define(node, code)]
    if len(definitions) > 1:  # several lambdas on a line
        definitions = [node for node in definitions if _contains(node, code)]
        definitions.sort(key=lambda node: (node.end_lineno - node.lineno, node.end_col_offset - node.col_offset))
    if not definitions:
        raise InaccessibleSourceCodeError(
            f"The source of {code.co_name!r} is not in {code.co_filename!r} at line {code.co_firstlineno}: "
            "the file has changed since it was imported. Import it again."
        )
    return gast.ast_to_gast(definitions[0])


def _file_tree(function: FunctionType) -> ast.Module:
    code = function.__code__
    lines = tuple(linecache.getlines(code.co_filename, function.__globals__))
    if not lines:
        raise InaccessibleSourceCodeError(
            f"The source of {code.co_name!r} is not available: it was defined in {code.co_filename!r}, by exec or in "
            "an interactive interpreter. Define it in a file or a notebook, or use tf.cond and tf.while_loop in it "
            "and mark it with @tf.autograph.experimental.do_not_convert."
        )
    parsed = _trees.get(code.co_filename)
    if parsed is None or parsed[0] != lines:
        try:
            parsed = lines, ast.parse("".join(lines))
        except SyntaxError as error:
            raise InaccessibleSourceCodeError(
                f"The source of {code.co_name!r} cannot be read from {code.co_filename!r}: {error}"
            ) from None
        _trees[code.co_filename] = parsed
    return parsed[1]


def _may_define(node: Any, code: CodeType) -> bool:
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno and _parameters(node, code)
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name != code.co_name:
        return False
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return first == code.co_firstlineno and _parameters(node, code)


def _parameters(node: Definition, code: CodeType) -> bool:
    """Returns whether a definition has the parameters of a code object."""
    arguments = node.args
    positional = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    named = [argument.arg for argument in arguments.kwonlyargs]
    flags = (code.co_flags & inspect.CO_VARARGS, code.co_flags & inspect.CO_VARKEYWORDS)
    return (
        len(positional) == code.co_argcount
        and len(named) == code.co_kwonlyargcount
        and all(map(str.endswith, code.co_varnames, [*positional, *named]))  # mangled: _A__x
        and (arguments.vararg is None, arguments.kwarg is None) == (not flags[0], not flags[1])
    )


def _contains(node: Any, code: CodeType) -> bool:
    """Returns whether all instructions of a code object are inside a node."""
    start, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    for line, last_line, column, last_column in code.co_positions():
        if None in (line, last_line, column, last_column) or (column == last_column == 0):
            continue  # instructions that belong to no expression
        if not start <= (line, column) <= (last_line, last_column) <= end:
            return False
    return True
