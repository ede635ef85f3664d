import copy
import json
import pickle
from typing import Any

import numpy as np
import pytest

from thalweg._src.base.config import (
    ClusterDef,
    ConfigProto,
    GPUOptions,
    JobDef,
    NodeExecStats,
    OptimizerOptions,
    RunMetadata,
    RunOptions,
    ServerDef,
)


def test_defaults_are_zero_or_empty() -> None:
    config = ConfigProto()
    assert config.allow_soft_placement is False
    assert config.inter_op_parallelism_threads == 0
    assert config.device_count == {}
    assert config.device_filters == []
    assert config.graph_options.optimizer_options.opt_level == OptimizerOptions.L1 == 0
    assert config == ConfigProto()
    assert repr(config) == "ConfigProto()"


def test_fields_are_set_by_keyword_and_by_name() -> None:
    config = ConfigProto(
        device_count={"CPU": 2}, gpu_options=GPUOptions(allow_growth=True), log_device_placement=np.True_
    )
    config.gpu_options.per_process_gpu_memory_fraction = 1
    config.intra_op_parallelism_threads = np.int64(4)  # type: ignore[assignment]
    config.device_count["GPU"] = 1
    config.graph_options.optimizer_options.global_jit_level = "ON_1"  # type: ignore[assignment]
    assert config.as_dict() == {
        "device_count": {"CPU": 2, "GPU": 1},
        "intra_op_parallelism_threads": 4,
        "gpu_options": {"per_process_gpu_memory_fraction": 1.0, "allow_growth": True},
        "log_device_placement": True,
        "graph_options": {"optimizer_options": {"global_jit_level": 1}},
    }
    assert ConfigProto(**config.as_dict()) == config
    assert ConfigProto(gpu_options=None) == ConfigProto()


def test_messages_are_copied_in() -> None:
    options = GPUOptions()
    config = ConfigProto(gpu_options=options)
    options.allow_growth = True
    assert not config.gpu_options.allow_growth
    config.gpu_options = options
    assert config.gpu_options.allow_growth
    assert config.gpu_options is not options


def test_unknown_fields() -> None:
    with pytest.raises(TypeError, match="did you mean 'allow_soft_placement'"):
        ConfigProto(allow_soft_placment=True)
    with pytest.raises(AttributeError, match="GPUOptions has no field 'alow_growth'; did you mean 'allow_growth'"):
        ConfigProto().gpu_options.alow_growth = True  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="no field 'gpu'"):
        _ = ConfigProto().gpu  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="no field"):
        ConfigProto().HasField("gpu")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("allow_soft_placement", "yes"),
        ("allow_soft_placement", 2),
        ("inter_op_parallelism_threads", 1.5),
        ("inter_op_parallelism_threads", True),
        ("gpu_options", 3),
        ("gpu_options", RunOptions()),
        ("device_count", [1]),
        ("device_count", {"CPU": "two"}),
        ("device_filters", "/job:ps"),
        ("device_filters", [1]),
    ],
)
def test_wrong_types(field: str, value: Any) -> None:
    wrong = rf"ConfigProto\.{field} takes .* of type"
    with pytest.raises(TypeError, match=wrong):
        ConfigProto(**{field: value})
    with pytest.raises(TypeError, match=wrong):
        setattr(ConfigProto(), field, value)


def test_choices() -> None:
    assert RunOptions.FULL_TRACE == 3
    assert RunOptions(trace_level=RunOptions.FULL_TRACE).trace_level == 3
    assert RunOptions.TraceLevel.Name(3) == "FULL_TRACE"
    assert OptimizerOptions.Level.Value("L0") == -1
    assert OptimizerOptions.OFF == -1
    for value in (9, "ON_9"):
        with pytest.raises(ValueError, match=r"one of DEFAULT \(0\), OFF \(-1\)"):
            OptimizerOptions(global_jit_level=value)
    with pytest.raises(TypeError):
        OptimizerOptions(opt_level=1.0)


def test_has_field() -> None:
    config = ConfigProto()
    assert not config.HasField("gpu_options")
    config.gpu_options.allow_growth = True
    assert config.HasField("gpu_options")


def test_copy_merge_clear() -> None:
    config = ConfigProto(device_count={"CPU": 1}, device_filters=["a"], gpu_options={"allow_growth": True})
    other = ConfigProto(device_count={"GPU": 2}, device_filters=["b"], gpu_options={"allocator_type": "BFC"})
    other.MergeFrom(config)
    assert other == ConfigProto(
        device_count={"CPU": 1, "GPU": 2},
        device_filters=["b", "a"],
        gpu_options={"allow_growth": True, "allocator_type": "BFC"},
    )
    other.CopyFrom(config)
    assert other == config
    other.gpu_options.allow_growth = False
    other.device_filters.append("c")
    assert config.gpu_options.allow_growth
    assert config.device_filters == ["a"]
    config.CopyFrom(config)
    assert config.device_filters == ["a"]
    config.Clear()
    assert config == ConfigProto()
    with pytest.raises(TypeError, match="RunOptions"):
        config.CopyFrom(RunOptions())  # type: ignore[arg-type]


def test_repeated_messages() -> None:
    metadata = RunMetadata()
    device = metadata.step_stats.dev_stats.add(device="/cpu:0")
    node = device.node_stats.add(node_name="a", all_start_micros=5)
    node.memory.add(allocator_name="cpu", total_bytes=8)
    device.node_stats.extend([NodeExecStats(node_name="b")])
    device.thread_names[1] = "main"
    metadata.partition_graphs.append("any graph")
    assert metadata.as_dict() == {
        "step_stats": {
            "dev_stats": [
                {
                    "device": "/cpu:0",
                    "node_stats": [
                        {
                            "node_name": "a",
                            "all_start_micros": 5,
                            "memory": [{"allocator_name": "cpu", "total_bytes": 8}],
                        },
                        {"node_name": "b"},
                    ],
                    "thread_names": {1: "main"},
                }
            ]
        },
        "partition_graphs": ["any graph"],
    }
    with pytest.raises(TypeError, match="takes NodeExecStats"):
        device.node_stats.append("c")
    with pytest.raises(TypeError, match="takes NodeExecStats"):
        device.node_stats[0] = "c"


def test_copy_and_pickle() -> None:
    metadata = RunMetadata(step_stats={"dev_stats": [{"device": "/cpu:0"}]})
    for again in (copy.deepcopy(metadata), copy.copy(metadata), pickle.loads(pickle.dumps(metadata))):
        assert again == metadata
        again.step_stats.dev_stats.add(device="/gpu:0")
        assert len(again.step_stats.dev_stats) == 2


def test_not_hashable() -> None:
    with pytest.raises(TypeError):
        hash(ConfigProto())


def test_fields_of_other_processes_make_an_equal_message() -> None:
    config = ConfigProto(
        device_count={"CPU": 2},
        device_filters=["/job:ps", "/job:worker/task:0/größe"],
        gpu_options={"per_process_gpu_memory_fraction": 0.5, "experimental": {"virtual_devices": [{}, {}]}},
        cluster_def={"job": [{"name": "worker", "tasks": {0: "a:1", 12: "b:1"}}]},
        graph_options={"optimizer_options": {"global_jit_level": OptimizerOptions.OFF}},
    )
    for fields in (config.as_dict(), json.loads(json.dumps(config.as_dict()))):
        read = ConfigProto.from_dict(fields)
        assert read == config
        assert read.cluster_def.job[0].tasks[12] == "b:1"
        assert read.graph_options.optimizer_options.global_jit_level is OptimizerOptions.OFF
        read.device_filters.append("/job:more")
        with pytest.raises(TypeError, match="device_filters takes str"):
            read.device_filters.append(1)
    assert len(config.device_filters) == 2
    assert ConfigProto.from_dict({"gpu_options": {"per_process_gpu_memory_fraction": 1}}).gpu_options == GPUOptions(
        per_process_gpu_memory_fraction=1.0
    )


@pytest.mark.parametrize(
    "fields",
    [
        None,
        [],
        {"unknown": 1},
        {1: 1},
        {"x" * 100_000: 1},
        {"_converters": 1},
        {"allow_soft_placement": 1},
        {"allow_soft_placement": None},
        {"placement_period": True},
        {"placement_period": "1"},
        {"placement_period": 2.0},
        {"placement_period": 2**64},
        {"placement_period": -(10**4000)},
        {"device_filters": "/job:ps"},
        {"device_filters": {"0": "/job:ps"}},
        {"device_filters": [["/job:ps"]]},
        {"device_filters": ["\ud800"]},
        {"device_count": [["CPU", 1]]},
        {"device_count": {"CPU": "1"}},
        {"device_count": {1: 1}},
        {"gpu_options": []},
        {"gpu_options": GPUOptions()},
        {"gpu_options": {"gpu_options": {}}},
        {"gpu_options": {"per_process_gpu_memory_fraction": "1"}},
        {"gpu_options": {"per_process_gpu_memory_fraction": 10**400}},
        {"graph_options": {"optimizer_options": {"global_jit_level": 9}}},
        {"graph_options": {"optimizer_options": {"global_jit_level": "ON_1"}}},
        {"graph_options": {"optimizer_options": {"global_jit_level": True}}},
        *(
            {"cluster_def": {"job": [{"tasks": {key: "a:1"}}]}}
            for key in ("x", "", "01", "-0", "\u0661", "9" * 99, 1.0, True)
        ),
        {"cluster_def": {"job": [{"tasks": {"1": "a:1", 1: "b:1"}}]}},
        {"cluster_def": {"job": [{"tasks": {"1": 1}}]}},
        {"cluster_def": {"job": [None]}},
    ],
)
def test_other_fields_than_those_of_a_message_are_refused(fields: Any) -> None:
    with pytest.raises(ValueError):
        ConfigProto.from_dict(fields)


def test_step_statistics_travel_without_protobuf_messages() -> None:
    metadata = RunMetadata(step_stats={"dev_stats": [{"device": "/cpu:0", "thread_names": {3: "main"}}]})
    assert RunMetadata.from_dict(json.loads(json.dumps(metadata.as_dict()))) == metadata
    with pytest.raises(ValueError, match=r"RunMetadata\.partition_graphs takes no value that travels"):
        RunMetadata.from_dict({"partition_graphs": ["a graph"]})


def test_a_server_definition() -> None:
    server = ServerDef(job_name="ps", task_index=1, protocol="grpc")
    job = server.cluster.job.add(name="ps")
    job.tasks[1] = "b:2222"
    server.default_session_config.device_filters.append("/job:worker")
    assert server.as_dict() == {
        "cluster": {"job": [{"name": "ps", "tasks": {1: "b:2222"}}]},
        "job_name": "ps",
        "task_index": 1,
        "default_session_config": {"device_filters": ["/job:worker"]},
        "protocol": "grpc",
    }
    assert ClusterDef(job=[JobDef(name="ps", tasks={1: "b:2222"})]) == server.cluster
