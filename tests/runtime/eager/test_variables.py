"""Variables of eager execution: values, names, scopes, stores, templates, copies and errors."""

import copy
import gc
import operator
import pickle
import weakref

import numpy as np
import pytest

import thalweg as tf

tfe = tf.contrib.eager
pytestmark = pytest.mark.usefixtures("fresh")


def _w(name="w", **options):
    return tf.get_variable(name, [2], initializer=tf.ones_initializer(), **options)


def test_facts():
    with tf.device("/cpu:0"):
        v = tf.Variable([1.0, 2.0], name="a")
    assert (v.name, v.dtype, v.shape.as_list(), v.trainable) == ("a:0", tf.float32, [2], True)
    assert "/device:" in v.device and v.initializer is None and v.is_initialized().numpy()
    assert repr(v) == "<tf.Variable 'a:0' shape=(2,) dtype=float32, numpy=array([1., 2.], dtype=float32)>"
    assert isinstance(v, tfe.Variable) and isinstance(tfe.Variable(1.0), tf.Variable)
    assert tf.global_variables() == [] and tf.trainable_variables() == []
    assert tf.global_variables_initializer() is None and tf.variables_initializer([v]) is None


def test_values():
    v = tf.Variable(3)
    assert (int(v), float(v), complex(v), operator.index(v), bool(v)) == (3, 3.0, 3 + 0j, 3, True)
    assert list(range(10))[v] == 3
    assert np.asarray(tf.Variable([1.0, 2.0])).tolist() == [1, 2]
    assert (tf.Variable([1.0, 2.0]) * 2.0 + np.float32(1)).numpy().tolist() == [3, 5]
    assert tf.Variable(1.5).initialized_value().numpy() == 1.5
    assert tf.Variable(lambda: tf.ones([2])).numpy().tolist() == [1, 1]


def test_assignments_return_the_variable():
    v = tf.Variable([1.0, 2.0])
    assert v.assign([3.0, 4.0]).assign_add([1.0, 1.0]).assign_sub([0.0, 1.0]).numpy().tolist() == [4, 4]
    assert v.assign_add([1.0, 1.0], read_value=False) is None
    assert tf.assign_add(tf.assign(v, [0.0, 0.0]), [1.0, 2.0]).numpy().tolist() == [1, 2]
    v.load([7.0, 8.0])
    assert v.numpy().tolist() == [7, 8]
    count = tf.Variable(1)
    assert count.count_up_to(2).numpy() == 1 and count.numpy() == 2
    with pytest.raises(tf.errors.OutOfRangeError, match="Reached limit of 2"):
        count.count_up_to(2)


def test_an_old_value_does_not_change():
    v = tf.Variable([1.0, 2.0])
    before, array = v.value(), v.numpy()
    v.assign_add([1.0, 1.0])
    tf.scatter_update(v, [0], [9.0])
    assert before.numpy().tolist() == array.tolist() == [1, 2] and v.numpy().tolist() == [9, 3]


def test_rows_and_slices():
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    rows = tf.IndexedSlices(tf.constant([[1.0, 1.0], [2.0, 2.0]]), tf.constant([0, 0]))
    assert v.scatter_add(rows).numpy()[0].tolist() == [4, 5]
    assert tf.scatter_nd_update(v, [[1, 0]], [0.0]).numpy()[1].tolist() == [0, 4]
    assert v[2, 1].numpy() == 6 and v[:, 0].numpy().tolist() == [4, 0, 5]
    v[1:, 0].assign([8.0, 9.0])
    tf.assign(v[0], [0.0, 0.0])
    assert v.numpy().tolist() == [[0, 0], [8, 4], [9, 6]]
    assert v.sparse_read([2, 2]).numpy().tolist() == [[9, 6], [9, 6]]
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(v[1:, 0] * 3.0)
    assert tape.gradient(y, v).numpy().tolist() == [[0, 0], [3, 0], [3, 0]]


@pytest.mark.parametrize(
    ("use", "error", "text"),
    [
        (lambda v: v.op, AttributeError, "Tensor.op is meaningless"),
        (lambda v: v.graph, AttributeError, "Tensor.graph is meaningless"),
        (lambda v: v.initial_value, RuntimeError, "initial_value of 'v:0': not supported"),
        (lambda v: v.create, RuntimeError, "create of 'v:0'"),
        (lambda v: v.eval(), RuntimeError, "eval of 'v:0'"),
        (lambda v: v.to_proto(), RuntimeError, "to_proto of 'v:0'"),
        (lambda v: operator.iadd(v, 1.0), RuntimeError, r"Use variable.assign_add\(value\)"),
        (lambda v: operator.isub(v, 1.0), RuntimeError, r"Use variable.assign_sub\(value\)"),
        (lambda v: v.assign([1.0, 2.0, 3.0]), ValueError, r"Shapes \(2,\) and \(3,\) are incompatible"),
        (lambda v: v.assign(tf.constant([1, 2])), ValueError, "requested dtype float32"),
        (list, TypeError, "not iterable"),
        (pickle.dumps, Exception, "resource"),
        (lambda v: tf.Variable(None), ValueError, "initial_value must be specified"),
        (lambda v: tf.Variable([1.0], shape=[2]), ValueError, "expected shape"),
    ],
)
def test_what_is_refused(use, error, text):
    v = tf.Variable([1.0, 2.0], name="v")
    with pytest.raises(error, match=text):
        use(v)
    assert v.numpy().tolist() == [1, 2]


def test_copies():
    v = tf.Variable([1.0, 2.0], name="v")
    other, same = copy.deepcopy({"a": v, "b": v}), copy.copy(v)
    assert other["a"] is other["b"] and other["a"].name == "v:0"
    other["a"].assign([5.0, 6.0])
    assert v.numpy().tolist() == [1, 2]
    same.assign([3.0, 4.0])
    assert v.numpy().tolist() == [3, 4]
    with tf.Graph().as_default(), pytest.raises(NotImplementedError, match="__deepcopy__"):
        copy.deepcopy(tf.Variable(1.0, use_resource=True))


def test_a_variable_is_freed_with_its_object():
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)

    def trained():
        v = tf.Variable(tf.ones([1000]))
        optimizer.minimize(lambda: tf.reduce_sum(v * v))
        return weakref.ref(v._handle.value)

    freed = trained()
    gc.collect()
    assert freed() is None


# -- scopes, stores and templates -------------------------------------------------------------------------------------


def test_each_get_variable_creates_one():
    first, second = _w(), _w()
    assert first is not second and first.name == second.name == "w:0"
    with tf.variable_scope("s") as scope, tf.variable_scope("t"):
        assert _w().name == "s/t/w:0"
        assert scope.reuse is tf.AUTO_REUSE and scope.use_resource
    with tf.variable_scope("s", reuse=True):
        assert _w().name == "s/w:0"
    with tf.variable_scope(None, "d") as first, tf.variable_scope(None, "d") as second:
        assert (first.name, second.name) == ("d", "d/d")
    assert isinstance(_w(use_resource=False), tfe.Variable)
    with pytest.raises(NotImplementedError, match="caching_device"), tf.variable_scope("s", caching_device="/cpu:0"):
        pass


def test_a_store_shares_variables():
    store = tfe.EagerVariableStore()
    with store.as_default(), tf.variable_scope("s"):
        first, second = _w(), _w()
        frozen = _w("frozen", trainable=False)
        assert first is second
        with pytest.raises(ValueError, match="shape"):
            tf.get_variable("w", [3])
    assert store.variables() == [frozen, first] and store.trainable_variables() == [first]
    assert store.non_trainable_variables() == [frozen]
    copied = store.copy()
    copied.trainable_variables()[0].assign([5.0, 5.0])
    assert first.numpy().tolist() == [1, 1]
    with copied.as_default(), tf.variable_scope("s"):
        assert _w().numpy().tolist() == [5, 5]
    with pytest.raises(ValueError, match="VariableStore"):
        tfe.EagerVariableStore("store")


def test_custom_getters_creators_and_partitions():
    def doubled(getter, name, *args, **kwargs):
        return getter(name, *args, **kwargs) * 2.0

    with tf.variable_scope("s", custom_getter=doubled):
        assert _w().numpy().tolist() == [2, 2]

    def named(next_creator, **kwargs):
        return next_creator(**{**kwargs, "name": "other"})

    with tf.variable_creator_scope(named):
        assert tf.Variable(1.0).name == _w().name == "other:0"
    parts = tf.get_variable("p", [4, 2], initializer=tf.ones_initializer(), partitioner=tf.fixed_size_partitioner(2))
    assert [part.name for part in parts] == ["p/part_0:0", "p/part_1:0"]
    assert tf.convert_to_tensor(parts).numpy().tolist() == [[1, 1]] * 4


def test_templates():
    def scaled(x):
        return x * _w()

    first, second = tf.make_template("t", scaled), tf.make_template("t", scaled)
    assert first.variables == []
    assert first(2.0).numpy().tolist() == [2, 2]
    first.variables[0].assign([3.0, 3.0])
    assert first(1.0).numpy().tolist() == [3, 3] and second(1.0).numpy().tolist() == [1, 1]
    assert [v.name for v in first.trainable_variables + second.variables] == ["t/w:0", "t_1/w:0"]
    outer = tf.make_template("outer", lambda x: first(x) + tf.make_template("inner", scaled)(x))
    outer(1.0)
    assert [v.name for v in outer.variables] == ["outer/inner/w:0"]
    with pytest.raises(ValueError, match="unique_name_"):
        tf.make_template("t", scaled, unique_name_="t")


def test_a_template_creates_variables_once():
    names = iter(("first", "second"))
    template = tf.make_template("t", lambda: _w(next(names)))
    template()
    with pytest.raises(ValueError, match=r"created new trainable variables.*t/second"):
        template()


def test_the_global_step():
    assert tf.train.get_global_step() is None
    step = tf.train.get_or_create_global_step()
    assert (step.name, step.dtype, int(step)) == ("global_step:0", tf.int64, 0)
    assert tf.train.get_or_create_global_step() is step is tf.train.get_global_step()
    with pytest.raises(ValueError, match="already exists"):
        tf.train.create_global_step()


def test_a_graph_beside():
    v = tf.Variable(2.0)
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.get_variable("w", [], initializer=tf.ones_initializer())
        session.run(tf.global_variables_initializer())
        assert tf.global_variables() == [w] and session.run(w) == 1
        with pytest.raises(RuntimeError, match="EagerTensor"):
            w + v
    assert v.numpy() == 2
