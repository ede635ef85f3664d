"""A version of a model that is loaded: its session, and its signatures as functions of arrays."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thalweg._src.base import dtypes, errors
from thalweg._src.base.config import ConfigProto
from thalweg._src.base.dtypes import DType
from thalweg._src.base.formats.message_types import Message
from thalweg._src.base.formats.records import read_records
from thalweg._src.base.shapes import TensorShape, as_shape
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.deploy.saved_model.files import SERVING, folder_of, variables_prefix
from thalweg._src.deploy.saved_model.saved_model import load
from thalweg._src.deploy.saved_model.signatures import (
    CLASSIFY_METHOD_NAME,
    DEFAULT_SERVING_SIGNATURE_DEF_KEY,
    PREDICT_METHOD_NAME,
    REGRESS_METHOD_NAME,
)
from thalweg._src.deploy.serving.batch_queue import Duration
from thalweg._src.deploy.serving.protos import message_class
from thalweg._src.deploy.serving.tensors import Array, as_array
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ir.serialize import external_nodes
from thalweg._src.graph.ir.step_graph import StepGraph
from thalweg._src.graph.trust import RefusedOpsError
from thalweg._src.runtime.cpu_contention import core_share
from thalweg._src.runtime.resources.mapped_checkpoints import mapped_checkpoint
from thalweg._src.runtime.session.session import Session

WARMUP = os.path.join("assets.extra", "tf_serving_warmup_requests")
_MAX_WARMUP = 1000  # records, as in TensorFlow Serving
_METHODS = (PREDICT_METHOD_NAME, CLASSIFY_METHOD_NAME, REGRESS_METHOD_NAME)


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of a signature: the tensor of the graph behind its name, with what is known of its shape."""

    name: str
    dtype: DType
    shape: tuple[int | None, ...] | None

    def check(self, key: str, array: Array) -> None:
        """Refuses an array of another type or of a shape that the tensor cannot have."""
        if dtypes.as_dtype(array.dtype) != self.dtype:
            received = dtypes.as_dtype(array.dtype).name
            raise errors.invalid(f"input {key!r}: expected type {self.dtype.name}, received {received}")
        if self.shape is None:
            return
        fits = len(self.shape) == array.ndim and all(
            size in (None, array_size) for size, array_size in zip(self.shape, array.shape)
        )
        if not fits:
            expected = TensorShape(self.shape)
            raise errors.invalid(f"input {key!r}: expected shape {expected}, received {TensorShape(array.shape)}")

    @property
    def is_batched(self) -> bool:
        """Whether the first dimension may have any size."""
        return self.shape is not None and self.shape[:1] == (None,)


class Signature:
    """One signature of a model: named arrays in, named arrays out."""

    def __init__(self, model: str, key: str, definition: Message, session: Session) -> None:
        self.model = model
        self.key = key
        self.method = str(definition.method_name)
        self.inputs: dict[str, Port] = {name: _port(info) for name, info in sorted(definition.inputs.items())}
        self.outputs: dict[str, Port] = {name: _port(info) for name, info in sorted(definition.outputs.items())}
        self.is_batched = all(port.is_batched for port in (*self.inputs.values(), *self.outputs.values()))
        self.duration = Duration()
        self._session = session
        self._callable = functools.cache(self._make_callable)

    def chosen(self, names: Sequence[str]) -> tuple[str, ...]:
        """Returns the outputs to compute: those of these names, or all if there are none."""
        for name in names:
            if name not in self.outputs:
                raise errors.invalid(
                    f"output tensor alias not found in signature: {name} "
                    f"Outputs expected to be in the set {{{','.join(self.outputs)}}}."
                )
            if list(names).count(name) > 1:
                raise errors.invalid(f"duplicate output tensor alias: {name}")
        return tuple(names) or tuple(self.outputs)

    def check(self, inputs: Mapping[str, Array]) -> None:
        """Refuses inputs that the signature does not take, and those that are missing."""
        extra, missing = sorted(inputs.keys() - self.inputs.keys()), sorted(self.inputs.keys() - inputs.keys())
        if extra or missing:
            raise errors.invalid(
                f"input size does not match signature: {len(inputs)}!={len(self.inputs)} "
                f"len({{{','.join(sorted(inputs))}}}) != len({{{','.join(self.inputs)}}}). "
                f"Sent extra: {{{','.join(extra)}}}. Missing but required: {{{','.join(missing)}}}."
            )
        for name, port in self.inputs.items():
            port.check(name, inputs[name])

    def run(self, inputs: Mapping[str, Array], outputs: tuple[str, ...]) -> dict[str, Array]:
        """Computes outputs for inputs that were checked."""
        size = len(next(iter(inputs.values()))) if self.is_batched and inputs else 1
        core_share.limit_thread(1 if self.duration.is_short(size) else None)
        values = self._callable(outputs)(*[inputs[name] for name in self.inputs])
        return {name: as_array(value) if isinstance(value, bytes) else value for name, value in zip(outputs, values)}

    def _make_callable(self, outputs: tuple[str, ...]) -> Callable[..., list[Array]]:
        function: Callable[..., list[Array]] = self._session.make_callable(
            [self.outputs[name].name for name in outputs], [port.name for port in self.inputs.values()]
        )
        return function


def _is_served(definition: Message) -> bool:
    """Returns whether a signature has a method that clients can call, and dense tensors alone, as requests do."""
    infos = [*definition.inputs.values(), *definition.outputs.values()]
    return definition.method_name in _METHODS and all(info.WhichOneof("encoding") == "name" for info in infos)


def _port(info: Message) -> Port:
    return Port(str(info.name), dtypes.as_dtype(info.dtype).base_dtype, as_shape(info.tensor_shape))


def _for_serving(config: ConfigProto | None) -> ConfigProto:
    """Returns the settings of a session whose graph does not grow."""
    settings = ConfigProto()
    if config is not None:
        settings.CopyFrom(config)
    settings.experimental.optimize_for_static_graph = True
    return settings


def _steps(graph: Graph, signatures: Iterable[Signature]) -> Iterator[StepGraph]:
    """Yields the graphs that requests run, without those of signatures that name a tensor that does not exist."""
    for signature in signatures:
        try:
            inputs, outputs = (
                [graph.get_tensor_by_name(port.name) for port in ports.values()]
                for ports in (signature.inputs, signature.outputs)
            )
        except (KeyError, ValueError):  # its requests get that error
            continue
        yield step_graph(inputs, outputs, [])


def _require_no_reads(steps: Iterable[StepGraph]) -> None:
    """Refuses a model whose requests read files: its tables have read its assets once it is loaded."""
    graphs = {str(number): step for number, step in enumerate(steps)}
    reads = [entry for entry in external_nodes(graphs) if entry[2].startswith("reads ")]
    if reads:
        raise RefusedOpsError(reads)


class Servable:
    """A version of a model in memory.

    Args:
        path: The folder of the SavedModel.
        tags: Those of the graph to load.
        config: The ConfigProto of its session.
        name: That of the model.
        trusted: By default the model may read files of its folder while it is loaded, such as assets, and no others;
            otherwise as that of `tf.saved_model.load`.
    """

    def __init__(
        self,
        path: str,
        tags: Iterable[str] = (SERVING,),
        config: ConfigProto | None = None,
        name: str = "",
        trusted: bool | None = None,
    ) -> None:
        self.path = path
        config = _for_serving(config)
        if not trusted:
            config.experimental.readable_folder = os.path.realpath(folder_of(path))
        self._session = Session(graph=Graph(), config=config)
        try:
            with mapped_checkpoint(variables_prefix(folder_of(path))):
                message = load(self._session, tags, path, trusted=trusted)
            self.signatures: dict[str, Signature] = {}
            self.definitions = message_class("SignatureDefMap")()
            for key, definition in message.signature_def.items():
                if not _is_served(definition):
                    continue  # such as the operation that initializes a model of TensorFlow 2
                self.signatures[key] = Signature(name, key, definition, self._session)
                self.definitions.signature_def[key].MergeFromString(definition.SerializeToString())
            steps = list(_steps(self._session.graph, self.signatures.values()))
            if not trusted:
                _require_no_reads(steps)
            nodes = (node for step in steps for node in step.everything())
            config.experimental.freeze_variables = not any(node.facts.writes for node in nodes)
        except BaseException:
            self.close()
            raise

    def signature(self, key: str) -> Signature:
        """Returns a signature; the empty key stands for that of requests that name none."""
        key = key or DEFAULT_SERVING_SIGNATURE_DEF_KEY
        try:
            return self.signatures[key]
        except KeyError:
            message = (
                f'Serving signature key "{key:.200}" not found. The model has: {", ".join(sorted(self.signatures))}'
            )
            raise errors.FailedPreconditionError(None, None, message) from None

    def warmup_requests(self) -> Iterable[Any]:
        """Yields the requests that are stored with the model, as PredictionLog messages."""
        from google.protobuf.message import DecodeError

        path = os.path.join(self.path, WARMUP)
        if not os.path.exists(path):
            return
        for number, record in enumerate(read_records(path)):
            if number == _MAX_WARMUP:
                raise errors.invalid(f"Number of warmup records exceeds the maximum ({_MAX_WARMUP}) at {path}")
            try:
                yield message_class("PredictionLog").FromString(record)
            except DecodeError as error:
                raise errors.invalid(f"Failed to parse warmup record {number} of {path}: {error}") from None

    def close(self) -> None:
        """Frees what the version holds."""
        self._session.close()
