"""`thalweg check`: static analysis of the TensorFlow names that a program uses, to find those that Thalweg lacks."""

from __future__ import annotations

import ast
import json
import re
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thalweg._src.cli.names import PublicNames

PACKAGES = ("tensorflow", "thalweg")
_MAGIC = re.compile(r"^(\s*)[%!?].*$", re.MULTILINE)  # syntax of notebooks that is not Python

NamePath = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a missing name."""

    file: str
    line: int
    column: int
    name: str
    nearest: str | None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a file could not be checked."""

    file: str
    line: int
    message: str


@dataclass(slots=True)
class Report:
    """The result for all files: how many names they use, and the uses of missing names."""

    files: int = 0
    names: int = 0
    missing: list[Use] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)


def check_files(paths: Iterable[Path]) -> Report:
    """Checks files, and all programs and notebooks in folders."""
    report = Report()
    known = PublicNames()
    used: set[str] = set()
    for path in _programs(paths):
        report.files += 1
        try:
            for label, line, column, name in uses(path):
                used.add(_shown(name))
                if not known.has(name):
                    near = known.nearest(name)
                    report.missing.append(
                        Use(label, line, column, _shown(name), None if near is None else _shown(near))
                    )
        except SyntaxError as error:
            report.failures.append(Failure(str(path), error.lineno or 0, f"SyntaxError: {error.msg}"))
        except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
            text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            report.failures.append(Failure(str(path), 0, f"{type(error).__name__}: {text}"))
    report.names = len(used)
    return report


def _shown(name: NamePath) -> str:
    return ".".join(("tf", *name))


def _programs(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for found in sorted(path.rglob("*")):
            inside = found.relative_to(path).parts
            if found.suffix in (".py", ".ipynb") and not any(part.startswith(".") for part in inside):
                yield found


def _sources(path: Path) -> list[tuple[str, str]]:
    """Returns the source texts of a file with the name to print for each: one, or one per cell of a notebook."""
    if path.suffix != ".ipynb":
        with tokenize.open(path) as file:
            return [(str(path), file.read())]
    cells = json.loads(path.read_text(encoding="utf-8")).get("cells", [])
    texts = [(i, "".join(cell["source"])) for i, cell in enumerate(cells, 1) if cell.get("cell_type") == "code"]
    return [(f"{path}[{i}]", _MAGIC.sub(r"\1pass", text)) for i, text in texts if not text.lstrip().startswith("%%")]


def uses(path: Path) -> Iterator[tuple[str, int, int, NamePath]]:
    """Yields (file, line, column, name) for each name of TensorFlow in a program, by its path under `tf`."""
    visitor = _Visitor()
    for label, source in _sources(path):  # a cell of a notebook sees the imports of earlier cells
        visitor.found.clear()
        visitor.visit(ast.parse(source, label))
        yield from ((label, *found) for found in sorted(visitor.found))


def _dotted(node: ast.AST) -> tuple[str, ...] | None:
    """Returns the components of `a.b.c`; None for any other expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (node.id, *reversed(parts)) if isinstance(node, ast.Name) else None


def _plain(path: Sequence[str]) -> NamePath:
    """Returns a path without `compat.v1`, which is an alias of the package."""
    return _plain(path[2:]) if tuple(path[:2]) == ("compat", "v1") else tuple(path)


class _Visitor(ast.NodeVisitor):
    """Tracks the names bound to TensorFlow objects, through imports, assignments and scopes."""

    def __init__(self) -> None:
        self.found: set[tuple[int, int, NamePath]] = set()
        self._scopes: list[dict[str, NamePath | None]] = [{}]

    def _resolve(self, node: ast.AST) -> NamePath | None:
        parts = _dotted(node)
        if parts is None:
            return None
        for scope in reversed(self._scopes):
            if parts[0] in scope:
                base = scope[parts[0]]
                return None if base is None else _plain((*base, *parts[1:]))
        return None

    def _report(self, node: Any, path: NamePath) -> None:
        if path:
            self.found.add((node.lineno, node.col_offset + 1, path))

    # -- names ---------------------------------------------------------------------------------------------------------

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            package, *path = alias.name.split(".")
            if package in PACKAGES:
                self._report(node, _plain(path))
                self._scopes[-1][alias.asname or package] = _plain(path) if alias.asname else ()

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        package, *path = (node.module or "").split(".")
        if node.level or package not in PACKAGES:
            for alias in node.names:
                self._scopes[-1][alias.asname or alias.name] = None
            return
        for alias in node.names:
            if alias.name != "*":
                full = _plain((*path, alias.name))
                self._report(node, full)
                self._scopes[-1][alias.asname or alias.name] = full

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = self._resolve(node)
        if path is None:
            self.generic_visit(node)
        else:
            self._report(node, path)

    # -- bindings ------------------------------------------------------------------------------------------------------

    def _bind(self, target: ast.AST, path: NamePath | None = None) -> None:
        if isinstance(target, ast.Name):
            self._scopes[-1][target.id] = path
        elif isinstance(target, ast.Tuple | ast.List):
            for element in target.elts:
                self._bind(element)
        elif isinstance(target, ast.Starred):
            self._bind(target.value)
        else:
            self.visit(target)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        path = self._resolve(node.value)
        for target in node.targets:
            self._bind(target, path)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit(node.annotation)
        if node.value is not None:
            self.visit(node.value)
            self._bind(node.target, self._resolve(node.value))

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        self._bind(node.target)
        for statement in (*node.body, *node.orelse):
            self.visit(statement)

    def visit_withitem(self, node: ast.withitem) -> None:
        self.visit(node.context_expr)
        if node.optional_vars is not None:
            self._bind(node.optional_vars)

    def _visit_function(self, node: Any) -> None:
        arguments = node.args
        for part in (*getattr(node, "decorator_list", ()), *arguments.defaults, *arguments.kw_defaults):
            if part is not None:
                self.visit(part)
        if hasattr(node, "name"):
            self._scopes[-1][node.name] = None
        named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        for argument in named:
            if argument is not None and argument.annotation is not None:
                self.visit(argument.annotation)
        self._scopes.append({argument.arg: None for argument in named if argument is not None})
        for part in node.body if isinstance(node.body, list) else [node.body]:
            self.visit(part)
        self._scopes.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._visit_function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._visit_function(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._visit_function(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for part in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(part)
        self._scopes[-1][node.name] = None
        self._scopes.append({})
        for statement in node.body:
            self.visit(statement)
        self._scopes.pop()
