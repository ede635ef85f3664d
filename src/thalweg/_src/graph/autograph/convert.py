"""Conversion of functions, cached by their code objects, and the calls of functions in converted code."""

from __future__ import annotations
import __future__

import ast
import functools
import inspect
import itertools
import operator
import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType, MethodType, SimpleNamespace
from typing import Any

from thalweg._src.graph.autograph import conditionals, effects, failures, logic, loops, source, values
from thalweg._src.graph.autograph.builtin_functions import overload_of, set_item, update_item
from thalweg._src.graph.autograph.syntax import Node, gast, kind
from thalweg._src.graph.autograph.transform import transform

MARK = "_autograph_do_not_convert"
# Packages that are written for graphs, or know nothing of them; as is the standard library.
_LIBRARIES = frozenset(
    ("thalweg", "tensorflow", "tensorflow_datasets", "tensorflow_probability", "numpy", "torch", "scipy", "pandas")
    + ("matplotlib", "sklearn", "PIL", "absl", "google", "six", "attr", "attrs", "wrapt", "tqdm", "ipdb", "mock")
    + ("pytest", "_pytest", "pluggy", "hypothesis", "psutil", "pkg_resources", "nose", "urllib3", "IPython", "gast")
)
_STANDARD_LIBRARY = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})
_SITE_PACKAGES = tuple({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})

_FUTURE = functools.reduce(
    operator.or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)

_codes: dict[tuple[str, CodeType], CodeType] = {}  # the converted code of functions, by file and code
_generated: set[CodeType] = set()  # code that is converted
_warned: set[tuple[str, CodeType]] = set()
settings = SimpleNamespace(verbosity=0, to_stdout=False)


def convert(function: Any, recursive: bool = True) -> Any:
    """Returns a function in which Python's control flow on tensors is control flow of the graph.

    What cannot be converted is returned as it is, with a warning.
    """
    try:
        return converted(function, recursive)
    except failures.ConversionError as error:
        _warn(function, error)
        return function


def converted(function: Any, recursive: bool = True) -> Any:
    """Returns the converted form of a function, a method or an object that can be called; raises ConversionError."""
    if isinstance(function, functools.partial):
        return functools.partial(converted(function.func, recursive), *function.args, **function.keywords)
    if isinstance(function, MethodType):
        inner = function.__func__
        return MethodType(converted(inner, recursive), function.__self__) if _is_convertible(inner) else function
    if isinstance(function, FunctionType):
        return _function(function, recursive) if _is_convertible(function) else function
    method = None if isinstance(function, type) else inspect.getattr_static(type(function), "__call__")
    return converted(MethodType(method, function), recursive) if isinstance(method, FunctionType) else function


def _is_convertible(function: object) -> bool:
    """Returns whether a function is the user's own and not converted."""
    if not isinstance(function, FunctionType) or hasattr(function, MARK):
        return False
    code = function.__code__
    if code in _generated or code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return False
    # A decorator's function may pass for one of the user's module, but has the globals of its own.
    if function.__globals__.get("__name__", "").partition(".")[0] in _LIBRARIES:
        return False
    return not (code.co_filename.startswith(_STANDARD_LIBRARY) and not code.co_filename.startswith(_SITE_PACKAGES))


def _function(function: FunctionType, recursive: bool) -> FunctionType:
    """Returns a function that shares globals, closure and defaults with the original."""
    original = function.__code__
    key = original.co_filename, original
    code = _codes.get(key)
    if code is None:
        code = _codes[key] = _compiled(function)
    cells = dict(zip(original.co_freevars, function.__closure__ or ()))
    cells["ag__"] = CellType(_OPERATORS[recursive])
    closure = tuple(cells[name] for name in code.co_freevars)
    result = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    result.__kwdefaults__ = function.__kwdefaults__
    if sys.version_info >= (3, 14):  # annotations are evaluated on access, which may fail
        result.__annotate__ = function.__annotate__
    else:
        result.__annotations__ = function.__annotations__
    result.__doc__ = function.__doc__
    result.__module__, result.__qualname__ = function.__module__, function.__qualname__
    result.__dict__.update(function.__dict__)
    return result


def transformed(function: FunctionType) -> Node:
    """Returns the syntax tree of the converted form of a function."""
    return transform(source.definition(function), function.__code__.co_filename)


def _compiled(function: FunctionType) -> CodeType:
    """Returns the code of the converted form of a function, with the file and the lines of the original."""
    code = function.__code__
    node = transformed(function)
    if settings.verbosity > 0:
        _log(f"Converted {function.__qualname__} of {code.co_filename}:{code.co_firstlineno}")
    if kind(node) == "Lambda":
        node = gast.Expr(node)
    else:
        node.decorator_list = []
    class_name = _class_of(code.co_qualname)
    text = f"def ag__factory({', '.join(['ag__', *code.co_freevars])}):\n    pass"
    if class_name is not None:  # which gives names with two underscores, and `__class__`, their meaning
        parameters = [name for name in code.co_freevars if name != "__class__"]
        text = f"def ag__factory({', '.join(['ag__', *parameters])}):\n    class {class_name}:\n        pass"
    module = gast.parse(text)
    around = module.body[0] if class_name is None else module.body[0].body[0]
    if class_name is not None and class_name not in code.co_freevars:  # a method refers to its class by a global name
        module.body[0].body.insert(0, gast.Global([class_name]))
    around.body = [node]
    if class_name is None and kind(node) == "FunctionDef" and node.name not in code.co_freevars:
        around.body.insert(0, gast.Global([node.name]))  # a function that refers to itself does so by its global name
    tree = gast.gast_to_ast(module)
    ast.fix_missing_locations(tree)
    if settings.verbosity >= 10:
        _log(ast.unparse(tree))
    flags = code.co_flags & _FUTURE
    compiled = compile(tree, code.co_filename, "exec", flags=flags, dont_inherit=True)
    result = _named(next(inner for inner in _nested(compiled) if inner.co_name == code.co_name), code.co_name)
    _generated.add(result)
    _generated.update(_nested(result))
    return result


def _class_of(qualname: str) -> str | None:
    """Returns the name of the innermost class around a function."""
    names = qualname.split(".")
    around = [name for name, inner in itertools.pairwise(names) if name != "<locals>" and inner != "<locals>"]
    return around[-1] if around else None


def _nested(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _nested(constant)


def _named(code: CodeType, owner: str) -> CodeType:
    """Returns code in which the functions of blocks have the name of the user's function, for tracebacks."""
    constants = []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            is_block = constant.co_name.startswith("ag__")
            constant = _named(constant, owner if is_block else constant.co_name)
        constants.append(constant)
    return code.replace(co_name=owner, co_consts=tuple(constants))


# -- calls ------------------------------------------------------------------------------------------------------------


def converted_call(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Calls a function from converted code, in its converted form if it is the user's own."""
    return _callee(function, True, args)(*args, **kwargs)


def _plain_call(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    return _callee(function, False, args)(*args, **kwargs)


def _callee(function: object, recursive: bool, args: tuple[Any, ...]) -> Any:
    try:
        overload = overload_of(function, args)
    except TypeError:  # an object without a hash
        overload = None
    if overload is not None:
        return overload
    return convert(function) if recursive else function


def _warn(function: Any, error: Exception) -> None:
    code = getattr(inspect.unwrap(function), "__code__", None)
    key = getattr(code, "co_filename", ""), code
    if key not in _warned:
        _warned.add(key)  # type: ignore[arg-type]
        warnings.warn(
            f"AutoGraph could not transform {getattr(function, '__qualname__', function)!r} and will run it as-is: "
            f"{error}\nTo silence this warning, decorate the function with @tf.autograph.experimental.do_not_convert",
            stacklevel=2,
        )


def _log(text: str) -> None:
    print(text, file=sys.stdout if settings.to_stdout else sys.stderr)


def _operators(call: Callable[..., Any]) -> SimpleNamespace:
    return SimpleNamespace(
        UNDEFINED=values.UNDEFINED,
        ld=values.ld,
        if_stmt=conditionals.if_stmt,
        if_exp=conditionals.if_exp,
        while_stmt=loops.while_stmt,
        for_stmt=loops.for_stmt,
        loop_options=loops.loop_options,
        and_=logic.and_,
        or_=logic.or_,
        not_=logic.not_,
        eq=logic.eq,
        ne=logic.ne,
        compare=logic.compare,
        assert_stmt=logic.assert_stmt,
        effect=effects.effect,
        function_scope=effects.function_scope,
        set_item=set_item,
        update_item=update_item,
        converted_call=call,
    )


_OPERATORS = {True: _operators(converted_call), False: _operators(_plain_call)}
