"""`thalweg run`: runs a program for TensorFlow unchanged, as `python` would, with Thalweg imported as tensorflow."""

from __future__ import annotations

import code
import os
import runpy
import sys
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType, TracebackType

import click

from thalweg._src.base.errors import FailedPreconditionError
from thalweg._src.compat.as_tensorflow import install_as_tensorflow
from thalweg._src.compat.legacy import hint

_CHILDREN = str(Path(__file__).parent / "children")
_RUNNER_FILES = (__file__, runpy.__file__, "<frozen runpy>")  # the frames above those of a program


@dataclass(frozen=True, slots=True)
class Program:
    """What to run: a script, a folder or archive with a `__main__.py`, a module, code, or standard input.

    kind: "-m" for a module, "-c" for code, "-" for standard input, "" for a path
    what: the name of the module, the code, or the path
    arguments: the command line that the program sees
    options: which options of `install_as_tensorflow` are on
    """

    kind: str
    what: str
    arguments: tuple[str, ...]
    options: tuple[str, ...]


def parse(arguments: tuple[str, ...], options: tuple[str, ...]) -> Program:
    """Returns the program of a command line, whose form is that of `python`."""
    first, *rest = arguments or ("-",)
    if first in ("-m", "-c"):
        if not rest:
            raise click.UsageError(f"{first} needs {'a module' if first == '-m' else 'code'}")
        return Program(first, rest[0], tuple(rest[1:]), options)
    if first.startswith("-") and first != "-":
        raise click.UsageError(f"No such option: {first}")
    return Program("-" if first == "-" else "", first, tuple(rest), options)


def run(program: Program) -> None:
    """Runs a program as the main module of this process; its exceptions leave this function as they would leave it."""
    try:
        install_as_tensorflow(**dict.fromkeys(program.options, True))
    except FailedPreconditionError as error:
        sys.exit(f"thalweg: {error}")
    os.environ["THALWEG_RUN"] = " ".join(program.options)
    paths = filter(None, [_CHILDREN, os.environ.get("PYTHONPATH")])
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    sys.argv = [program.kind or program.what, *program.arguments]
    main = sys.modules["__main__"] = ModuleType("__main__")
    try:
        _execute(program, main)
    except SystemExit:
        raise
    except BaseException as error:
        error.__traceback__ = _without_own_frames(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        advice = _advice(error, program)
        if advice:
            print(f"hint: {advice}", file=sys.stderr)
        sys.excepthook = lambda *_: None  # the interpreter sets the exit status, or ends by SIGINT
        raise


def _execute(program: Program, main: ModuleType) -> None:
    if program.kind == "-m":
        _search(os.getcwd())
        runpy._run_module_as_main(program.what)  # type: ignore[attr-defined]
    elif program.kind == "-c":
        _search("")
        exec(compile(program.what, "<string>", "exec", dont_inherit=True), vars(main))
    elif program.kind == "-" and sys.stdin.isatty():
        _search("")
        code.interact(local=vars(main))
    elif program.kind == "-":
        _search("")
        exec(compile(sys.stdin.read(), "<stdin>", "exec", dont_inherit=True), vars(main))
    elif os.path.isdir(program.what) or program.what.endswith((".zip", ".pyz")):
        _search(program.what)
        runpy._run_module_as_main("__main__", False)  # type: ignore[attr-defined]
    else:
        path = os.path.abspath(program.what)
        compiled = _compiled(path)
        _search(os.path.dirname(os.path.realpath(path)))
        main.__file__ = path
        main.__loader__ = SourceFileLoader("__main__", path)
        vars(main)["__cached__"] = None
        exec(compiled, vars(main))


def _compiled(path: str) -> CodeType:
    try:
        source = Path(path).read_bytes()
    except OSError as error:
        print(f"thalweg: can't open file {path!r}: [Errno {error.errno}] {error.strerror}", file=sys.stderr)
        raise SystemExit(2) from None
    return compile(source, path, "exec", dont_inherit=True)


def _search(folder: str) -> None:
    """Makes a folder the first that imports are looked for in, in place of that of the command."""
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _without_own_frames(traceback: TracebackType | None) -> TracebackType | None:
    while traceback is not None and traceback.tb_frame.f_code.co_filename in _RUNNER_FILES:
        traceback = traceback.tb_next
    return traceback


def _advice(error: BaseException, program: Program) -> str | None:
    """Returns what to try after an error that ends a program."""
    owner = getattr(error, "obj", None) if isinstance(error, AttributeError) else None
    place = owner.__name__ if isinstance(owner, ModuleType) else getattr(error, "name", None)
    if isinstance(error, AttributeError | ImportError) and str(place).partition(".")[0] == "thalweg":
        return f"`thalweg check {program.what or '.'}` lists the names of TensorFlow that Thalweg lacks"
    return hint(error)
