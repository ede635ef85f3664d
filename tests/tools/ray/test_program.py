"""What a cluster on Ray is made of, without Ray."""

import sys

import pytest

import thalweg as tf
from thalweg._src.tools.ray.cluster import _runtime_env
from thalweg._src.tools.ray.task import Program, _reserve

TOKEN = "THALWEG_CLUSTER_TOKEN"


@pytest.mark.parametrize(
    "options, message",
    [
        ({}, "give either train_fn or script"),
        ({"train_fn": print, "script": "train.py"}, "give either train_fn or script"),
        ({"train_fn": print, "workers": 0}, "a cluster needs a worker or a chief"),
        ({"train_fn": print, "strategy": "CLOSE"}, "one of PACK, SPREAD, STRICT_PACK, STRICT_SPREAD, got 'CLOSE'"),
    ],
)
def test_a_cluster_that_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        tf.ray.Cluster(**options)


def test_a_cluster_that_does_not_run_is_not_waited_for():
    cluster = tf.ray.Cluster(print)
    for call in (cluster.wait, cluster.add_workers):
        with pytest.raises(tf.errors.FailedPreconditionError, match="the cluster does not run"):
            call()
    with pytest.raises(ValueError, match="count must be 1 or more, got 0"):
        cluster.add_workers(0)


def test_each_cluster_has_a_token_of_its_own(monkeypatch):
    monkeypatch.delenv(TOKEN, raising=False)
    first, second = (_runtime_env({"pip": ["x"], "env_vars": {"A": "1"}}) for _ in range(2))
    assert first["pip"] == ["x"] and first["env_vars"]["A"] == "1"
    assert len(first["env_vars"][TOKEN]) == 64 and first["env_vars"][TOKEN] != second["env_vars"][TOKEN]


def test_the_credentials_of_the_driver_apply_at_all_tasks(monkeypatch):
    monkeypatch.setenv(TOKEN, "a token of this program")
    assert _runtime_env({})["env_vars"][TOKEN] == "a token of this program"
    monkeypatch.delenv(TOKEN)
    monkeypatch.setenv("THALWEG_CLUSTER_INSECURE", "1")
    assert TOKEN not in _runtime_env({})["env_vars"]


@pytest.mark.parametrize("code", ["sys.exit()", "sys.exit(0)", "pass"])
def test_a_script_may_end_by_an_exit_status(tmp_path, monkeypatch, code):
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "train.py").write_text(f"import sys\nopen(sys.argv[1], 'w').write(__name__)\n{code}\n")
    assert Program(None, str(tmp_path / "train.py"), (str(tmp_path / "written"),)).run() is None
    assert (tmp_path / "written").read_text() == "__main__"


def test_an_exit_status_that_is_not_0_is_an_error():
    with pytest.raises(RuntimeError, match="the program ended with exit status 3"):
        Program(lambda: sys.exit(3), "", ()).run()


def test_a_reserved_port_is_of_no_other_task():
    with _reserve("127.0.0.1", 0) as first:
        with pytest.raises(OSError):
            _reserve("127.0.0.1", first.getsockname()[1])
        with _reserve("127.0.0.1", 0) as second:
            assert first.getsockname() != second.getsockname()
