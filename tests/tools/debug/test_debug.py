"""The debugger of sessions: dumps that can be searched, and a prompt that is driven through a pipe."""

from __future__ import annotations

import io
import sys
from typing import Any

import numpy as np
import pytest

import thalweg as tf
from tests import children
from thalweg._src.tools.debug.dump import load_tensor_from_event_file

tf_debug = tf.python.debug

PROGRAM = """
import thalweg as tf
from thalweg.python import debug as tf_debug

x = tf.placeholder(tf.float32, [2], name="x")
y = tf.log(x, name="y")
z = tf.reduce_sum(y, name="z")
session = tf_debug.LocalCLIDebugWrapperSession(tf.Session())
session.add_tensor_filter("has_inf_or_nan", tf_debug.has_inf_or_nan)
for value in ([1, 2], [3, 4], [0, 5], [6, 7]):
    print("result", session.run(z, {x: value}))
"""


def model() -> tuple[Any, Any]:
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.name_scope("layer"):
        y = tf.log(x, name="y")
    return x, tf.reduce_sum(y, name="z")


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


def type_in(monkeypatch: Any, *lines: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


def test_a_prompt_is_driven_through_a_pipe(tmp_path: Any, start_child: Any) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    child = start_child(
        [sys.executable, script], stdin=-1, stdout=-1, stderr=-1, text=True, env=children.environment(), cwd=tmp_path
    )
    out, err = child.communicate("run_info\nrun\nlt\npt y[0]\nrun -f has_inf_or_nan\nlt -f has_inf_or_nan\nq\n")
    assert child.returncode == 1, err
    assert "fetches: z:0" in out
    assert "feeds: x:0" in out
    assert "y:0  Log  float32[2]" in out
    assert "y:0[0]  float32[]" in out
    assert out.count("result") == 2, "the third run stops at its filter"
    assert "run 3: after the step, filter has_inf_or_nan passed" in out
    assert "2 tensors\ny:0" in out


def test_commands(monkeypatch: Any, capsys: Any) -> None:
    x, z = model()
    session = tf_debug.LocalCLIDebugWrapperSession(tf.Session())
    type_in(
        monkeypatch,
        *("lt", "nothing", "run -t 0", "run -f none", "help", "lf", "run"),
        *("lt -n layer", "lt -t Sum", "ni layer/y", "li z", "lo layer/y", "pt layer/y[0:1]", "pt layer/y[a]"),
        *("pt missing", "ni missing", "pt", "run -n"),
    )
    assert session.run(z, {x: [1, 1]}) == 0
    assert session.run(z, {x: [1, 1]}) == 0
    out = capsys.readouterr().out
    for words in (
        *("no tensors yet", "unknown command 'nothing'", "-t is 0", "there is no filter 'none'", "list dumped tensors"),
        *("has_inf_or_nan", "1 tensors\nlayer/y:0", "1 tensors\nz:0", "layer/y  Log  device any", "1 consumers: z"),
        *("  layer/y  Log", "z  Sum", "layer/y:0[0:1]  float32[1]\n[0.]", "not an index", "Watch key 'missing:0"),
        *("Node 'missing' does not exist", "required"),
    ):
        assert words in out, words
    assert out.count("tfdbg> ") == 18, "the second run is not debugged"


def test_runs_are_skipped_and_the_end_of_the_input_goes_on(monkeypatch: Any, capsys: Any) -> None:
    x, z = model()
    session = tf_debug.LocalCLIDebugWrapperSession(tf.Session(), ui_type="readline")
    type_in(monkeypatch, "run -t 3")
    for _ in range(5):
        session.run(z, {x: [1, 2]})
    out = capsys.readouterr().out
    assert "run 1: before" in out
    assert "run 2" not in out
    assert "run 3: after the step" in out
    assert "end of input" in out
    assert "run 4" not in out
    assert session.run_call_count == 5


def test_a_failing_step_stops_at_the_prompt(monkeypatch: Any, capsys: Any) -> None:
    x = tf.placeholder(tf.float32, [])
    checked = tf.check_numerics(x, "bad")
    session = tf_debug.LocalCLIDebugWrapperSession(tf.Session())
    type_in(monkeypatch, "run", "run")
    with pytest.raises(tf.errors.InvalidArgumentError, match="bad"):
        session.run(checked, {x: np.nan})
    out = capsys.readouterr().out
    assert "the step failed" in out
    assert "after the error" in out


def test_a_debugging_session_is_a_session(monkeypatch: Any) -> None:
    v = tf.Variable(3.0, name="v")
    type_in(monkeypatch)
    with tf_debug.LocalCLIDebugWrapperSession(tf.Session()) as session:
        assert tf.get_default_session() is session
        v.initializer.run()
        assert v.eval() == 3
        assert session.graph is tf.get_default_graph()
        assert session.make_callable(v * 2)() == 6
    assert tf.get_default_session() is None
    with pytest.raises(TypeError, match="expected a session"):
        tf_debug.LocalCLIDebugWrapperSession(3)


def test_steps_are_dumped(tmp_path: Any) -> None:
    x, z = model()
    root = tmp_path / "dumps"
    session = tf_debug.DumpingDebugWrapperSession(tf.Session(), str(root))
    with np.errstate(divide="ignore"):
        assert session.run({"z": z}, {x: [0, 1]})["z"] == -np.inf
    session.run(z, {x: [1, 1]})
    first, second = sorted(root.iterdir())
    dump = tf_debug.DebugDumpDir(str(first))
    assert set(dump.nodes()) >= {"x", "layer/y", "z"}
    assert (dump.run_fetches_info, dump.run_feed_keys_info) == (["z:0"], ["x:0"])
    bad = dump.find(tf_debug.has_inf_or_nan)
    assert [datum.tensor_name for datum in bad] == ["layer/y:0", "z:0"]
    assert dump.find(tf_debug.has_inf_or_nan, first_n=1, exclude_node_names="layer")[0].node_name == "z"
    assert dump.get_tensors("layer/y", 0, "DebugIdentity")[0].tolist() == [-np.inf, 0]
    (datum,) = dump.watch_key_to_data("z:0:DebugIdentity")
    assert dump.watch_keys("z") == [datum.watch_key]
    assert dump.get_tensor_file_paths("z", 0, "DebugIdentity") == [datum.file_path]
    assert dump.get_dump_sizes_bytes("z", 0, "DebugIdentity") == [datum.dump_size_bytes]
    assert dump.get_rel_timestamps("z", 0, "DebugIdentity")[0] > 0
    assert len(dump.dumped_tensor_data) == dump.size
    with pytest.raises(ValueError, match="does not exist"):
        dump.get_tensors("z", 7, "DebugIdentity")
    with pytest.raises(LookupError, match="set_python_graph"):
        dump.node_inputs("z")
    dump.set_python_graph(tf.get_default_graph())
    assert dump.node_inputs("z")[0] == "layer/y"
    assert dump.node_recipients("layer/y") == ["z"]
    assert not tf_debug.DebugDumpDir(str(second)).find(tf_debug.has_inf_or_nan)
    with pytest.raises(ValueError, match="non-empty"):
        tf_debug.DumpingDebugWrapperSession(tf.Session(), str(root))


def test_a_function_chooses_what_is_watched(tmp_path: Any) -> None:
    x, z = model()
    options = tf_debug.WatchOptions(node_name_regex_whitelist="layer/.*", tensor_dtype_regex_whitelist="float.*")
    session = tf_debug.DumpingDebugWrapperSession(tf.Session(), str(tmp_path / "d"), lambda fetches, feeds: options)
    session.run(z, {x: [1, 1]})
    (folder,) = (tmp_path / "d").iterdir()
    assert tf_debug.DebugDumpDir(str(folder)).nodes() == ["layer/y"]


def test_values_of_all_types_are_dumped(tmp_path: Any) -> None:
    values = {
        "text": tf.constant(["a", ""]),
        "flag": tf.constant(True),
        "half": tf.constant([1.5], tf.float16),
        "complex": tf.constant(1 + 2j),
    }
    fetches = [tf.identity(value, name=f"is_{name}") for name, value in values.items()]
    outside = tf.cond(tf.constant(True), lambda: tf.constant(1.0), lambda: tf.constant(2.0))
    session = tf_debug.DumpingDebugWrapperSession(tf.Session(), str(tmp_path / "d"))
    session.run([fetches, outside])
    (folder,) = (tmp_path / "d").iterdir()
    dump = tf_debug.DebugDumpDir(str(folder))
    found = {name: dump.get_tensors(f"is_{name}", 0, "DebugIdentity")[0].tolist() for name in values}
    assert found == {"text": [b"a", b""], "flag": True, "half": [1.5], "complex": 1 + 2j}


def test_hooks_debug_monitored_sessions(tmp_path: Any, monkeypatch: Any, capsys: Any) -> None:
    step = tf.train.create_global_step()
    loss = tf.reduce_sum(tf.constant([1.0, 2.0]) * tf.Variable(2.0), name="loss")
    train = tf.assign_add(step, 1)
    prompt, dumps = tf_debug.LocalCLIDebugHook(), tf_debug.DumpingDebugHook(str(tmp_path / "d"))
    prompt.add_tensor_filter("large", lambda datum, value: value.dtype.kind == "f" and np.max(value) > 5)
    type_in(monkeypatch, "run", "lt -f large", "run -n")
    with tf.train.MonitoredSession(hooks=[prompt, dumps]) as session:
        assert session.run([loss, train])[0] == 6
        session.run([loss, train])
    assert "1 tensors\nloss:0" in capsys.readouterr().out
    first, _ = sorted((tmp_path / "d").iterdir())
    assert tf_debug.DebugDumpDir(str(first)).get_tensors("loss", 0, "DebugIdentity") == [6]


def test_names_of_operations_do_not_lead_out_of_the_folder(tmp_path: Any) -> None:
    outside = tf.constant(1.0, name="a/../../../../outside")
    session = tf_debug.DumpingDebugWrapperSession(tf.Session(), str(tmp_path / "dumps"))
    with pytest.raises(ValueError, match="leads out of the folder"):
        session.run(outside)
    assert [path.name for path in tmp_path.iterdir()] == ["dumps"]


@pytest.mark.parametrize("content", [b"", b"\xff\xff"])
def test_a_file_that_is_no_dump_is_refused(content: bytes, tmp_path: Any) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ValueError, match="is not a dump of a tensor"):
        load_tensor_from_event_file(str(tmp_path / "file"))
