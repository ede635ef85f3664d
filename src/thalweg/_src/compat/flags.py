"""tf.flags: command-line flags of absl, parsed when a flag is first read."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from absl import app, flags

from thalweg._src.base.export import export, export_from

flags.disclaim_key_flags()  # flags defined through this module belong to the calling module

_OLD_NAMES = {"flag_name": "name", "default_value": "default", "docstring": "help"}


class _Flags:
    """absl's FLAGS, except that reading a flag parses the command line if that has not been done."""

    def __init__(self, values: flags.FlagValues) -> None:
        self.__dict__["_values"] = values

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__["_values"]
        if not name.startswith("_") and not values.is_parsed() and name in values:
            values(sys.argv)
        return getattr(values, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._values, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._values, name)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __setitem__(self, name: str, flag: object) -> None:
        self._values[name] = flag

    def __call__(self, *args: Any, **kwargs: Any) -> list[str]:
        """Parses a command line and returns the arguments that are not flags."""
        return self._values(*args, **kwargs)  # type: ignore[no-any-return]

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def __iter__(self) -> Any:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __dir__(self) -> list[str]:
        return dir(self._values)


FLAGS = export("flags.FLAGS")(_Flags(flags.FLAGS))


def _with_old_names(define: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a DEFINE function accept the parameter names of early TensorFlow too."""

    @functools.wraps(define)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return define(*args, **{_OLD_NAMES.get(key, key): value for key, value in kwargs.items()})

    return wrapper


@export("app.run", "contrib.eager.run")
def run(main: Callable[[list[str]], Any] | None = None, argv: list[str] | None = None) -> NoReturn:
    """Parses the flags, calls main with the remaining arguments, and exits with its result.

    Args:
        main: Function called with the arguments left; by default `main` of the main module.
    """
    main = main if main is not None else sys.modules["__main__"].main
    app.run(main, argv=argv, flags_parser=lambda args: flags.FLAGS(args, known_only=True))
    raise SystemExit  # absl has already exited


DEFINE = export("flags.DEFINE")(_with_old_names(flags.DEFINE))
DEFINE_alias = export("flags.DEFINE_alias")(_with_old_names(flags.DEFINE_alias))
DEFINE_bool = export("flags.DEFINE_bool")(_with_old_names(flags.DEFINE_bool))
DEFINE_boolean = export("flags.DEFINE_boolean")(_with_old_names(flags.DEFINE_boolean))
DEFINE_enum = export("flags.DEFINE_enum")(_with_old_names(flags.DEFINE_enum))
DEFINE_enum_class = export("flags.DEFINE_enum_class")(_with_old_names(flags.DEFINE_enum_class))
DEFINE_flag = export("flags.DEFINE_flag")(_with_old_names(flags.DEFINE_flag))
DEFINE_float = export("flags.DEFINE_float")(_with_old_names(flags.DEFINE_float))
DEFINE_integer = export("flags.DEFINE_integer")(_with_old_names(flags.DEFINE_integer))
DEFINE_list = export("flags.DEFINE_list")(_with_old_names(flags.DEFINE_list))
DEFINE_multi = export("flags.DEFINE_multi")(_with_old_names(flags.DEFINE_multi))
DEFINE_multi_enum = export("flags.DEFINE_multi_enum")(_with_old_names(flags.DEFINE_multi_enum))
DEFINE_multi_enum_class = export("flags.DEFINE_multi_enum_class")(_with_old_names(flags.DEFINE_multi_enum_class))
DEFINE_multi_float = export("flags.DEFINE_multi_float")(_with_old_names(flags.DEFINE_multi_float))
DEFINE_multi_integer = export("flags.DEFINE_multi_integer")(_with_old_names(flags.DEFINE_multi_integer))
DEFINE_multi_string = export("flags.DEFINE_multi_string")(_with_old_names(flags.DEFINE_multi_string))
DEFINE_spaceseplist = export("flags.DEFINE_spaceseplist")(_with_old_names(flags.DEFINE_spaceseplist))
DEFINE_string = export("flags.DEFINE_string")(_with_old_names(flags.DEFINE_string))

export_from(
    "absl.flags",
    "flags",
    "ArgumentParser",
    "ArgumentSerializer",
    "BaseListParser",
    "BooleanFlag",
    "BooleanParser",
    "CantOpenFlagFileError",
    "CsvListSerializer",
    "DuplicateFlagError",
    "EnumClassFlag",
    "EnumClassListSerializer",
    "EnumClassParser",
    "EnumClassSerializer",
    "EnumFlag",
    "EnumParser",
    "Error",
    "Flag",
    "FlagHolder",
    "FlagNameConflictsWithMethodError",
    "FlagValues",
    "FloatParser",
    "IllegalFlagValueError",
    "IntegerParser",
    "ListParser",
    "ListSerializer",
    "MultiEnumClassFlag",
    "MultiFlag",
    "UnparsedFlagAccessError",
    "UnrecognizedFlagError",
    "ValidationError",
    "WhitespaceSeparatedListParser",
    "adopt_module_key_flags",
    "declare_key_flag",
    "disclaim_key_flags",
    "doc_to_help",
    "flag_dict_to_args",
    "get_help_width",
    "mark_bool_flags_as_mutual_exclusive",
    "mark_flag_as_required",
    "mark_flags_as_mutual_exclusive",
    "mark_flags_as_required",
    "multi_flags_validator",
    "override_value",
    "register_multi_flags_validator",
    "register_validator",
    "set_default",
    "text_wrap",
    "validator",
)
