"""Command-line flags as TensorFlow 1 programs use them: absl's, read from the command line when first needed."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from absl import app, flags

flags.disclaim_key_flags()  # what is defined through this module belongs to the module that calls

_OLD_NAMES = {"flag_name": "name", "default_value": "default", "docstring": "help"}


class _Flags:
    """Is absl's FLAGS, except that reading a flag parses the command line if nobody has."""

    def __init__(self, values: flags.FlagValues) -> None:
        self.__dict__["_values"] = values

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__["_values"]
        if not name.startswith("_") and not values.is_parsed() and name in values:
            values(sys.argv)
        return getattr(values, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._values, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._values, name)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __setitem__(self, name: str, flag: Any) -> None:
        self._values[name] = flag

    def __call__(self, *args: Any, **kwargs: Any) -> list[str]:
        """Parses a command line and returns what is no flag."""
        return self._values(*args, **kwargs)  # type: ignore[no-any-return]

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def __iter__(self) -> Any:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __dir__(self) -> list[str]:
        return dir(self._values)


FLAGS = _Flags(flags.FLAGS)


def with_old_names(define: Callable[..., Any]) -> Callable[..., Any]:
    """Lets a DEFINE function take the parameter names of early TensorFlow too."""

    @functools.wraps(define)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return define(*args, **{_OLD_NAMES.get(key, key): value for key, value in kwargs.items()})

    return wrapper


def run(main: Callable[[list[str]], Any] | None = None, argv: list[str] | None = None) -> NoReturn:
    """Reads the flags, calls main with the rest of the command line, and ends the program with what it returns."""
    main = main if main is not None else sys.modules["__main__"].main
    app.run(main, argv=argv, flags_parser=lambda args: flags.FLAGS(args, known_only=True))
    raise SystemExit  # absl has left before
