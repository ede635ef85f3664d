"""Messages of configuration (ConfigProto, RunOptions, ServerDef) and step statistics, with protobuf's semantics."""

from __future__ import annotations

from typing import Any, ClassVar

from thalweg._src.base.export import export
from thalweg._src.base.messages import Choice, Message, Repeated, message


@message
class ThreadPoolOptionProto(Message):
    """Describes a pool of threads that run operations."""

    num_threads: int
    global_name: str


@export("GPUOptions")
@message
class GPUOptions(Message):
    """Options for how a process uses its GPUs.

    Args:
        per_process_gpu_memory_fraction: Largest fraction of a GPU's memory to use; 0 sets no limit.
        allow_growth: Accepted for compatibility; memory is always taken as needed.
        allocator_type: Accepted for compatibility; it has no effect.
        deferred_deletion_bytes: Accepted for compatibility; it has no effect.
        visible_device_list: Numbers of the GPUs to use, such as "0,2"; all by default.
        polling_active_delay_usecs: Accepted for compatibility; it has no effect.
        polling_inactive_delay_msecs: Accepted for compatibility; it has no effect.
        force_gpu_compatible: Accepted for compatibility; it has no effect.
        experimental: Further options, which may change.
    """

    @message
    class Experimental(Message):
        """Holds experimental GPU options."""

        @message
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


@export("OptimizerOptions")
@message
class OptimizerOptions(Message):
    """Options for which graph rewrites run."""

    class Level(Choice):
        """The set of rewrites to apply: none, or the default ones."""

        L1 = 0
        L0 = -1

    class GlobalJitLevel(Choice):
        """How eagerly fusion clusters are compiled."""

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


@message
class RewriterConfig(Message):
    """Switches individual rewrites on and off."""

    class Toggle(Choice):
        """The state of one rewrite."""

        DEFAULT = 0
        ON = 1
        OFF = 2
        AGGRESSIVE = 3

    class NumIterationsType(Choice):
        """The number of times that the rewrites are repeated."""

        DEFAULT_NUM_ITERS = 0
        ONE = 1
        TWO = 2

    class MemOptType(Choice):
        """The strategy that reduces memory use."""

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


@export("GraphOptions")
@message
class GraphOptions(Message):
    """Options for how a graph is rewritten and compiled."""

    enable_recv_scheduling: bool
    optimizer_options: OptimizerOptions
    build_cost_model: int
    build_cost_model_after: int
    infer_shapes: bool
    place_pruned_graph: bool
    enable_bfloat16_sendrecv: bool
    timeline_step: int
    rewrite_options: RewriterConfig


@message
class RPCOptions(Message):
    """Configures the communication between tasks."""

    use_rpc_for_inprocess_master: bool
    compression_algorithm: str
    compression_level: int
    cache_rpc_response: bool
    disable_session_connection_sharing: bool


@export("train.JobDef")
@message
class JobDef(Message):
    """One job of a cluster: the address of each task by its number.

    Args:
        name: Name of the job.
        tasks: Address of each task, by its number.
    """

    name: str
    tasks: dict[int, str]


@export("train.ClusterDef")
@message
class ClusterDef(Message):
    """The jobs of a cluster.

    Args:
        job: The jobs.
    """

    job: Repeated[JobDef]


@export("ConfigProto")
@message
class ConfigProto(Message):
    """The options of a session.

    Args:
        device_count: Number of devices by type.
        intra_op_parallelism_threads: Largest number of threads of one operation; 0 chooses.
        inter_op_parallelism_threads: Number of operations that run at once; 0 chooses.
        use_per_session_threads: Accepted for compatibility; each session decides for itself.
        session_inter_op_thread_pool: Accepted for compatibility; it has no effect.
        placement_period: Accepted for compatibility; it has no effect.
        device_filters: Accepted for compatibility; it has no effect.
        gpu_options: Options of the GPUs.
        allow_soft_placement: Whether an operation without a kernel for its device may go to another.
        log_device_placement: Whether the device of each operation is logged.
        graph_options: Options of graph rewriting.
        operation_timeout_in_ms: Longest time of a step; 0 sets no limit.
        rpc_options: Options of the connections between tasks.
        cluster_def: The cluster of the session, where it differs from that of the server.
        isolate_session_state: Accepted for compatibility; it has no effect.
        experimental: Further options, which may change.
    """

    @message
    class Experimental(Message):
        """Holds experimental session options."""

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
        host_swap_limit_in_mb: int
        freeze_variables: bool  # for a session that only infers: the values of variables are constants of its steps
        readable_folder: str  # the only one whose files steps may read; the empty string for no limit
        deterministic_ops: bool  # of the process that made the session, for the tasks that run its steps
        seeds_required: bool  # the same
        lint_passes: bool  # check the graph of a step after every pass
        placer: str  # the placer, and the file of measured costs that it uses
        cost_model: str
        memory_limit_in_mb: dict[str, float]  # limit per device name

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
    cluster_def: ClusterDef
    isolate_session_state: bool
    experimental: Experimental


@export("train.ServerDef")
@message
class ServerDef(Message):
    """What a server is started with: the cluster, its own task there, and the options of its sessions.

    Args:
        cluster: The cluster.
        job_name: Name of the job that the task belongs to.
        task_index: Number of the task in its job.
        default_session_config: Options of sessions that set none.
        protocol: Protocol of the servers: "grpc".
        port: Port to listen on; 0 takes that of the task's address.
    """

    cluster: ClusterDef
    job_name: str
    task_index: int
    default_session_config: ConfigProto
    protocol: str
    port: int


@message
class DebugTensorWatch(Message):
    """An output that the debugger watches."""

    node_name: str
    output_slot: int
    debug_ops: Repeated[str]
    debug_urls: Repeated[str]
    tolerate_debug_op_creation_failures: bool


@message
class DebugOptions(Message):
    """Lists what the debugger watches in a step."""

    debug_tensor_watch_opts: Repeated[DebugTensorWatch]
    global_step: int
    reset_disk_byte_usage: bool


@export("RunOptions")
@message
class RunOptions(Message):
    """The options of one step.

    Args:
        trace_level: How much of the step is recorded.
        timeout_in_ms: Longest time of the step; 0 sets no limit.
        inter_op_thread_pool: Accepted for compatibility; it has no effect.
        output_partition_graphs: Whether the graph of each device is reported.
        debug_options: Accepted for compatibility; it has no effect.
        report_tensor_allocations_upon_oom: Accepted for compatibility; it has no effect.
        experimental: Further options, which may change.
    """

    class TraceLevel(Choice):
        """How much of a step is traced."""

        NO_TRACE = 0
        SOFTWARE_TRACE = 1
        HARDWARE_TRACE = 2
        FULL_TRACE = 3

    @message
    class Experimental(Message):
        """Holds experimental step options."""

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


@message
class AllocationDescription(Message):
    """Describes the memory behind a tensor."""

    requested_bytes: int
    allocated_bytes: int
    allocator_name: str
    allocation_id: int
    has_single_reference: bool
    ptr: int


@message
class TensorDescription(Message):
    """Describes a tensor without its contents; the shape is a shape proto or None."""

    dtype: int
    shape: Any
    allocation_description: AllocationDescription


@message
class NodeOutput(Message):
    """Describes one output of an executed node."""

    slot: int
    tensor_description: TensorDescription


@message
class AllocatorMemoryUsed(Message):
    """Counts the memory that a node allocated from one allocator."""

    allocator_name: str
    total_bytes: int
    peak_bytes: int
    live_bytes: int
    allocator_bytes_in_use: int


@message
class MemoryStats(Message):
    """Counts the memory that a node uses besides its outputs."""

    temp_memory_size: int
    persistent_memory_size: int
    persistent_tensor_alloc_ids: Repeated[int]


@message
class NodeExecStats(Message):
    """One execution of a node; times whose names contain `rel` are relative to `all_start`."""

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


@message
class DeviceStepStats(Message):
    """The executions of nodes on one device in a step."""

    device: str
    node_stats: Repeated[NodeExecStats]
    thread_names: dict[int, str]


@message
class StepStats(Message):
    """Records the execution of a step, device by device."""

    dev_stats: Repeated[DeviceStepStats]


@message
class CostGraphDef(Message):
    """The graph of a step with the cost of each node."""

    @message
    class Node(Message):
        """The cost of one node."""

        @message
        class InputInfo(Message):
            """The output that an input comes from."""

            preceding_node: int
            preceding_port: int

        @message
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

    @message
    class AggregatedCost(Message):
        """A cost of the whole graph, such as the peak memory of a device."""

        cost: float
        dimension: str

    node: Repeated[Node]
    cost: Repeated[AggregatedCost]


@export("RunMetadata")
@message
class RunMetadata(Message):
    """Receives the statistics of a step; partition_graphs are GraphDefs."""

    step_stats: StepStats
    cost_graph: CostGraphDef
    partition_graphs: Repeated[Any]
