"""tf.profiler: counts of operations by name scope, data flow, op type and line."""

import pytest

import thalweg as tf

Builder = tf.profiler.ProfileOptionBuilder


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [5, 8, 8, 3], name="x")
        with tf.variable_scope("conv"):
            w = tf.get_variable("w", [3, 3, 3, 4])
            y = tf.nn.conv2d(x, w, 1, "SAME", name="y")
        with tf.variable_scope("dense"):
            k = tf.get_variable("k", [256, 10])
            tf.matmul(tf.reshape(y, [5, 256]), k, name="z")
        tf.get_variable("counter", [], trainable=False)
        yield graph


def test_parameters_of_trainable_variables(graph, capsys):
    found = tf.profiler.profile(graph, options=Builder.trainable_variables_parameter())
    assert found.name == "_TFProfRoot" and found.total_parameters == 3 * 3 * 3 * 4 + 256 * 10
    shown = capsys.readouterr().out
    assert "dense/k (2,560/2,560 params)" in shown
    by_name = {child.name: child.total_parameters for child in found.children}
    assert (by_name["conv"], by_name["dense"], by_name["counter"]) == (108, 2560, 0)


@pytest.mark.parametrize("cmd", ["scope", "op", "graph", "code"])
def test_floating_point_operations(graph, cmd, capsys):
    options = Builder(Builder.float_operation()).with_accounted_types(["Conv2D", "MatMul"]).with_empty_output().build()
    found = tf.profiler.profile(graph, run_meta=tf.RunMetadata(), cmd=cmd, options=options)
    assert found.total_float_ops == 2 * (5 * 8 * 8 * 4) * 27 + 2 * (5 * 10) * 256
    assert capsys.readouterr().out == ""


def test_an_unknown_size_counts_nothing():
    with tf.Graph().as_default() as graph:
        tf.matmul(tf.placeholder(tf.float32, [None, 3]), tf.ones([3, 2]))
        options = Builder(Builder.float_operation()).with_empty_output().build()
        assert tf.profiler.profile(graph, options=options).total_float_ops == 0


def test_operations_of_a_type(graph):
    options = Builder(Builder.float_operation()).with_empty_output().build()
    found = tf.profiler.profile(graph, cmd="op", options=options)
    first = found.children[0]
    assert first.name == "Conv2D" and [node.name for node in first.graph_nodes] == ["conv/y"]
    assert [child.total_float_ops for child in found.children] == sorted(
        (child.total_float_ops for child in found.children), reverse=True
    )


def test_time_and_memory_of_steps(graph, tmp_path):
    profiler = tf.profiler.Profiler(graph)
    with tf.Session(graph=graph) as session:
        session.run(tf.variables_initializer(tf.global_variables()))
        for step in range(2):
            metadata = tf.RunMetadata()
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            session.run("dense/z:0", {"x:0": [[[[1.0] * 3] * 8] * 8] * 5}, options=options, run_metadata=metadata)
            profiler.add_step(step, metadata)
    names = {stats.node_name for device in metadata.step_stats.dev_stats for stats in device.node_stats}
    options = Builder(Builder.time_and_memory(min_bytes=0)).with_empty_output()
    found = profiler.profile_name_scope(options.build())
    assert found.total_exec_micros == found.total_cpu_exec_micros + found.total_accelerator_exec_micros > 0
    assert names & {operation.name for operation in graph.get_operations()}
    profiler.profile_operations(options.with_step(1).with_file_output(str(tmp_path / "profile")).build())
    assert "Profile of op" in (tmp_path / "profile").read_text()
    profiler.profile_graph(options.with_timeline_output(str(tmp_path / "trace")).build())
    assert {path.name for path in tmp_path.iterdir()} == {"profile", "trace_0", "trace_1"}


def test_what_is_shown(graph):
    def names(**given):
        options = Builder(Builder.trainable_variables_parameter()).with_node_names(**given).with_empty_output()
        found = tf.profiler.profile(graph, options=options.build())
        return [child.name for child in found.children], found

    assert names(start_name_regexes=["dense"])[0] == ["dense"]
    assert names(hide_name_regexes=["conv", "conv/.*", "x"])[0][:2] == ["counter", "dense"]
    shown, found = names(show_name_regexes=["dense/k"])
    assert shown == ["dense/k"] and found.total_parameters == 2668
    assert "conv" not in names(trim_name_regexes=["conv"])[0]
    options = Builder(Builder.trainable_variables_parameter()).with_max_depth(1).with_min_parameters(200)
    found = tf.profiler.profile(graph, options=options.with_empty_output().build())
    assert [child.name for child in found.children] == ["dense"] and not found.children[0].children
    options = options.account_displayed_op_only(True).with_node_names(show_name_regexes=["dense/k"]).with_max_depth(2)
    assert tf.profiler.profile(graph, options=options.build()).total_parameters == 2560


def test_lines_of_the_program(graph):
    options = Builder(Builder.trainable_variables_parameter()).with_empty_output().build()
    found = tf.profiler.Profiler(graph).profile_python(options)
    assert any(name.endswith(":graph") and parameters == 2560 for name, parameters in below(found))


def below(node):
    for child in node.children:
        yield child.name.replace("test_profiler.py", ""), child.parameters
        yield from below(child)


def test_what_is_refused(graph):
    with pytest.raises(ValueError, match="scope, graph, op, code"):
        tf.profiler.profile(graph, cmd="nothing")
    with pytest.raises(ValueError, match="op_log"):
        tf.profiler.Profiler(graph, op_log=object())
