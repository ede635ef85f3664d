"""Exceptions of graph construction and execution, and the formatting of their messages."""

from __future__ import annotations

from typing import Any, ClassVar

from thalweg._src.base.export import export, export_all_constants

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16

export_all_constants("errors")


@export("OpError", "errors.OpError")
class OpError(Exception):
    """The base class of errors that an operation raises while a step runs.

    Args:
        node_def: The NodeDef of the operation that failed, or None.
        message: Text of the error.
    """

    def __init__(self, node_def: Any, op: Any, message: str, error_code: int) -> None:
        super().__init__(node_def, op, message, error_code)
        self.node_def = node_def
        self.op = op
        self.message = message
        self.error_code = error_code

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        # The operation is not pickled: it refers to its whole graph, which other processes do not have.
        return type(self), (self.node_def, None, self.message, self.error_code), self._additions()

    def _additions(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "op"}


class _CodedError(OpError):
    """Fixes the error code, so that subclasses are constructed from node, operation and message alone.

    Args:
        node_def: The NodeDef of the operation that failed, or None.
        message: Text of the error.
    """

    code: ClassVar[int]

    def __init_subclass__(cls, code: int | None = None) -> None:
        if code is not None:
            cls.code = code

    def __init__(self, node_def: Any, op: Any, message: str) -> None:
        super().__init__(node_def, op, message, self.code)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.node_def, None, self.message), self._additions()


@export("errors.CancelledError")
class CancelledError(_CodedError, code=CANCELLED):
    """The step or operation was cancelled."""


@export("errors.UnknownError")
class UnknownError(_CodedError, code=UNKNOWN):
    """An error without a more specific class."""


@export("errors.InvalidArgumentError")
class InvalidArgumentError(_CodedError, code=INVALID_ARGUMENT):
    """An operation received an invalid argument."""


def invalid(message: str) -> InvalidArgumentError:
    """Returns the error of an invalid argument, without the node; the executor adds that of a kernel."""
    return InvalidArgumentError(None, None, message)


def wrong_kind(argument: str, expected: str, received: object) -> TypeError:
    """Returns the error of an argument whose value is of a kind that its function does not take."""
    kind = "the class" if isinstance(received, type) else f"the {type(received).__name__}"
    return TypeError(f"{argument}: expected {expected}, received {kind} {received!r}")


def require_kind(argument: str, value: object, kinds: type | tuple[type, ...], expected: str) -> None:
    """Raises TypeError unless an argument is of one of some classes."""
    if not isinstance(value, kinds):
        raise wrong_kind(argument, expected, value)


def require_text(argument: str, value: object) -> None:
    """Raises TypeError unless an argument is a string."""
    if not isinstance(value, str):
        raise wrong_kind(argument, "a string", value)


def require_members(argument: str, value: object, expected: str, *members: str) -> None:
    """Raises TypeError unless an argument, whose class may be of another package, has some attributes or methods."""
    if isinstance(value, type) or not all(hasattr(value, member) for member in members):
        raise wrong_kind(argument, expected, value)


@export("errors.DeadlineExceededError")
class DeadlineExceededError(_CodedError, code=DEADLINE_EXCEEDED):
    """The time limit was exceeded."""


@export("errors.NotFoundError")
class NotFoundError(_CodedError, code=NOT_FOUND):
    """A file, node, device or resource does not exist."""


@export("errors.AlreadyExistsError")
class AlreadyExistsError(_CodedError, code=ALREADY_EXISTS):
    """The entity to create exists already."""


@export("errors.PermissionDeniedError")
class PermissionDeniedError(_CodedError, code=PERMISSION_DENIED):
    """The caller has no permission for the operation."""


@export("errors.ResourceExhaustedError")
class ResourceExhaustedError(_CodedError, code=RESOURCE_EXHAUSTED):
    """Memory, disk space or a quota is exhausted."""


@export("errors.FailedPreconditionError")
class FailedPreconditionError(_CodedError, code=FAILED_PRECONDITION):
    """The system is not in the required state, for instance a variable is not initialized."""


@export("errors.AbortedError")
class AbortedError(_CodedError, code=ABORTED):
    """The operation was aborted, usually because of a conflict with a concurrent one."""


@export("errors.OutOfRangeError")
class OutOfRangeError(_CodedError, code=OUT_OF_RANGE):
    """The input has ended, or an index is out of range."""


@export("errors.UnimplementedError")
class UnimplementedError(_CodedError, code=UNIMPLEMENTED):
    """The operation has no implementation for these arguments."""


@export("errors.InternalError")
class InternalError(_CodedError, code=INTERNAL):
    """An invariant of the system does not hold."""


@export("errors.UnavailableError")
class UnavailableError(_CodedError, code=UNAVAILABLE):
    """A task cannot be reached at the moment."""


@export("errors.DataLossError")
class DataLossError(_CodedError, code=DATA_LOSS):
    """Stored data is corrupt or incomplete."""


@export("errors.UnauthenticatedError")
class UnauthenticatedError(_CodedError, code=UNAUTHENTICATED):
    """The caller has no valid credentials."""


@export("errors.ShapeError")
class ShapeError(ValueError):
    """Raised when shapes are incompatible, before the node they belong to is known.

    Args:
        what: What is wrong.
        expected: What was expected.
        hint: What to do.
        in_step: What is wrong, in the words of a step; `{0}` stands for the shape of the first input.
    """

    def __init__(
        self, what: str, expected: str | None = None, hint: str | None = None, in_step: str | None = None
    ) -> None:
        super().__init__(what, expected, hint, in_step)
        self.what = what
        self.expected = expected
        self.hint = hint
        self.in_step = in_step  # the sentence in a step, if it differs; {0} stands for the shape of the first input

    def __str__(self) -> str:
        return describe(self.what, expected=self.expected, hint=self.hint)


class MissingPackageError(ImportError):
    """A feature needs a package that is not installed; the message says how to install it."""

    def __init__(self, feature: str, package: str, install: str) -> None:
        super().__init__(f"{feature} needs the package {package}: pip install {install}", name=package)


_TYPES = {cls.code: cls for cls in _CodedError.__subclasses__()}


@export("errors.exception_type_from_error_code")
def exception_type_from_error_code(error_code: int) -> type[_CodedError]:
    """Returns the exception class of a code."""
    return _TYPES[error_code]


@export("errors.error_code_from_exception_type")
def error_code_from_exception_type(cls: type[OpError]) -> int:
    """Returns the code of an exception class, UNKNOWN if it has none.

    Args:
        cls: The exception class.
    """
    return cls.code if issubclass(cls, _CodedError) else UNKNOWN


@export("errors.Status")
class Status:
    """A status code and message, OK by default."""

    def __init__(self) -> None:
        self.code = OK
        self.message = ""


@export("errors.raise_exception_on_not_ok_status")
class raise_exception_on_not_ok_status:
    """Context manager: yields a Status and raises the exception of its code at the end."""

    def __enter__(self) -> Status:
        self.status = Status()
        return self.status

    def __exit__(self, *exception: object) -> None:
        if self.status.code != OK and exception == (None, None, None):
            raise exception_type_from_error_code(self.status.code)(None, None, self.status.message)


def describe(
    what: str,
    *,
    expected: str | None = None,
    received: str | None = None,
    hint: str | None = None,
    made_at: str | None = None,
) -> str:
    """Formats an error: what is wrong, then one line per known fact."""
    facts = {"expected": expected, "received": received, "hint": hint, "defined at": made_at}
    return "\n".join([what, *(f"  {key}: {fact}" for key, fact in facts.items() if fact is not None)])


def format_bytes(count: float) -> str:
    """Returns a human-readable byte count."""
    for unit in ("B", "KB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"
