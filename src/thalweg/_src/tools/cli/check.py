"""`thalweg check`: static analysis of the names that a program uses, to find those that Thalweg lacks or that need
`--legacy`."""

from __future__ import annotations

import ast
import json
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thalweg._src.compat.legacy import MODULES, REMOVED, is_removed
from thalweg._src.tools.cli.names import PublicNames

PACKAGES = ("tensorflow", "tensorflow_core", "thalweg")
_OTHERS = {module.split(".")[0] for module in (*REMOVED, *MODULES, "yaml")}  # packages with removed names
_METHODS = {  # methods that the names alone identify, since the class of an object is not known
    name.rpartition(".")[2]: f"{module}.{name}"
    for module, names in REMOVED.items()
    for name in names
    if "." in name and not name.endswith((".getsize", ".newbyteorder", ".pad", ".ptp"))
}
# The words of Python's parser about the syntax of Python 2, and tokens that only Python 2 has.
_PYTHON_2_ERRORS = re.compile(
    r"Missing parentheses in call|multiple exception types|leading zeros|TabError|inconsistent"
)
_PYTHON_2_LINES = re.compile(r"^\s*raise\s+\w+\s*,|<>|`|\bur[\"']|\b\d+[lL]\b|^\s*print\b|^\s*exec\s|\bexcept\b.*,")
_MAGIC = re.compile(r"^(\s*)[%!?].*$", re.MULTILINE)  # syntax of notebooks that is not Python

NamePath = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a missing name, or of one that is restored with `--legacy`."""

    file: str
    line: int
    column: int
    name: str
    nearest: str | None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a file could not be checked; `python_2` says that its syntax is that of Python 2."""

    file: str
    line: int
    message: str
    python_2: bool = False


@dataclass(slots=True)
class Report:
    """The result for all files: how many names they use, and the uses of missing names and of removed ones."""

    files: int = 0
    names: int = 0
    missing: list[Use] = field(default_factory=list)
    legacy: list[Use] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)


def check_files(paths: Iterable[Path]) -> Report:
    """Checks files, and all programs and notebooks in folders."""
    report = Report()
    public_names = PublicNames()
    used: set[str] = set()
    for path in _programs(paths):
        report.files += 1
        try:
            for label, line, column, name in uses(path):
                if name[0] != "tf":
                    report.legacy.append(Use(label, line, column, ".".join(name), None))
                    continue
                used.add(".".join(name))
                if not public_names.has(name[1:]):
                    near = public_names.nearest(name[1:])
                    nearest = None if near is None else ".".join(("tf", *near))
                    report.missing.append(Use(label, line, column, ".".join(name), nearest))
        except SyntaxError as error:
            is_old = _is_python_2(error)
            words = "SyntaxError, as this is Python 2" if is_old else "SyntaxError"
            report.failures.append(Failure(str(path), error.lineno or 0, f"{words}: {error.msg}", is_old))
        except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
            text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            report.failures.append(Failure(str(path), 0, f"{type(error).__name__}: {text}"))
    report.names = len(used)
    return report


def _is_python_2(error: SyntaxError) -> bool:
    return bool(
        _PYTHON_2_ERRORS.search(f"{type(error).__name__} {error.msg}") or _PYTHON_2_LINES.search(error.text or "")
    )


def _programs(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for file in sorted(path.rglob("*")):
            inside = file.relative_to(path).parts
            if file.suffix in (".py", ".ipynb") and not any(component.startswith(".") for component in inside):
                yield file


def _sources(path: Path) -> list[tuple[str, str]]:
    """Returns the source texts of a file with the name to print for each: one, or one per cell of a notebook."""
    if path.suffix != ".ipynb":
        with tokenize.open(path) as file:
            return [(str(path), file.read())]
    cells = json.loads(path.read_text(encoding="utf-8")).get("cells", [])
    texts = [(i, "".join(cell["source"])) for i, cell in enumerate(cells, 1) if cell.get("cell_type") == "code"]
    return [(f"{path}[{i}]", _MAGIC.sub(r"\1pass", text)) for i, text in texts if not text.lstrip().startswith("%%")]


def uses(path: Path) -> Iterator[tuple[str, int, int, NamePath]]:
    """Yields (file, line, column, name) for each name of TensorFlow, as `tf` and its path, and each removed name."""
    visitor = _Visitor()
    for label, source in _sources(path):  # a cell of a notebook sees the imports of earlier cells
        visitor.uses.clear()
        visitor.visit(ast.parse(source, label))
        yield from ((label, *use) for use in sorted(visitor.uses))


def _dotted(node: ast.AST) -> tuple[str, ...] | None:
    """Returns the components of `a.b.c`; None for any other expression."""
    components: list[str] = []
    while isinstance(node, ast.Attribute):
        components.append(node.attr)
        node = node.value
    return (node.id, *reversed(components)) if isinstance(node, ast.Name) else None


def _absolute(name: str) -> NamePath | None:
    """Returns the path of a module: after `tf` for one of TensorFlow, None for a package of no interest."""
    package, *path = name.split(".")
    if package in PACKAGES:
        return _plain(("tf", *path))
    return (package, *path) if package in _OTHERS else None


def _plain(path: NamePath) -> NamePath:
    """Returns a path without `compat.v1`, which is an alias of the package."""
    return _plain(("tf", *path[3:])) if path[:3] == ("tf", "compat", "v1") else path


def _has_changed(name: str, call: ast.Call) -> bool:
    """Returns whether a call relies on what a function no longer does."""
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    if None in keywords:  # **kwargs
        return False
    if name == "yaml.load":
        return len(call.args) == 1 and "Loader" not in keywords
    if name == "numpy.fromstring":
        return len(call.args) < 4 and "sep" not in keywords
    copy = keywords.get("copy")
    return name == "numpy.array" and isinstance(copy, ast.Constant) and copy.value is False


class _Visitor(ast.NodeVisitor):
    """Tracks the names bound to objects of TensorFlow and other packages, through imports, assignments and scopes."""

    def __init__(self) -> None:
        self.uses: set[tuple[int, int, NamePath]] = set()
        self._scopes: list[dict[str, NamePath | None]] = [{}]

    def _resolve(self, node: ast.AST) -> NamePath | None:
        components = _dotted(node)
        if components is None:
            return None
        for scope in reversed(self._scopes):
            if components[0] in scope:
                base = scope[components[0]]
                return None if base is None else _plain((*base, *components[1:]))
        return None

    def _report(self, node: Any, path: NamePath) -> None:
        if path != ("tf",) and (path[0] == "tf" or is_removed(".".join(path))):
            self.uses.add((node.lineno, node.col_offset + 1, path))

    # -- names ---------------------------------------------------------------------------------------------------------

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            path = _absolute(alias.name)
            if path is not None:
                self._report(node, path)
            bound = path if alias.asname or path is None else path[:1]
            self._scopes[-1][alias.asname or alias.name.split(".")[0]] = bound

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = None if node.level else _absolute(node.module or "")
        for alias in node.names:
            path = None if module is None else _plain((*module, alias.name))
            if alias.name != "*" and path is not None:
                self._report(node, path)
            self._scopes[-1][alias.asname or alias.name] = path

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = self._resolve(node)
        if path is not None:
            self._report(node, path)
            return
        self.generic_visit(node)
        if node.attr in _METHODS:
            self._report(node, tuple(_METHODS[node.attr].split(".")))

    def visit_Call(self, node: ast.Call) -> None:
        path = self._resolve(node.func)
        if path is not None and _has_changed(".".join(path), node):
            self.uses.add((node.lineno, node.col_offset + 1, path))
        self.generic_visit(node)

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
        for expression in (*getattr(node, "decorator_list", ()), *arguments.defaults, *arguments.kw_defaults):
            if expression is not None:
                self.visit(expression)
        if hasattr(node, "name"):
            self._scopes[-1][node.name] = None
        named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        for argument in named:
            if argument is not None and argument.annotation is not None:
                self.visit(argument.annotation)
        self._scopes.append({argument.arg: None for argument in named if argument is not None})
        for statement in node.body if isinstance(node.body, list) else [node.body]:
            self.visit(statement)
        self._scopes.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._visit_function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._visit_function(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._visit_function(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for expression in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(expression)
        self._scopes[-1][node.name] = None
        self._scopes.append({})
        for statement in node.body:
            self.visit(statement)
        self._scopes.pop()
