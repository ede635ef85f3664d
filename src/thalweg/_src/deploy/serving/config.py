"""Configuration of a server: its models, their versions, and batching, in TensorFlow Serving's text format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from thalweg._src.base import errors
from thalweg._src.base.export import export
from thalweg._src.base.formats.message_types import Message
from thalweg._src.deploy.serving.protos import message_class
from thalweg._src.deploy.serving.versions import Policy


@export("serving.Model")
@dataclass(frozen=True, slots=True)
class Model:
    """A model to serve.

    Args:
        name: Its name for clients.
        base_path: The folder with a folder for each version, whose name is a number.
        policy: Which versions are served; by default the latest one.
        labels: Names of versions, by which clients may address them.
    """

    name: str
    base_path: str
    policy: Policy = field(default_factory=Policy)
    labels: Mapping[str, int] = field(default_factory=dict)


@export("serving.BatchingParameters")
@dataclass(frozen=True, slots=True)
class BatchingParameters:
    """How requests are put together to batches.

    Args:
        max_batch_size: The most examples in a batch.
        batch_timeout_micros: How long a batch that is not full waits for more, in microseconds.
        max_enqueued_batches: How many batches may wait; further requests are refused.
        num_batch_threads: How many batches are computed at the same time.
        allowed_batch_sizes: The sizes to which batches are padded, in ascending order; none pads nothing.
        pad_variable_length_inputs: Whether examples of different shapes are padded to the largest one of a batch.
    """

    max_batch_size: int = 1000
    batch_timeout_micros: int = 0
    max_enqueued_batches: int = 10
    num_batch_threads: int = 2
    allowed_batch_sizes: tuple[int, ...] = ()
    pad_variable_length_inputs: bool = False

    def __post_init__(self) -> None:
        for name in ("max_batch_size", "max_enqueued_batches", "num_batch_threads"):
            if getattr(self, name) < 1:
                raise errors.invalid(f"{name}: expected 1 or more, received {getattr(self, name)}")
        if self.batch_timeout_micros < 0:
            raise errors.invalid(f"batch_timeout_micros: expected 0 or more, received {self.batch_timeout_micros}")
        sizes = self.allowed_batch_sizes
        if sizes and (sorted(set(sizes)) != list(sizes) or sizes[0] < 1 or sizes[-1] != self.max_batch_size):
            raise errors.invalid(
                f"allowed_batch_sizes: expected ascending sizes, the last one of which is max_batch_size "
                f"({self.max_batch_size}), received {list(sizes)}"
            )

    def padded(self, size: int) -> int:
        """Returns the size to which a batch is padded."""
        return next((allowed for allowed in self.allowed_batch_sizes if allowed >= size), size)


def read_models(text: str, origin: str) -> list[Model]:
    """Returns the models of a ModelServerConfig in text format; origin: the file, for errors."""
    return models_of(_parse(text, "ModelServerConfig", origin), origin)


def models_of(config: Message, origin: str) -> list[Model]:
    """Returns the models of a ModelServerConfig."""
    if config.WhichOneof("config") != "model_config_list":
        raise errors.invalid(f"{origin}: expected a model_config_list, received {config.WhichOneof('config')}")
    return checked((_model(model_config, origin) for model_config in config.model_config_list.config), origin)


def checked(models: Iterable[Model], origin: str) -> list[Model]:
    """Returns models, if each has a name and a path of its own."""
    by_name: dict[str, Model] = {}
    for model in models:
        if not model.name or not model.base_path:
            raise errors.invalid(f"{origin}: a model needs a name and a base_path, received {model}")
        if model.name in by_name:
            raise errors.invalid(f"{origin}: the model {model.name!r} is configured twice")
        by_name[model.name] = model
    return list(by_name.values())


def _model(config: Message, origin: str) -> Model:
    if config.model_platform not in ("", "tensorflow"):
        raise errors.invalid(
            f"{origin}: model {config.name!r}: expected model_platform tensorflow, received {config.model_platform}"
        )
    choice = config.model_version_policy.WhichOneof("policy_choice")
    policy = Policy()
    if choice == "latest":
        policy = Policy(latest=config.model_version_policy.latest.num_versions or 1)
    elif choice == "all":
        policy = Policy(latest=None)
    elif choice == "specific":
        versions = frozenset(config.model_version_policy.specific.versions)
        if not versions:
            raise errors.invalid(f"{origin}: model {config.name!r}: the specific versions are missing")
        policy = replace(policy, specific=versions)
    return Model(config.name, config.base_path, policy, dict(config.version_labels))


def model_to_json(model: Model) -> dict[str, Any]:
    """Returns a model as values of JSON."""
    policy = {"latest": model.policy.latest, "specific": sorted(model.policy.specific)}
    return {"name": model.name, "base_path": model.base_path, "policy": policy, "labels": dict(model.labels)}


def model_from_json(value: dict[str, Any]) -> Model:
    """Returns the model that `model_to_json` was given."""
    policy = Policy(value["policy"]["latest"], frozenset(value["policy"]["specific"]))
    return Model(value["name"], value["base_path"], policy, value["labels"])


def read_batching(text: str, origin: str) -> BatchingParameters:
    """Returns the batching parameters of a file in text format; origin: the file, for errors."""
    message = _parse(text, "BatchingParameters", origin)
    names = ("max_batch_size", "batch_timeout_micros", "max_enqueued_batches", "num_batch_threads")
    numbers: dict[str, Any] = {name: getattr(message, name).value for name in names if message.HasField(name)}
    return BatchingParameters(
        **numbers,
        allowed_batch_sizes=tuple(message.allowed_batch_sizes),
        pad_variable_length_inputs=message.pad_variable_length_inputs,
    )


def _parse(text: str, name: str, origin: str) -> Any:
    from google.protobuf import text_format

    try:
        return text_format.Parse(text, message_class(name)())
    except text_format.ParseError as error:
        raise errors.invalid(f"{origin} is not a {name} in text format: {error}") from None
