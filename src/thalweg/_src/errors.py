"""Exceptions of graph construction and execution, and the formatting of their messages."""

from __future__ import annotations

from typing import Any, ClassVar

from thalweg._src.export import export, export_constants

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


@export("OpError", "errors.OpError")
class OpError(Exception):
    """Reports that an operation failed while a step ran."""

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
    """Fixes the error code, so that subclasses are constructed from node, operation and message alone."""

    code: ClassVar[int]

    def __init__(self, node_def: Any, op: Any, message: str) -> None:
        super().__init__(node_def, op, message, self.code)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.node_def, None, self.message), self._additions()


@export("errors.CancelledError")
class CancelledError(_CodedError):
    """Raised when a step or an operation is cancelled."""

    code = CANCELLED


@export("errors.UnknownError")
class UnknownError(_CodedError):
    """Raised when no other class describes the error."""

    code = UNKNOWN


@export("errors.InvalidArgumentError")
class InvalidArgumentError(_CodedError):
    """Raised when an operation receives an invalid argument."""

    code = INVALID_ARGUMENT


@export("errors.DeadlineExceededError")
class DeadlineExceededError(_CodedError):
    """Raised when a deadline expires before an operation completes."""

    code = DEADLINE_EXCEEDED


@export("errors.NotFoundError")
class NotFoundError(_CodedError):
    """Raised when a file, node, device or resource does not exist."""

    code = NOT_FOUND


@export("errors.AlreadyExistsError")
class AlreadyExistsError(_CodedError):
    """Raised when an entity to be created already exists."""

    code = ALREADY_EXISTS


@export("errors.PermissionDeniedError")
class PermissionDeniedError(_CodedError):
    """Raised when the caller lacks permission to run an operation."""

    code = PERMISSION_DENIED


@export("errors.ResourceExhaustedError")
class ResourceExhaustedError(_CodedError):
    """Raised when a resource such as memory, disk space or a quota is exhausted."""

    code = RESOURCE_EXHAUSTED


@export("errors.FailedPreconditionError")
class FailedPreconditionError(_CodedError):
    """Raised when the system is not in the required state, such as when a variable is read before it is initialized."""

    code = FAILED_PRECONDITION


@export("errors.AbortedError")
class AbortedError(_CodedError):
    """Raised when an operation is aborted, typically because of a concurrent action."""

    code = ABORTED


@export("errors.OutOfRangeError")
class OutOfRangeError(_CodedError):
    """Raised when an operation reads past the end of its input or of the valid range."""

    code = OUT_OF_RANGE


@export("errors.UnimplementedError")
class UnimplementedError(_CodedError):
    """Raised when an operation, or this use of it, is not implemented."""

    code = UNIMPLEMENTED


@export("errors.InternalError")
class InternalError(_CodedError):
    """Raised when an internal invariant of Thalweg is violated."""

    code = INTERNAL


@export("errors.UnavailableError")
class UnavailableError(_CodedError):
    """Raised when a task cannot currently be reached; a retry may succeed."""

    code = UNAVAILABLE


@export("errors.DataLossError")
class DataLossError(_CodedError):
    """Raised when stored data is corrupted or lost."""

    code = DATA_LOSS


@export("errors.UnauthenticatedError")
class UnauthenticatedError(_CodedError):
    """Raised when the caller does not have valid credentials."""

    code = UNAUTHENTICATED


@export("errors.ShapeError")
class ShapeError(ValueError):
    """Raised when shapes are incompatible, before the node they belong to is known."""

    def __init__(self, what: str, expected: str | None = None, hint: str | None = None) -> None:
        super().__init__(what, expected, hint)
        self.what = what
        self.expected = expected
        self.hint = hint

    def __str__(self) -> str:
        return describe(self.what, expected=self.expected, hint=self.hint)


_TYPES = {cls.code: cls for cls in _CodedError.__subclasses__()}


@export("errors.exception_type_from_error_code")
def exception_type_from_error_code(error_code: int) -> type[_CodedError]:
    """Returns the exception class of an error code."""
    return _TYPES[error_code]


@export("errors.error_code_from_exception_type")
def error_code_from_exception_type(cls: type[OpError]) -> int:
    """Returns the error code of an exception class, UNKNOWN for one that has none."""
    return cls.code if issubclass(cls, _CodedError) else UNKNOWN


@export("errors.Status")
class Status:
    """The status that a library call reports: a code, initially OK, and a message."""

    def __init__(self) -> None:
        self.code = OK
        self.message = ""


@export("errors.raise_exception_on_not_ok_status")
class raise_exception_on_not_ok_status:
    """A context manager that yields a Status and, when the block ends, raises the exception of its code."""

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
    facts = {"expected": expected, "received": received, "hint": hint, "made at": made_at}
    return "\n".join([what, *(f"  {key}: {fact}" for key, fact in facts.items() if fact is not None)])


def format_bytes(count: float) -> str:
    """Returns a human-readable byte count."""
    for unit in ("B", "KB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


export_constants(
    OK="errors.OK",
    CANCELLED="errors.CANCELLED",
    UNKNOWN="errors.UNKNOWN",
    INVALID_ARGUMENT="errors.INVALID_ARGUMENT",
    DEADLINE_EXCEEDED="errors.DEADLINE_EXCEEDED",
    NOT_FOUND="errors.NOT_FOUND",
    ALREADY_EXISTS="errors.ALREADY_EXISTS",
    PERMISSION_DENIED="errors.PERMISSION_DENIED",
    RESOURCE_EXHAUSTED="errors.RESOURCE_EXHAUSTED",
    FAILED_PRECONDITION="errors.FAILED_PRECONDITION",
    ABORTED="errors.ABORTED",
    OUT_OF_RANGE="errors.OUT_OF_RANGE",
    UNIMPLEMENTED="errors.UNIMPLEMENTED",
    INTERNAL="errors.INTERNAL",
    UNAVAILABLE="errors.UNAVAILABLE",
    DATA_LOSS="errors.DATA_LOSS",
    UNAUTHENTICATED="errors.UNAUTHENTICATED",
)
