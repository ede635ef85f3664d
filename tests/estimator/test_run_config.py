"""RunConfig: its options, and what it takes from TF_CONFIG."""

import json

import pytest

import thalweg as tf

CLUSTER = {
    "chief": ["host0:1"],
    "worker": ["host1:1", "host2:1"],
    "ps": ["host3:1", "host4:1"],
}
Config = tf.estimator.RunConfig


@pytest.fixture
def environment(monkeypatch):
    def set_config(**config):
        monkeypatch.setenv("TF_CONFIG", json.dumps(config))

    return set_config


def task(kind, index):
    return {"type": kind, "index": index}


def test_without_a_cluster_the_process_is_the_chief():
    config = Config()
    assert (config.task_type, config.task_id, config.is_chief) == ("worker", 0, True)
    assert (config.master, config.evaluation_master) == ("", "")
    assert (config.num_ps_replicas, config.num_worker_replicas, config.global_id_in_cluster) == (0, 1, 0)
    assert not config.cluster_spec
    assert config.service is None


def test_the_defaults_are_those_of_tensorflow():
    config = Config()
    assert config.model_dir is None and config.tf_random_seed is None
    assert (config.save_summary_steps, config.log_step_count_steps) == (100, 100)
    assert (config.save_checkpoints_secs, config.save_checkpoints_steps) == (600, None)
    assert (config.keep_checkpoint_max, config.keep_checkpoint_every_n_hours) == (5, 10000)
    assert config.session_creation_timeout_secs == 7200
    assert config.session_config.allow_soft_placement
    assert not config.session_config.device_filters
    assert config.train_distribute is None and config.eval_distribute is None
    assert config.device_fn is None and config.protocol is None
    assert config.experimental_max_worker_delay_secs is None


@pytest.mark.parametrize(
    ("kind", "index", "expected", "filters"),
    [
        ("chief", 0, ("grpc://host0:1", True, 0), ["/job:ps", "/job:chief"]),
        ("worker", 1, ("grpc://host2:1", False, 2), ["/job:ps", "/job:worker/task:1"]),
        ("ps", 0, ("grpc://host3:1", False, 3), ["/job:ps", "/job:worker", "/job:chief", "/job:master"]),
        ("ps", 1, ("grpc://host4:1", False, 4), ["/job:ps", "/job:worker", "/job:chief", "/job:master"]),
    ],
)
def test_a_task_of_a_cluster_is_described_by_tf_config(environment, kind, index, expected, filters):
    environment(cluster=CLUSTER, task=task(kind, index))
    config = Config()
    assert (config.master, config.is_chief, config.global_id_in_cluster) == expected
    assert (config.task_type, config.task_id) == (kind, index)
    assert (config.num_ps_replicas, config.num_worker_replicas) == (2, 3)
    assert config.cluster_spec.as_dict() == CLUSTER
    assert list(config.session_config.device_filters) == filters


def test_an_evaluator_is_outside_of_the_cluster(environment):
    environment(cluster=CLUSTER, task=task("evaluator", 0))
    config = Config()
    assert (config.task_type, config.is_chief, config.master) == ("evaluator", False, "")
    assert (config.num_ps_replicas, config.num_worker_replicas, config.global_id_in_cluster) == (0, 0, None)
    assert not config.cluster_spec
    assert not config.session_config.device_filters


def test_a_master_is_the_chief_of_older_clusters(environment):
    environment(cluster={"master": ["host0:1"], "ps": ["host1:1"]}, task=task("master", 0), eval_session_master="there")
    config = Config()
    assert (config.is_chief, config.num_worker_replicas, config.evaluation_master) == (True, 1, "there")
    assert list(config.session_config.device_filters) == ["/job:ps", "/job:master"]


def test_the_target_of_sessions_can_be_given(environment):
    environment(cluster=CLUSTER, task=task("worker", 0), session_master="grpc://other:2")
    assert Config().master == "grpc://other:2"


def test_a_cluster_of_one_task_needs_no_target(environment):
    environment(cluster={"chief": ["host0:1"]}, task=task("chief", 0))
    assert Config().master == ""


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"cluster": {"ps": ["a:1"]}, "task": task("ps", 0)}, "one .chief"),
        ({"cluster": {"chief": ["a:1", "b:1"]}, "task": task("chief", 0)}, "only one"),
        ({"cluster": {"chief": ["a:1"], "master": ["b:1"]}, "task": task("chief", 0)}, "both"),
        ({"cluster": {"chief": ["a:1"]}}, "task type must be set"),
        ({"cluster": {"chief": ["a:1"]}, "task": {"type": "chief"}}, "task index must be set"),
        ({"cluster": {"chief": ["a:1"]}, "task": task("chief", -1)}, "non-negative"),
        ({"cluster": {"chief": ["a:1"]}, "task": task("chief", 1)}, "not a valid task_id"),
        ({"cluster": {"chief": ["a:1"]}, "task": task("worker", 0)}, "not a valid task_type"),
        ({"cluster": {"master": ["a:1"]}, "task": task("evaluator", 0)}, "no evaluator"),
        ({"task": task("ps", 0)}, "task type must be WORKER"),
        ({"task": task("worker", 1)}, "task index must be 0"),
        ({"model_dir": ""}, "model_dir in TF_CONFIG"),
    ],
)
def test_a_wrong_tf_config_is_refused(environment, config, words):
    environment(**config)
    with pytest.raises(ValueError, match=words):
        Config()


def test_tf_config_must_be_json(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", "{")
    with pytest.raises(ValueError, match="JSON"):
        Config()
    monkeypatch.setenv("TF_CONFIG", "[1]")
    with pytest.raises(ValueError, match="JSON object"):
        Config()


def test_a_service_must_be_a_dictionary(environment):
    environment(service={"key": 1})
    assert Config().service == {"key": 1}
    environment(service=5)
    with pytest.raises(TypeError, match="service"):
        Config()


def test_the_folder_may_come_from_tf_config(environment):
    environment(model_dir="/there")
    assert Config().model_dir == "/there"
    assert Config(model_dir="/there").model_dir == "/there"
    with pytest.raises(ValueError, match="same value"):
        Config(model_dir="/here")


def test_checkpoints_are_saved_by_steps_or_by_seconds():
    by_steps = Config(save_checkpoints_steps=5)
    assert (by_steps.save_checkpoints_steps, by_steps.save_checkpoints_secs) == (5, None)
    never = Config(save_checkpoints_steps=None, save_checkpoints_secs=None)
    assert (never.save_checkpoints_steps, never.save_checkpoints_secs) == (None, None)
    with pytest.raises(ValueError, match="cannot be both set"):
        Config(save_checkpoints_steps=1, save_checkpoints_secs=1)
    by_seconds = by_steps.replace(save_checkpoints_secs=7)
    assert (by_seconds.save_checkpoints_steps, by_seconds.save_checkpoints_secs) == (None, 7)
    with pytest.raises(ValueError, match="cannot be both set"):
        by_steps.replace(save_checkpoints_steps=1, save_checkpoints_secs=1)


def test_a_copy_has_other_values_and_leaves_the_original():
    config = Config(model_dir="/a", keep_checkpoint_max=3)
    other = config.replace(model_dir="/b", tf_random_seed=4)
    assert (other.model_dir, other.tf_random_seed, other.keep_checkpoint_max) == ("/b", 4, 3)
    assert (config.model_dir, config.tf_random_seed) == ("/a", None)
    with pytest.raises(ValueError, match="not supported"):
        config.replace(is_chief=False)
    with pytest.raises(ValueError, match="keep_checkpoint_max"):
        config.replace(keep_checkpoint_max=-1)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("model_dir", ""),
        ("save_summary_steps", -1),
        ("save_checkpoints_steps", -1),
        ("save_checkpoints_secs", -1),
        ("keep_checkpoint_max", -1),
        ("keep_checkpoint_every_n_hours", 0),
        ("log_step_count_steps", 0),
        ("session_creation_timeout_secs", 0),
        ("tf_random_seed", 1.5),
        ("session_config", {}),
        ("protocol", "http"),
        ("device_fn", "/cpu:0"),
        ("device_fn", lambda operation: ""),
        ("experimental_max_worker_delay_secs", -1),
        ("experimental_max_worker_delay_secs", 1.5),
    ],
)
def test_a_wrong_option_is_refused(option, value):
    with pytest.raises(ValueError, match=option):
        Config(**{option: value})


def test_a_strategy_must_be_one():
    with pytest.raises(TypeError, match="train_distribute"):
        Config(train_distribute="mirrored")
