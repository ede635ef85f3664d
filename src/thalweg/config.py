"""Options of sessions and steps, and what a step reports; they read and write like protocol messages."""

from __future__ import annotations

import difflib
import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self, SupportsIndex, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")


class Choice(IntEnum):
    """Is an integer with a name, as the enums of protocol messages are."""

    @classmethod
    def Name(cls, number: int) -> str:
        """Gives the name of a number."""
        return cls(number).name

    @classmethod
    def Value(cls, name: str) -> int:
        """Gives the number of a name."""
        return cls[name].value


class Repeated(list[T]):
    """Is the list in a repeated field; it takes only values of the field's type."""

    def __init__(self, convert: Callable[[Any], T], make: Callable[..., T], values: Iterable[Any]) -> None:
        super().__init__(map(convert, values))
        self._convert = convert
        self._make = make

    def add(self, **fields: Any) -> T:
        """Appends a message with these fields and gives it."""
        self.append(self._make(**fields))
        return self[-1]

    def append(self, value: Any) -> None:
        """Appends a value, a copy if it is a message."""
        super().append(self._convert(value))

    def extend(self, values: Iterable[Any]) -> None:
        """Appends each of the values."""
        super().extend(map(self._convert, values))

    def insert(self, index: SupportsIndex, value: Any) -> None:
        """Puts a value before the index."""
        super().insert(index, self._convert(value))

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(index, map(self._convert, value) if isinstance(index, slice) else self._convert(value))

    def __reduce__(self) -> tuple[Any, ...]:
        # The message that is being restored wraps it again, with the type of its field.
        return list, (list(self),)


class Message:
    """Checks names and types of its fields; a field that was never set reads as zero or empty.

    A slot stays vacant until it is written or read, so that the record of a step costs what it holds.
    """

    __slots__ = ()

    _converters: ClassVar[dict[str, Callable[[Any], Any]]]

    def __init_subclass__(cls) -> None:
        cls._converters = {
            name: partial(_convert, f"{cls.__name__}.{name}", kind)
            for name, kind in get_type_hints(cls).items()
            if ClassVar not in (kind, get_origin(kind))
        }

    def __init__(self, **fields: Any) -> None:
        for name, value in fields.items():
            if name not in self._converters:
                raise TypeError(_no_field(type(self), name))
            if value is not None:
                setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        convert = self._converters.get(name)
        if convert is None:
            raise AttributeError(_no_field(type(self), name))
        object.__setattr__(self, name, convert(value))

    if not TYPE_CHECKING:  # the checker knows the declared fields, and would take this to mean that any name exists

        def __getattr__(self, name: str) -> Any:
            convert = self._converters.get(name)
            if convert is None:
                raise AttributeError(_no_field(type(self), name))
            value = convert(_UNSET)
            object.__setattr__(self, name, value)
            return value

    def HasField(self, name: str) -> bool:
        """Tells whether a field holds something other than its default."""
        if name not in self._converters:
            raise ValueError(_no_field(type(self), name))
        return name in self._set_fields()

    def CopyFrom(self, other: Self) -> None:
        """Becomes equal to another message of this class."""
        if other is not self:
            _require_same(self, other)
            self.Clear()
            self.MergeFrom(other)

    def MergeFrom(self, other: Self) -> None:
        """Takes over what the other message sets: replaces values, merges messages and maps, extends lists."""
        _require_same(self, other)
        for name, value in other._set_fields().items():
            if isinstance(value, Message):
                getattr(self, name).MergeFrom(value)
            elif isinstance(value, dict):
                getattr(self, name).update(value)
            elif isinstance(value, Repeated):
                getattr(self, name).extend(list(value))
            else:
                object.__setattr__(self, name, value)

    def Clear(self) -> None:
        """Sets every field back to its default."""
        for name, _ in list(self._written()):
            object.__delattr__(self, name)

    def as_dict(self) -> dict[str, Any]:
        """Gives the set fields as plain values, in the form that protobuf's `json_format.ParseDict` reads."""
        return {name: _plain(value) for name, value in self._set_fields().items()}

    def _written(self) -> Iterator[tuple[str, Any]]:
        for name in self._converters:
            try:
                yield name, object.__getattribute__(self, name)
            except AttributeError:
                continue

    def _set_fields(self) -> dict[str, Any]:
        return {
            name: value
            for name, value in self._written()
            if (value._set_fields() if isinstance(value, Message) else value)
        }

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return NotImplemented
        return type(other) is type(self) and other._set_fields() == self._set_fields()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self._set_fields().items())
        return f"{type(self).__name__}({fields})"


_UNSET: Any = object()
_ZEROS: dict[Any, Any] = {bool: False, int: 0, float: 0.0, str: "", Any: None}


def _convert(field: str, kind: Any, value: Any) -> Any:
    if kind in _ZEROS:
        return _ZEROS[kind] if value is _UNSET else _scalar(field, kind, value)
    items = get_args(kind)
    if get_origin(kind) is Repeated:
        if isinstance(value, str | bytes | Message | dict):
            raise _wrong_type(field, "a list", value)
        return Repeated(partial(_convert, field, items[0]), items[0], () if value is _UNSET else value)
    if get_origin(kind) is dict:
        if not isinstance(value, dict) and value is not _UNSET:
            raise _wrong_type(field, "a dict", value)
        pairs = () if value is _UNSET else value.items()
        return {_convert(field, items[0], key): _convert(field, items[1], item) for key, item in pairs}
    if issubclass(kind, Choice):
        return _choice(field, kind, 0 if value is _UNSET else value)
    if value is _UNSET:
        return kind()
    if isinstance(value, dict):
        return kind(**value)
    if type(value) is not kind:
        raise _wrong_type(field, kind.__name__, value)
    message = kind()
    message.MergeFrom(value)
    return message


def _scalar(field: str, kind: Any, value: Any) -> Any:
    if kind is Any or type(value) is kind:
        return value
    if kind is bool and not isinstance(value, float) and value in (0, 1):
        return bool(value)
    if kind is int and not isinstance(value, bool) and hasattr(value, "__index__"):
        return operator.index(value)
    if kind is float and not isinstance(value, bool) and isinstance(value, Real):
        return float(value)
    raise _wrong_type(field, kind.__name__, value)


def _choice(field: str, kind: type[Choice], value: Any) -> Choice:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise _wrong_type(field, kind.__name__, value)
    try:
        return kind[value] if isinstance(value, str) else kind(value)
    except (KeyError, ValueError):
        choices = ", ".join(f"{choice.name} ({choice.value})" for choice in kind)
        raise ValueError(f"{field} is one of {choices}, not {value!r}.") from None


def _plain(value: Any) -> Any:
    if isinstance(value, Message):
        return value.as_dict()
    if isinstance(value, Repeated):
        return list(map(_plain, value))
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return int(value) if isinstance(value, Choice) else value


def _require_same(message: Message, other: Message) -> None:
    if type(other) is not type(message):
        raise TypeError(f"{type(message).__name__} cannot take fields from {type(other).__name__}.")


def _no_field(cls: type[Message], name: str) -> str:
    near = difflib.get_close_matches(name, cls._converters, 1, 0)
    return f"{cls.__name__} has no field {name!r}" + (f"; did you mean {near[0]!r}?" if near else ".")


def _wrong_type(field: str, expected: str, value: Any) -> TypeError:
    return TypeError(f"{field} takes {expected}, not {value!r} of type {type(value).__name__}.")


_message = dataclass(init=False, eq=False, repr=False, slots=True)


@_message
class ThreadPoolOptionProto(Message):
    """Describes a pool of threads that run operations."""

    num_threads: int
    global_name: str


@_message
class GPUOptions(Message):
    """Says how a process uses its GPUs."""

    @_message
    class Experimental(Message):
        """Holds GPU options that may change."""

        @_message
        class VirtualDevices(Message):
            """Splits one GPU into several devices."""

            memory_limit_mb: Repeated[float]
            priority: Repeated[int]

        virtual_devices: Repeated[VirtualDevices]
        use_unified_memory: bool
        num_dev_to_dev_copy_streams: int
        collective_ring_order: str
        timestamped_allocator: bool
        kernel_tracker_max_interval: int
        kernel_tracker_max_bytes: int
        kernel_tracker_max_pending: int

    per_process_gpu_memory_fraction: float
    allow_growth: bool
    allocator_type: str
    deferred_deletion_bytes: int
    visible_device_list: str
    polling_active_delay_usecs: int
    polling_inactive_delay_msecs: int
    force_gpu_compatible: bool
    experimental: Experimental


@_message
class OptimizerOptions(Message):
    """Says which rewrites the optimizer makes."""

    class Level(Choice):
        """Is a set of rewrites: none, or the default ones."""

        L1 = 0
        L0 = -1

    class GlobalJitLevel(Choice):
        """Says how eagerly clusters are compiled."""

        DEFAULT = 0
        OFF = -1
        ON_1 = 1
        ON_2 = 2

    L1: ClassVar = Level.L1
    L0: ClassVar = Level.L0
    DEFAULT: ClassVar = GlobalJitLevel.DEFAULT
    OFF: ClassVar = GlobalJitLevel.OFF
    ON_1: ClassVar = GlobalJitLevel.ON_1
    ON_2: ClassVar = GlobalJitLevel.ON_2

    do_common_subexpression_elimination: bool
    do_constant_folding: bool
    max_folded_constant_in_bytes: int
    do_function_inlining: bool
    opt_level: Level
    global_jit_level: GlobalJitLevel
    cpu_global_jit: bool


@_message
class RewriterConfig(Message):
    """Switches single rewrites on and off."""

    class Toggle(Choice):
        """Is the state of one rewrite."""

        DEFAULT = 0
        ON = 1
        OFF = 2
        AGGRESSIVE = 3

    class NumIterationsType(Choice):
        """Says how often the rewrites are repeated."""

        DEFAULT_NUM_ITERS = 0
        ONE = 1
        TWO = 2

    class MemOptType(Choice):
        """Says how memory is saved."""

        DEFAULT_MEM_OPT = 0
        NO_MEM_OPT = 1
        MANUAL = 2
        HEURISTICS = 3
        SWAPPING_HEURISTICS = 4
        RECOMPUTATION_HEURISTICS = 5
        SCHEDULING_HEURISTICS = 6

    DEFAULT: ClassVar = Toggle.DEFAULT
    ON: ClassVar = Toggle.ON
    OFF: ClassVar = Toggle.OFF
    AGGRESSIVE: ClassVar = Toggle.AGGRESSIVE
    DEFAULT_NUM_ITERS: ClassVar = NumIterationsType.DEFAULT_NUM_ITERS
    ONE: ClassVar = NumIterationsType.ONE
    TWO: ClassVar = NumIterationsType.TWO
    DEFAULT_MEM_OPT: ClassVar = MemOptType.DEFAULT_MEM_OPT
    NO_MEM_OPT: ClassVar = MemOptType.NO_MEM_OPT
    MANUAL: ClassVar = MemOptType.MANUAL
    HEURISTICS: ClassVar = MemOptType.HEURISTICS
    SWAPPING_HEURISTICS: ClassVar = MemOptType.SWAPPING_HEURISTICS
    RECOMPUTATION_HEURISTICS: ClassVar = MemOptType.RECOMPUTATION_HEURISTICS
    SCHEDULING_HEURISTICS: ClassVar = MemOptType.SCHEDULING_HEURISTICS

    layout_optimizer: Toggle
    constant_folding: Toggle
    shape_optimization: Toggle
    remapping: Toggle
    arithmetic_optimization: Toggle
    dependency_optimization: Toggle
    loop_optimization: Toggle
    function_optimization: Toggle
    debug_stripper: Toggle
    disable_model_pruning: bool
    scoped_allocator_optimization: Toggle
    pin_to_host_optimization: Toggle
    implementation_selector: Toggle
    auto_mixed_precision: Toggle
    disable_meta_optimizer: bool
    meta_optimizer_iterations: NumIterationsType
    min_graph_nodes: int
    memory_optimization: MemOptType
    memory_optimizer_target_node_name_scope: str
    meta_optimizer_timeout_ms: int
    fail_on_optimizer_errors: bool
    optimizers: Repeated[str]


@_message
class GraphOptions(Message):
    """Says how a graph becomes a program."""

    enable_recv_scheduling: bool
    optimizer_options: OptimizerOptions
    build_cost_model: int
    build_cost_model_after: int
    infer_shapes: bool
    place_pruned_graph: bool
    enable_bfloat16_sendrecv: bool
    timeline_step: int
    rewrite_options: RewriterConfig


@_message
class RPCOptions(Message):
    """Says how tasks talk to each other."""

    use_rpc_for_inprocess_master: bool
    compression_algorithm: str
    compression_level: int
    cache_rpc_response: bool
    disable_session_connection_sharing: bool


@_message
class ConfigProto(Message):
    """Holds the options of a session."""

    @_message
    class Experimental(Message):
        """Holds session options that may change."""

        collective_group_leader: str
        executor_type: str
        recv_buf_max_chunk: int
        use_numa_affinity: bool
        collective_deterministic_sequential_execution: bool
        collective_nccl: bool
        share_session_state_in_clusterspec_propagation: bool
        disable_thread_spinning: bool
        share_cluster_devices_in_session: bool
        optimize_for_static_graph: bool

    device_count: dict[str, int]
    intra_op_parallelism_threads: int
    inter_op_parallelism_threads: int
    use_per_session_threads: bool
    session_inter_op_thread_pool: Repeated[ThreadPoolOptionProto]
    placement_period: int
    device_filters: Repeated[str]
    gpu_options: GPUOptions
    allow_soft_placement: bool
    log_device_placement: bool
    graph_options: GraphOptions
    operation_timeout_in_ms: int
    rpc_options: RPCOptions
    isolate_session_state: bool
    experimental: Experimental


@_message
class DebugTensorWatch(Message):
    """Names an output that the debugger watches."""

    node_name: str
    output_slot: int
    debug_ops: Repeated[str]
    debug_urls: Repeated[str]
    tolerate_debug_op_creation_failures: bool


@_message
class DebugOptions(Message):
    """Says what the debugger watches in a step."""

    debug_tensor_watch_opts: Repeated[DebugTensorWatch]
    global_step: int
    reset_disk_byte_usage: bool


@_message
class RunOptions(Message):
    """Holds the options of one step."""

    class TraceLevel(Choice):
        """Says how much of a step is recorded."""

        NO_TRACE = 0
        SOFTWARE_TRACE = 1
        HARDWARE_TRACE = 2
        FULL_TRACE = 3

    @_message
    class Experimental(Message):
        """Holds step options that may change."""

        collective_graph_key: int
        use_run_handler_pool: bool

    NO_TRACE: ClassVar = TraceLevel.NO_TRACE
    SOFTWARE_TRACE: ClassVar = TraceLevel.SOFTWARE_TRACE
    HARDWARE_TRACE: ClassVar = TraceLevel.HARDWARE_TRACE
    FULL_TRACE: ClassVar = TraceLevel.FULL_TRACE

    trace_level: TraceLevel
    timeout_in_ms: int
    inter_op_thread_pool: int
    output_partition_graphs: bool
    debug_options: DebugOptions
    report_tensor_allocations_upon_oom: bool
    experimental: Experimental


@_message
class AllocationDescription(Message):
    """Describes the memory behind a tensor."""

    requested_bytes: int
    allocated_bytes: int
    allocator_name: str
    allocation_id: int
    has_single_reference: bool
    ptr: int


@_message
class TensorDescription(Message):
    """Describes a tensor without its contents; the shape is a shape proto or None."""

    dtype: int
    shape: Any
    allocation_description: AllocationDescription


@_message
class NodeOutput(Message):
    """Describes one output of an executed node."""

    slot: int
    tensor_description: TensorDescription


@_message
class AllocatorMemoryUsed(Message):
    """Counts the memory that a node took from one allocator."""

    allocator_name: str
    total_bytes: int
    peak_bytes: int
    live_bytes: int
    allocator_bytes_in_use: int


@_message
class MemoryStats(Message):
    """Counts the memory that a node uses beside its outputs."""

    temp_memory_size: int
    persistent_memory_size: int
    persistent_tensor_alloc_ids: Repeated[int]


@_message
class NodeExecStats(Message):
    """Records one execution of a node; times that end in `rel` count from `all_start`."""

    node_name: str
    all_start_micros: int
    op_start_rel_micros: int
    op_end_rel_micros: int
    all_end_rel_micros: int
    memory: Repeated[AllocatorMemoryUsed]
    output: Repeated[NodeOutput]
    timeline_label: str
    scheduled_micros: int
    thread_id: int
    referenced_tensor: Repeated[AllocationDescription]
    memory_stats: MemoryStats
    all_start_nanos: int
    op_start_rel_nanos: int
    op_end_rel_nanos: int
    all_end_rel_nanos: int
    scheduled_nanos: int


@_message
class DeviceStepStats(Message):
    """Records what one device executed in a step."""

    device: str
    node_stats: Repeated[NodeExecStats]
    thread_names: dict[int, str]


@_message
class StepStats(Message):
    """Records a step, device by device."""

    dev_stats: Repeated[DeviceStepStats]


@_message
class CostGraphDef(Message):
    """Is the graph of a step with the cost of each node."""

    @_message
    class Node(Message):
        """Holds the cost of one node."""

        @_message
        class InputInfo(Message):
            """Names the output that an input comes from."""

            preceding_node: int
            preceding_port: int

        @_message
        class OutputInfo(Message):
            """Describes one output."""

            size: int
            alias_input_port: int
            shape: Any
            dtype: int

        name: str
        device: str
        id: int
        input_info: Repeated[InputInfo]
        output_info: Repeated[OutputInfo]
        temporary_memory_size: int
        persistent_memory_size: int
        compute_cost: int
        compute_time: int
        memory_time: int
        is_final: bool
        control_input: Repeated[int]
        inaccurate: bool

    node: Repeated[Node]


@_message
class RunMetadata(Message):
    """Receives what a step reports; partition_graphs are GraphDefs."""

    step_stats: StepStats
    cost_graph: CostGraphDef
    partition_graphs: Repeated[Any]
