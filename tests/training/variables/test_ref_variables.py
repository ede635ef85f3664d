"""Reference variables: TensorFlow 1's graph of a variable, and when its value is read."""

import numpy as np
import pytest

import thalweg as tf


@pytest.fixture
def session():
    with tf.Session() as session:
        yield session


def count(session, value=0.0, **settings):
    """Returns an initialized scalar variable."""
    variable = tf.Variable(value, **settings)
    session.run(variable.initializer)
    return variable


# -- the graph -------------------------------------------------------------------------------------------------------


def test_the_graph_is_that_of_tensorflow():
    v = tf.Variable(1.0, name="v")
    n = tf.assign(v, 2.0, name="n")
    assert n.op.type == "Assign" and n.name == "n:0" and n.dtype.name == "float32_ref"
    assert n.op.inputs[0] is v._ref() and n.op.inputs[1].name == "n/value:0"
    assert n.op.get_attr("_class") == [b"loc:@v"] and n.op.get_attr("T") is tf.float32
    assert v.op.type == "VariableV2" and not hasattr(v, "handle")
    assert v.value() is v.value() and v.value().op.type == "Identity" and v.value().name == "v/read:0"
    assert v.value().dtype is tf.float32 and v.dtype.base_dtype is tf.float32


def test_operations_on_a_reference_are_on_the_device_of_its_variable():
    with tf.device("/cpu:0"):
        v = tf.Variable([1.0, 2.0])
    with tf.device("/device:GPU:0"):
        made = [tf.assign(v, [0.0, 1.0]).op, v.value().op, tf.scatter_add(v, [0], [1.0]).op, tf.identity(v).op]
    assert [op.device for op in made] == ["/device:CPU:0"] * 3 + ["/device:GPU:0"]


def test_device_functions_see_variables():
    seen = []
    with tf.device(lambda op: seen.append(op.type) or ("/cpu:0" if op.type.startswith("Variable") else "")):
        v = tf.get_variable("v", [2])
    assert "VariableV2" in seen and v.device == "/device:CPU:0"


def test_updates_of_optimizers():
    v, r = tf.Variable([1.0]), tf.Variable([1.0], use_resource=True)
    tf.train.AdamOptimizer().minimize(tf.reduce_sum(v * r))
    types = {op.type for op in tf.get_default_graph().get_operations()}
    assert {"ApplyAdam", "ResourceApplyAdam"} <= types
    assert {slot.uses_resource for slot in tf.global_variables() if "Adam" in slot.name} == {False, True}


def test_use_resource_by_scope_and_by_default():
    with tf.variable_scope("s", use_resource=True):
        assert tf.get_variable("v", []).uses_resource and tf.Variable(0.0).uses_resource
    tf.enable_resource_variables()
    try:
        assert tf.resource_variables_enabled() and tf.Variable(0.0).handle.dtype is tf.resource
        assert not tf.Variable(0.0, use_resource=False).uses_resource
    finally:
        tf.disable_resource_variables()
    assert tf.Variable(0.0).op.type == "VariableV2"


def test_the_classes_are_found_where_tensorflow_has_them():
    from thalweg.python.ops import resource_variable_ops, variables

    assert type(tf.Variable(0.0)) is variables.RefVariable
    assert type(tf.Variable(0.0, use_resource=True)) is resource_variable_ops.ResourceVariable
    assert not resource_variable_ops.is_resource_variable(tf.Variable(0.0))
    assert resource_variable_ops.is_resource_variable(resource_variable_ops.ResourceVariable(0.0))


def test_a_value_cannot_be_written_to():
    with pytest.raises(TypeError, match="mutable tensor"):
        tf.raw_ops.Assign(ref=tf.constant(1.0), value=2.0)
    with pytest.raises(TypeError, match="only variables can be assigned to"):
        tf.assign(tf.constant(1.0), 2.0)


# -- when a value is read --------------------------------------------------------------------------------------------


def test_a_fetched_variable_is_read_after_its_updates(session):
    step = tf.train.create_global_step()
    w = tf.Variable(1.0)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(w * w, global_step=step)
    session.run(tf.global_variables_initializer())
    assert [session.run([train, step])[1] for _ in range(50)] == list(range(1, 51))
    assert [session.run([step, train])[0] for _ in range(3)] == [51, 52, 53]


def test_values_computed_from_it_are_those_before_an_update(session):
    v = count(session)
    doubled, update = v * 2.0, v.assign_add(1.0)
    assert [session.run([doubled, update, v]) for _ in range(2)] == [[0.0, 1.0, 1.0], [2.0, 2.0, 2.0]]


def test_a_consumer_that_depends_on_an_update_sees_it(session):
    v = count(session)
    with tf.control_dependencies([v.assign_add(1.0)]):
        through_control = v * 10.0
        one = tf.constant(1.0) * 1.0
        through_data = one * v  # waits for the update by its other input
    assert session.run([through_control, through_data]) == [10.0, 1.0]


def test_the_result_of_an_update_is_a_reference(session):
    v = count(session)
    twice = tf.assign_add(tf.assign_add(v, 1.0), 1.0)
    assert session.run(twice) == 2.0 and session.run(tf.assign(twice, 7.0) + 1.0) == 8.0


def test_in_a_conditional(session):
    v, p = count(session), tf.placeholder(tf.bool, [])

    def update():
        with tf.control_dependencies([v.assign_add(1.0)]):
            return v + 10.0

    y = tf.cond(p, update, lambda: v + 100.0)
    assert [session.run(y, {p: side}) for side in (True, False, True)] == [11.0, 101.0, 12.0]
    assert session.run([tf.cond(p, lambda: v.assign(5.0), lambda: v.assign(6.0)), v], {p: False}) == [6.0, 6.0]


def test_in_a_loop(session):
    v = count(session)

    def body(i, total):
        with tf.control_dependencies([v.assign_add(1.0)]):
            return i + 1, total + v

    _, total = tf.while_loop(lambda i, t: i < 4, body, [0, 0.0], parallel_iterations=1)
    assert session.run([total, v]) == [10.0, 4.0]


def test_a_value_may_be_fed_in_place_of_it(session):
    v = count(session, 3.0)
    assert session.run(v * 2.0, {v: 5.0}) == 10.0 and session.run(v) == 3.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="a value is fed"):
        session.run(v.assign_add(1.0), {v: 5.0})


def test_rows_are_gathered_from_the_variable_itself(session):
    table = tf.get_variable("table", initializer=np.arange(12.0, dtype=np.float32).reshape(6, 2))
    rows = tf.nn.embedding_lookup(table, [1, 4, 1])
    train = tf.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(rows))
    session.run(tf.global_variables_initializer())
    metadata = tf.RunMetadata()
    options = tf.RunOptions(output_partition_graphs=True)
    before, _ = session.run([rows, train], options=options, run_metadata=metadata)
    assert before.tolist() == [[2.0, 3.0], [8.0, 9.0], [2.0, 3.0]]
    assert session.run(table)[[0, 1, 4]].tolist() == [[0.0, 1.0], [0.0, 1.0], [7.0, 8.0]]
    types = [node.op for graph in metadata.partition_graphs for node in graph.node]
    assert "ResourceGather" in types and "ReadVariableOp" not in types


def test_assignment_without_validation_changes_the_shape(session):
    v = count(session, [1.0, 2.0])
    assert session.run(tf.assign(v, [1.0, 2.0, 3.0], validate_shape=False)).tolist() == [1.0, 2.0, 3.0]
    assert session.run(v).tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="shape"):
        tf.assign(v, [1.0])


# -- files ------------------------------------------------------------------------------------------------------------


def test_meta_graphs_keep_both_kinds(session, tmp_path):
    tf.Variable(3.0, name="v")
    tf.Variable(4.0, name="r", use_resource=True)
    tf.Variable(5.0, name="cached", caching_device="/cpu:0")
    session.run(tf.global_variables_initializer())
    path = tf.train.Saver().save(session, str(tmp_path / "model"))
    with tf.Graph().as_default(), tf.Session() as other:
        tf.train.import_meta_graph(f"{path}.meta").restore(other, path)
        variables = {v.op.name: v for v in tf.global_variables()}
        assert {name: v.op.type for name, v in variables.items()} == {
            "v": "VariableV2",
            "r": "VarHandleOp",
            "cached": "VariableV2",
        }
        assert other.run(variables) == {"v": 3.0, "r": 4.0, "cached": 5.0}
        assert other.run(variables["v"].assign_add(1.0)) == 4.0


def test_imported_references_can_be_mapped_to_values():
    with tf.Graph().as_default() as graph:
        v = tf.Variable(1.0, name="v")
        tf.add(v, 1.0, name="y")
    (y,) = tf.import_graph_def(graph.as_graph_def(), {"v:0": tf.constant(5.0)}, ["y:0"])
    with tf.Session() as session:
        assert session.run(y) == 6.0


def test_variables_of_several_devices_are_saved_by_their_own_names(tmp_path):
    with tf.device("/cpu:1"):
        variables = [tf.Variable(np.full(i, i, np.float32), name=f"layer{i}/bias") for i in range(1, 4)]
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
    for v in variables:
        assert tf.train.load_variable(path, v.op.name).tolist() == [v.shape[0].value] * v.shape[0].value


def _captured_by_a_branch(x, read):
    value = read()
    return tf.cond(x < 1.0, lambda: value + 1.0, lambda: 5.0)


def _captured_by_a_loop(x, read):
    value = read()
    return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + value), [0, x])[1]


@pytest.mark.parametrize(
    "build, expected",
    [
        (lambda x, read: x + read(), [1, 2]),
        (lambda x, read: x + tf.identity(read()), [1, 2]),
        (lambda x, read: tf.cond(x < 1.0, lambda: read() + 1.0, lambda: 5.0), [2, 3]),
        (_captured_by_a_branch, [2, 3]),
        (_captured_by_a_loop, [3, 6]),
    ],
)
def test_what_reads_the_result_of_an_update_runs_the_update(build, expected):
    """The values are those of TensorFlow; the read of a consumer of its own waits for the update, too."""
    variable = tf.get_variable("v", initializer=0.0, use_resource=False)
    x = tf.placeholder(tf.float32, [])
    y = build(x, lambda: tf.identity(tf.assign_add(variable, 1.0)))
    with tf.Session() as session:
        session.run(variable.initializer)
        assert [session.run(y, {x: 0.0}) for _ in range(2)] == expected
        assert session.run(variable) == 2
