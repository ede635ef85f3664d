from google.protobuf import empty_pb2 as _empty_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Cluster(_message.Message):
    __slots__ = ("job",)
    class Job(_message.Message):
        __slots__ = ("name", "tasks")
        class TasksEntry(_message.Message):
            __slots__ = ("key", "value")
            KEY_FIELD_NUMBER: _ClassVar[int]
            VALUE_FIELD_NUMBER: _ClassVar[int]
            key: int
            value: str
            def __init__(self, key: _Optional[int] = ..., value: _Optional[str] = ...) -> None: ...
        NAME_FIELD_NUMBER: _ClassVar[int]
        TASKS_FIELD_NUMBER: _ClassVar[int]
        name: str
        tasks: _containers.ScalarMap[int, str]
        def __init__(self, name: _Optional[str] = ..., tasks: _Optional[_Mapping[int, str]] = ...) -> None: ...
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: _containers.RepeatedCompositeFieldContainer[Cluster.Job]
    def __init__(self, job: _Optional[_Iterable[_Union[Cluster.Job, _Mapping]]] = ...) -> None: ...

class Device(_message.Message):
    __slots__ = ("name", "device_type", "memory_limit", "incarnation")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DEVICE_TYPE_FIELD_NUMBER: _ClassVar[int]
    MEMORY_LIMIT_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    name: str
    device_type: str
    memory_limit: int
    incarnation: int
    def __init__(self, name: _Optional[str] = ..., device_type: _Optional[str] = ..., memory_limit: _Optional[int] = ..., incarnation: _Optional[int] = ...) -> None: ...

class DeviceList(_message.Message):
    __slots__ = ("device",)
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    device: _containers.RepeatedCompositeFieldContainer[Device]
    def __init__(self, device: _Optional[_Iterable[_Union[Device, _Mapping]]] = ...) -> None: ...

class CreateSessionRequest(_message.Message):
    __slots__ = ("session", "client", "config_json")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    CONFIG_JSON_FIELD_NUMBER: _ClassVar[int]
    session: str
    client: str
    config_json: str
    def __init__(self, session: _Optional[str] = ..., client: _Optional[str] = ..., config_json: _Optional[str] = ...) -> None: ...

class CreateSessionResponse(_message.Message):
    __slots__ = ("session", "device")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    session: str
    device: _containers.RepeatedCompositeFieldContainer[Device]
    def __init__(self, session: _Optional[str] = ..., device: _Optional[_Iterable[_Union[Device, _Mapping]]] = ...) -> None: ...

class ExtendSessionRequest(_message.Message):
    __slots__ = ("session", "graph_def", "replaces", "since", "until")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    GRAPH_DEF_FIELD_NUMBER: _ClassVar[int]
    REPLACES_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    session: str
    graph_def: bytes
    replaces: bool
    since: int
    until: int
    def __init__(self, session: _Optional[str] = ..., graph_def: _Optional[bytes] = ..., replaces: bool = ..., since: _Optional[int] = ..., until: _Optional[int] = ...) -> None: ...

class PrepareStepRequest(_message.Message):
    __slots__ = ("session", "feed", "fetch", "target", "is_partial")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    FEED_FIELD_NUMBER: _ClassVar[int]
    FETCH_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    IS_PARTIAL_FIELD_NUMBER: _ClassVar[int]
    session: str
    feed: _containers.RepeatedScalarFieldContainer[str]
    fetch: _containers.RepeatedScalarFieldContainer[str]
    target: _containers.RepeatedScalarFieldContainer[str]
    is_partial: bool
    def __init__(self, session: _Optional[str] = ..., feed: _Optional[_Iterable[str]] = ..., fetch: _Optional[_Iterable[str]] = ..., target: _Optional[_Iterable[str]] = ..., is_partial: bool = ...) -> None: ...

class PrepareStepResponse(_message.Message):
    __slots__ = ("handle", "placement")
    HANDLE_FIELD_NUMBER: _ClassVar[int]
    PLACEMENT_FIELD_NUMBER: _ClassVar[int]
    handle: int
    placement: str
    def __init__(self, handle: _Optional[int] = ..., placement: _Optional[str] = ...) -> None: ...

class ReleaseStepRequest(_message.Message):
    __slots__ = ("session", "handle")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    HANDLE_FIELD_NUMBER: _ClassVar[int]
    session: str
    handle: int
    def __init__(self, session: _Optional[str] = ..., handle: _Optional[int] = ...) -> None: ...

class StartPartialRunRequest(_message.Message):
    __slots__ = ("handle", "step")
    HANDLE_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    handle: int
    step: int
    def __init__(self, handle: _Optional[int] = ..., step: _Optional[int] = ...) -> None: ...

class CloseSessionRequest(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: str
    def __init__(self, session: _Optional[str] = ...) -> None: ...

class ResetRequest(_message.Message):
    __slots__ = ("container", "device_filters")
    CONTAINER_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FILTERS_FIELD_NUMBER: _ClassVar[int]
    container: _containers.RepeatedScalarFieldContainer[str]
    device_filters: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, container: _Optional[_Iterable[str]] = ..., device_filters: _Optional[_Iterable[str]] = ...) -> None: ...

class GetTaskRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TaskInfo(_message.Message):
    __slots__ = ("task", "incarnation", "unix_name", "data_port")
    TASK_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    UNIX_NAME_FIELD_NUMBER: _ClassVar[int]
    DATA_PORT_FIELD_NUMBER: _ClassVar[int]
    task: str
    incarnation: int
    unix_name: str
    data_port: int
    def __init__(self, task: _Optional[str] = ..., incarnation: _Optional[int] = ..., unix_name: _Optional[str] = ..., data_port: _Optional[int] = ...) -> None: ...

class GetStatusRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetStatusResponse(_message.Message):
    __slots__ = ("task", "seconds", "running", "sessions", "connected", "slab_bytes")
    class RunningStep(_message.Message):
        __slots__ = ("step", "waiting")
        STEP_FIELD_NUMBER: _ClassVar[int]
        WAITING_FIELD_NUMBER: _ClassVar[int]
        step: int
        waiting: _containers.RepeatedScalarFieldContainer[str]
        def __init__(self, step: _Optional[int] = ..., waiting: _Optional[_Iterable[str]] = ...) -> None: ...
    TASK_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    RUNNING_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    CONNECTED_FIELD_NUMBER: _ClassVar[int]
    SLAB_BYTES_FIELD_NUMBER: _ClassVar[int]
    task: str
    seconds: float
    running: _containers.RepeatedCompositeFieldContainer[GetStatusResponse.RunningStep]
    sessions: int
    connected: _containers.RepeatedScalarFieldContainer[str]
    slab_bytes: int
    def __init__(self, task: _Optional[str] = ..., seconds: _Optional[float] = ..., running: _Optional[_Iterable[_Union[GetStatusResponse.RunningStep, _Mapping]]] = ..., sessions: _Optional[int] = ..., connected: _Optional[_Iterable[str]] = ..., slab_bytes: _Optional[int] = ...) -> None: ...

class CreateWorkerSessionRequest(_message.Message):
    __slots__ = ("session", "master", "config_json", "is_isolated", "cluster")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    MASTER_FIELD_NUMBER: _ClassVar[int]
    CONFIG_JSON_FIELD_NUMBER: _ClassVar[int]
    IS_ISOLATED_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    session: str
    master: str
    config_json: str
    is_isolated: bool
    cluster: Cluster
    def __init__(self, session: _Optional[str] = ..., master: _Optional[str] = ..., config_json: _Optional[str] = ..., is_isolated: bool = ..., cluster: _Optional[_Union[Cluster, _Mapping]] = ...) -> None: ...

class DeleteWorkerSessionRequest(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: str
    def __init__(self, session: _Optional[str] = ...) -> None: ...

class RegisterGraphRequest(_message.Message):
    __slots__ = ("session", "partitions", "num_fetches", "others", "routes")
    class OthersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    class RoutesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    SESSION_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    NUM_FETCHES_FIELD_NUMBER: _ClassVar[int]
    OTHERS_FIELD_NUMBER: _ClassVar[int]
    ROUTES_FIELD_NUMBER: _ClassVar[int]
    session: str
    partitions: bytes
    num_fetches: int
    others: _containers.ScalarMap[str, int]
    routes: _containers.ScalarMap[str, str]
    def __init__(self, session: _Optional[str] = ..., partitions: _Optional[bytes] = ..., num_fetches: _Optional[int] = ..., others: _Optional[_Mapping[str, int]] = ..., routes: _Optional[_Mapping[str, str]] = ...) -> None: ...

class RegisterGraphResponse(_message.Message):
    __slots__ = ("handle",)
    HANDLE_FIELD_NUMBER: _ClassVar[int]
    handle: int
    def __init__(self, handle: _Optional[int] = ...) -> None: ...

class DeregisterGraphRequest(_message.Message):
    __slots__ = ("session", "handle")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    HANDLE_FIELD_NUMBER: _ClassVar[int]
    session: str
    handle: int
    def __init__(self, session: _Optional[str] = ..., handle: _Optional[int] = ...) -> None: ...

class CleanupAllRequest(_message.Message):
    __slots__ = ("container",)
    CONTAINER_FIELD_NUMBER: _ClassVar[int]
    container: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, container: _Optional[_Iterable[str]] = ...) -> None: ...

class GetTransactionRequest(_message.Message):
    __slots__ = ("step", "participant")
    STEP_FIELD_NUMBER: _ClassVar[int]
    PARTICIPANT_FIELD_NUMBER: _ClassVar[int]
    step: int
    participant: str
    def __init__(self, step: _Optional[int] = ..., participant: _Optional[str] = ...) -> None: ...

class GetTransactionResponse(_message.Message):
    __slots__ = ("is_committed",)
    IS_COMMITTED_FIELD_NUMBER: _ClassVar[int]
    is_committed: bool
    def __init__(self, is_committed: bool = ...) -> None: ...

class JoinGroupRequest(_message.Message):
    __slots__ = ("key", "size", "local_size", "task", "attempt", "is_leaving")
    KEY_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    LOCAL_SIZE_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    IS_LEAVING_FIELD_NUMBER: _ClassVar[int]
    key: int
    size: int
    local_size: int
    task: str
    attempt: int
    is_leaving: bool
    def __init__(self, key: _Optional[int] = ..., size: _Optional[int] = ..., local_size: _Optional[int] = ..., task: _Optional[str] = ..., attempt: _Optional[int] = ..., is_leaving: bool = ...) -> None: ...

class JoinGroupResponse(_message.Message):
    __slots__ = ("number", "task", "local_size")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    LOCAL_SIZE_FIELD_NUMBER: _ClassVar[int]
    number: int
    task: _containers.RepeatedScalarFieldContainer[str]
    local_size: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, number: _Optional[int] = ..., task: _Optional[_Iterable[str]] = ..., local_size: _Optional[_Iterable[int]] = ...) -> None: ...

class GetGroupValueRequest(_message.Message):
    __slots__ = ("number", "key")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    number: int
    key: str
    def __init__(self, number: _Optional[int] = ..., key: _Optional[str] = ...) -> None: ...

class GetGroupValueResponse(_message.Message):
    __slots__ = ("has_value", "value")
    HAS_VALUE_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    has_value: bool
    value: bytes
    def __init__(self, has_value: bool = ..., value: _Optional[bytes] = ...) -> None: ...

class SetGroupValueRequest(_message.Message):
    __slots__ = ("number", "key", "value")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    number: int
    key: str
    value: bytes
    def __init__(self, number: _Optional[int] = ..., key: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...

class EndGroupRequest(_message.Message):
    __slots__ = ("number", "task", "operations", "message")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    number: int
    task: str
    operations: int
    message: str
    def __init__(self, number: _Optional[int] = ..., task: _Optional[str] = ..., operations: _Optional[int] = ..., message: _Optional[str] = ...) -> None: ...
