"""Dumps of tensors: one event file per tensor, in the layout of TensorFlow's debugger, and the folder that has them."""

from __future__ import annotations

import json
import os
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.formats.paths import inside
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.tensor_proto import MakeNdarray, array_proto, shape_proto
from thalweg._src.graph.types import TensorLike

DEBUG_OP = "DebugIdentity"
_DEVICE = "_tfdbg_device_,job_localhost,replica_0,task_0,device_CPU_0"
_INFO = "_tfdbg_run.json"
_FILE = re.compile(r"(.+)_(\d+)_(\w+)_(\d+)")

Filter = Callable[["DebugTensorDatum", Any], bool]


class WatchKeyDoesNotExistInDebugDumpDirError(ValueError):
    """Says that no tensor was dumped under a name."""


@dataclass(frozen=True, slots=True)
class DebugTensorDatum:
    """One dumped tensor, whose value is read from its file on request."""

    node_name: str
    output_slot: int
    debug_op: str
    timestamp: int  # microseconds
    file_path: str

    @property
    def tensor_name(self) -> str:
        """The name of the tensor."""
        return f"{self.node_name}:{self.output_slot}"

    @property
    def watch_key(self) -> str:
        """The name of the tensor and of the debug op."""
        return f"{self.tensor_name}:{self.debug_op}"

    @property
    def dump_size_bytes(self) -> int:
        """The size of the file."""
        return os.path.getsize(self.file_path)

    def get_tensor(self) -> Any:
        """Returns the value."""
        return load_tensor_from_event_file(self.file_path)


def load_tensor_from_event_file(event_file_path: str) -> Any:
    """Returns the tensor in a dumped event file."""
    from google.protobuf.message import DecodeError
    from tensorboard.compat.proto.event_pb2 import Event

    try:
        values = Event.FromString(Path(event_file_path).read_bytes()).summary.value
    except DecodeError as error:
        raise ValueError(f"{event_file_path} is not a dump of a tensor: {error}") from None
    if not values:
        raise ValueError(f"{event_file_path} is not a dump of a tensor: it is empty")
    return MakeNdarray(values[0].tensor)


def has_inf_or_nan(datum: object, tensor: TensorLike) -> bool:
    """Returns whether a tensor of floating or complex numbers has an element that is infinite or not a number."""
    del datum  # filters take it
    value = np.asarray(tensor)
    if value.dtype.kind not in "fcV":
        return False
    return not bool(np.isfinite(value.astype(np.float32) if value.dtype.kind == "V" else value).all())


def write_dump(root: str, values: Sequence[tuple[Tensor, Any]], info: dict[str, Any]) -> DebugDumpDir:
    """Writes tensors and what is known about their step to a folder."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary

    folder = Path(root) / _DEVICE
    folder.mkdir(parents=True, exist_ok=True)
    start = time.time_ns() // 1000
    for number, (tensor, value) in enumerate(values):
        name, slot, stamp = tensor.op.name, tensor.value_index, start + number
        summary = Summary.Value(tag=name, node_name=f"{name}:{slot}:{DEBUG_OP}", tensor=_proto(tensor, value))
        path = Path(inside(str(folder), f"{name}_{slot}_{DEBUG_OP}_{stamp}"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(Event(wall_time=stamp / 1e6, summary=Summary(value=[summary])).SerializeToString())
    (Path(root) / _INFO).write_text(json.dumps(info))
    return DebugDumpDir(root)


def _proto(tensor: Tensor, value: object) -> Any:
    """Returns a value as a TensorProto; numbers as bytes, without which TensorFlow takes it for uninitialized."""
    dtype = tensor.dtype.base_dtype
    if dtype is dtypes.string:
        return array_proto(np.asarray(value, dtype=object), dtype)
    array = np.asarray(value)
    message = array_proto(np.zeros(0, array.dtype), dtype)
    message.tensor_shape.CopyFrom(shape_proto(array.shape))
    message.tensor_content = array.tobytes()
    return message


class DebugDumpDir:
    """A folder of tensors that a step dumped, in the order in which they were computed."""

    def __init__(self, dump_root: str, partition_graphs: Any = None, validate: bool = True) -> None:
        if not os.path.isdir(dump_root):
            raise OSError(f"Dump root directory {dump_root} does not exist")
        self._root = dump_root
        self._data = sorted(_data(Path(dump_root)), key=lambda datum: datum.timestamp)
        info = Path(dump_root) / _INFO
        self._info: dict[str, Any] = json.loads(info.read_text()) if info.exists() else {}
        self._graph: Graph | None = None
        self._by_key: dict[str, list[DebugTensorDatum]] = defaultdict(list)
        for datum in self._data:
            self._by_key[datum.watch_key].append(datum)

    # -- tensors ------------------------------------------------------------------------------------------------------

    @property
    def dumped_tensor_data(self) -> list[DebugTensorDatum]:
        """The dumped tensors."""
        return list(self._data)

    @property
    def size(self) -> int:
        """The number of dumped tensors."""
        return len(self._data)

    @property
    def t0(self) -> int | None:
        """The time of the first tensor in microseconds, None without tensors."""
        return self._data[0].timestamp if self._data else None

    @property
    def run_fetches_info(self) -> Any:
        """The names of the fetches of the step."""
        return self._info.get("fetches")

    @property
    def run_feed_keys_info(self) -> Any:
        """The names of the fed tensors of the step."""
        return self._info.get("feeds")

    def find(
        self,
        predicate: Filter,
        first_n: int = 0,
        device_name: str | None = None,
        exclude_node_names: str | None = None,
    ) -> list[DebugTensorDatum]:
        """Returns the tensors for which `predicate(datum, value)` holds, at most `first_n` if that is above 0."""
        excluded = re.compile(exclude_node_names) if exclude_node_names else None
        matches: list[DebugTensorDatum] = []
        for datum in self._data:
            if excluded is not None and excluded.match(datum.node_name):
                continue
            if predicate(datum, datum.get_tensor()):
                matches.append(datum)
                if first_n > 0 and len(matches) == first_n:
                    break
        return matches

    def watch_keys(self, node_name: str, device_name: str | None = None) -> list[str]:
        """Returns the keys of a node's tensors."""
        return [key for key, data in self._by_key.items() if data[0].node_name == node_name]

    def watch_key_to_data(self, debug_watch_key: str, device_name: str | None = None) -> list[DebugTensorDatum]:
        """Returns the tensors under a key."""
        return list(self._by_key.get(debug_watch_key, ()))

    def get_tensor_file_paths(
        self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None
    ) -> list[str]:
        """Returns the files of a tensor."""
        return [datum.file_path for datum in self._require(node_name, output_slot, debug_op)]

    def get_tensors(self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None) -> list[Any]:
        """Returns the values of a tensor."""
        return [datum.get_tensor() for datum in self._require(node_name, output_slot, debug_op)]

    def get_rel_timestamps(
        self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None
    ) -> list[int]:
        """Returns when a tensor was dumped, in microseconds after the first one."""
        return [datum.timestamp - (self.t0 or 0) for datum in self._require(node_name, output_slot, debug_op)]

    def get_dump_sizes_bytes(
        self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None
    ) -> list[int]:
        """Returns the sizes of a tensor's files."""
        return [datum.dump_size_bytes for datum in self._require(node_name, output_slot, debug_op)]

    def _require(self, node_name: str, output_slot: int, debug_op: str) -> list[DebugTensorDatum]:
        key = f"{node_name}:{output_slot}:{debug_op}"
        if key not in self._by_key:
            raise WatchKeyDoesNotExistInDebugDumpDirError(f"Watch key {key!r} does not exist in the dump {self._root}")
        return self._by_key[key]

    # -- nodes --------------------------------------------------------------------------------------------------------

    def set_python_graph(self, python_graph: Graph) -> None:
        """Sets the graph that the questions about nodes are answered from."""
        self._graph = python_graph

    @property
    def python_graph(self) -> Graph | None:
        """The graph of the step, if it was set."""
        return self._graph

    def nodes(self, device_name: str | None = None) -> list[str]:
        """Returns the names of the nodes with dumped tensors."""
        return list(dict.fromkeys(datum.node_name for datum in self._data))

    def node_exists(self, node_name: str, device_name: str | None = None) -> bool:
        """Returns whether the graph has a node."""
        return self._graph is not None and node_name in {op.name for op in self._graph.get_operations()}

    def node_op_type(self, node_name: str, device_name: str | None = None) -> str:
        """Returns the type of a node."""
        return self._operation(node_name).type

    def node_inputs(self, node_name: str, is_control: bool = False, device_name: str | None = None) -> list[str]:
        """Returns the names of a node's inputs, or of its control inputs."""
        node = self._operation(node_name)
        return [op.name for op in node.control_inputs] if is_control else [_short(x) for x in node.inputs]

    def node_recipients(self, node_name: str, is_control: bool = False, device_name: str | None = None) -> list[str]:
        """Returns the names of the nodes that use a node's outputs, or wait for it."""
        node = self._operation(node_name)
        if is_control:
            return [op.name for op in node.graph.get_operations() if node in op.control_inputs]
        return list(dict.fromkeys(op.name for output in node.outputs for op in output.consumers()))

    def _operation(self, node_name: str) -> Operation:
        if self._graph is None:
            raise LookupError("the dump has no graph: call set_python_graph first")
        try:
            return self._graph.get_operation_by_name(node_name)
        except KeyError:
            raise ValueError(f"Node {node_name!r} does not exist in the graph") from None


def _short(tensor: Tensor) -> str:
    return tensor.name.removesuffix(":0")


def _data(root: Path) -> Iterator[DebugTensorDatum]:
    for device in root.glob("_tfdbg_device_*"):
        for folder, _, names in os.walk(device):
            for name in names:
                path = os.path.join(folder, name)
                match = _FILE.fullmatch(os.path.relpath(path, device))
                if match is not None:
                    node, slot, debug_op, stamp = match.groups()
                    yield DebugTensorDatum(node.replace(os.sep, "/"), int(slot), debug_op, int(stamp), path)
