"""tf.flags: command-line flags, forwarded to absl."""

from absl import flags as _absl
from absl.flags import (
    ArgumentParser,
    ArgumentSerializer,
    BaseListParser,
    BooleanFlag,
    BooleanParser,
    CantOpenFlagFileError,
    CsvListSerializer,
    DuplicateFlagError,
    EnumClassFlag,
    EnumClassListSerializer,
    EnumClassParser,
    EnumClassSerializer,
    EnumFlag,
    EnumParser,
    Error,
    Flag,
    FlagHolder,
    FlagNameConflictsWithMethodError,
    FlagValues,
    FloatParser,
    IllegalFlagValueError,
    IntegerParser,
    ListParser,
    ListSerializer,
    MultiEnumClassFlag,
    MultiFlag,
    UnparsedFlagAccessError,
    UnrecognizedFlagError,
    ValidationError,
    WhitespaceSeparatedListParser,
    adopt_module_key_flags,
    declare_key_flag,
    disclaim_key_flags,
    doc_to_help,
    flag_dict_to_args,
    get_help_width,
    mark_bool_flags_as_mutual_exclusive,
    mark_flag_as_required,
    mark_flags_as_mutual_exclusive,
    mark_flags_as_required,
    multi_flags_validator,
    override_value,
    register_multi_flags_validator,
    register_validator,
    set_default,
    text_wrap,
    validator,
)

from thalweg._src.compat.flags import FLAGS, with_old_names as _with_old_names

_absl.disclaim_key_flags()

DEFINE = _with_old_names(_absl.DEFINE)
DEFINE_alias = _with_old_names(_absl.DEFINE_alias)
DEFINE_bool = _with_old_names(_absl.DEFINE_bool)
DEFINE_boolean = _with_old_names(_absl.DEFINE_boolean)
DEFINE_enum = _with_old_names(_absl.DEFINE_enum)
DEFINE_enum_class = _with_old_names(_absl.DEFINE_enum_class)
DEFINE_flag = _with_old_names(_absl.DEFINE_flag)
DEFINE_float = _with_old_names(_absl.DEFINE_float)
DEFINE_integer = _with_old_names(_absl.DEFINE_integer)
DEFINE_list = _with_old_names(_absl.DEFINE_list)
DEFINE_multi = _with_old_names(_absl.DEFINE_multi)
DEFINE_multi_enum = _with_old_names(_absl.DEFINE_multi_enum)
DEFINE_multi_enum_class = _with_old_names(_absl.DEFINE_multi_enum_class)
DEFINE_multi_float = _with_old_names(_absl.DEFINE_multi_float)
DEFINE_multi_integer = _with_old_names(_absl.DEFINE_multi_integer)
DEFINE_multi_string = _with_old_names(_absl.DEFINE_multi_string)
DEFINE_spaceseplist = _with_old_names(_absl.DEFINE_spaceseplist)
DEFINE_string = _with_old_names(_absl.DEFINE_string)

__all__ = [
    "ArgumentParser",
    "ArgumentSerializer",
    "BaseListParser",
    "BooleanFlag",
    "BooleanParser",
    "CantOpenFlagFileError",
    "CsvListSerializer",
    "DEFINE",
    "DEFINE_alias",
    "DEFINE_bool",
    "DEFINE_boolean",
    "DEFINE_enum",
    "DEFINE_enum_class",
    "DEFINE_flag",
    "DEFINE_float",
    "DEFINE_integer",
    "DEFINE_list",
    "DEFINE_multi",
    "DEFINE_multi_enum",
    "DEFINE_multi_enum_class",
    "DEFINE_multi_float",
    "DEFINE_multi_integer",
    "DEFINE_multi_string",
    "DEFINE_spaceseplist",
    "DEFINE_string",
    "DuplicateFlagError",
    "EnumClassFlag",
    "EnumClassListSerializer",
    "EnumClassParser",
    "EnumClassSerializer",
    "EnumFlag",
    "EnumParser",
    "Error",
    "FLAGS",
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
]
