"""Device names: full or partial specifications such as `/job:ps/replica:0/task:1/device:GPU:0`."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

from thalweg._src.base.errors import wrong_kind
from thalweg._src.base.export import export

_Fields: TypeAlias = tuple[str | None, int | None, int | None, str | None, int | None]

_SHORT_TYPES = frozenset(("CPU", "GPU", "TPU", "MPS", "XPU"))  # device types that may be written without "device:"


@export("DeviceSpec")
class DeviceSpec:
    """A parsed device name; a field that is None is unspecified."""

    __slots__ = ("device_index", "device_type", "job", "replica", "task")

    job: str | None
    replica: int | None
    task: int | None
    device_type: str | None
    device_index: int | None

    def __init__(
        self,
        job: str | None = None,
        replica: int | None = None,
        task: int | None = None,
        device_type: str | None = None,
        device_index: int | None = None,
    ) -> None:
        self.job = job
        self.replica = replica
        self.task = task
        self.device_type = device_type
        self.device_index = device_index

    def __setattr__(self, name: str, value: Any) -> None:
        if value is not None:
            value = str(value) if name == "job" else str(value).upper() if name == "device_type" else int(value)
        object.__setattr__(self, name, value)

    @classmethod
    def from_string(cls, spec: str) -> DeviceSpec:
        """Returns the spec of a name such as `/job:worker/cpu:0`."""
        return cls(*_parse(spec))

    def parse_from_string(self, spec: str) -> DeviceSpec:
        """Replaces all fields by those of a name, and returns this spec."""
        return self._assign(_parse(spec))

    def merge_from(self, dev: DeviceSpec) -> None:
        """Overwrites this spec's fields with those that `dev` specifies."""
        self._assign(_merge(self._fields(), dev._fields()))

    def make_merged_spec(self, dev: DeviceSpec) -> DeviceSpec:
        """Returns a spec with the fields that `dev` specifies and this one's for the rest."""
        return type(self)(*_merge(self._fields(), dev._fields()))

    def replace(self, **fields: Any) -> DeviceSpec:
        """Returns a spec with some fields changed."""
        current = dict(zip(("job", "replica", "task", "device_type", "device_index"), self._fields()))
        return type(self)(**(current | fields))

    def to_string(self) -> str:
        """Returns the canonical name."""
        return _format(self._fields())

    def _fields(self) -> _Fields:
        return self.job, self.replica, self.task, self.device_type, self.device_index

    def _assign(self, fields: _Fields) -> DeviceSpec:
        self.job, self.replica, self.task, self.device_type, self.device_index = fields
        return self

    def __eq__(self, other: object) -> bool:
        return self._fields() == other._fields() if isinstance(other, DeviceSpec) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._fields())

    def __repr__(self) -> str:
        return f"<DeviceSpec {self.to_string()!r}>"


def canonical_name(device: DeviceSpec | str | None) -> str:
    """Returns the canonical form of a device name; that of None is the empty string."""
    if device is None:
        return ""
    return device.to_string() if isinstance(device, DeviceSpec) else _canonical(device)


@lru_cache(maxsize=4096)
def merge_devices(outer: str, inner: str) -> str:
    """Merges the names of two nested device scopes: the inner scope's fields take precedence."""
    return _format(_merge(_parse(outer), _parse(inner)))


def merge_device(spec: DeviceSpec | str | None) -> Callable[[Any], str]:
    """Returns a device function that fills in the fields that an operation's device leaves unspecified."""
    outer = canonical_name(spec)
    return lambda op: merge_devices(outer, op.device or "")


def task_of(device: str) -> str:
    """Returns the task of a device, given by its full name."""
    return device.rpartition("/device:")[0]


@lru_cache(maxsize=4096)
def matches(pattern: str, name: str) -> bool:
    """Returns whether a device has every field that the pattern specifies."""
    return all(want is None or want == have for want, have in zip(_parse(pattern), _parse(name)))


@lru_cache(maxsize=4096)
def _canonical(name: str) -> str:
    return _format(_parse(name))


@lru_cache(maxsize=4096)
def _parse(text: str) -> _Fields:
    if not isinstance(text, str):
        raise wrong_kind("device", "a name such as '/device:CPU:0' or a DeviceSpec", text)
    job: str | None = None
    replica = task = device_type = device_index = None
    for component in filter(None, text.split("/")):
        match component.split(":"):
            case ["job", name] if name:
                job = None if name == "*" else name
            case ["replica", number]:
                replica = _number(number, text)
            case ["task", number]:
                task = _number(number, text)
            case ["device", kind, number] if kind:
                device_type, device_index = _only(device_type, kind, text), _number(number, text)
            case [kind, number] if kind.upper() in _SHORT_TYPES:
                device_type, device_index = _only(device_type, kind, text), _number(number, text)
            case [kind] if kind.upper() in _SHORT_TYPES:
                device_type, device_index = _only(device_type, kind, text), None
            case _:
                raise _invalid(text, f"unknown component {component!r}")
    return job, replica, task, device_type, device_index


def _number(text: str, name: str) -> int | None:
    if text == "*":
        return None
    if not text.isdecimal():
        raise _invalid(name, f"{text!r} is neither an integer nor *")
    return int(text)


def _only(previous: str | None, kind: str, name: str) -> str | None:
    if previous is not None:
        raise _invalid(name, "more than one device type")
    return None if kind == "*" else kind.upper()


def _invalid(name: str, why: str) -> ValueError:
    return ValueError(
        f"Invalid device name {name!r}: {why}. "
        "expected '/job:worker/replica:0/task:1/device:GPU:0' or components of it, such as '/cpu:0'"
    )


def _format(fields: _Fields) -> str:
    job, replica, task, device_type, device_index = fields
    text = ""
    if job is not None:
        text += f"/job:{job}"
    if replica is not None:
        text += f"/replica:{replica}"
    if task is not None:
        text += f"/task:{task}"
    if device_type is not None:
        text += f"/device:{device_type}:{'*' if device_index is None else device_index}"
    return text


def _merge(outer: _Fields, inner: _Fields) -> _Fields:
    job, replica, task, device_type, device_index = (o if i is None else i for o, i in zip(outer, inner))
    return job, replica, task, device_type, device_index  # type: ignore[return-value]
