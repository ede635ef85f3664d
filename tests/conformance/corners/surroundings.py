"""Corners of what surrounds a step: sessions, partial runs, messages, devices, and errors that programs rely on."""

import pickle

import numpy as np


def _outcome(function):
    """Returns what a function returns, or the class of its error."""
    try:
        return function()
    except Exception as error:
        return type(error).__name__


def _run(tf, fetches, feed_dict=None):
    with tf.Session() as session:
        return session.run(fetches, feed_dict)


def a_session_is_not_entered_twice(tf):
    c, session = tf.constant(1), tf.Session()

    def nested():
        with session, session:
            return 0

    def again():
        with session:
            return int(session.run(c))

    return [_outcome(nested), _outcome(again)]


def a_session_is_the_default_more_than_once(tf):
    c, session = tf.constant(1), tf.Session()
    with session.as_default():
        with session.as_default():
            first = int(c.eval())
        second = int(c.eval())
    return [first, second, _outcome(c.eval)]


def partial_runs(tf):
    a, b, c = (tf.placeholder(tf.float32, [], name=name) for name in "abc")
    total = a + b
    product = total * c
    session = tf.Session()
    handles = [session.partial_run_setup([total, product], [a, b, c]) for _ in range(2)]
    totals = [float(session.partial_run(handle, total, {a: i, b: 2})) for i, handle in enumerate(handles)]
    products = [float(session.partial_run(handle, product, {c: t})) for handle, t in zip(handles, totals)]
    return [
        totals,
        products,
        _outcome(lambda: session.partial_run(handles[0], product, {c: 1})),
        _outcome(lambda: session.partial_run_setup([], [a])),
        _outcome(lambda: session.partial_run(session.partial_run_setup([total], [a, b]), total, {a: 1})),
    ]


def an_array_on_two_devices(tf):
    with tf.device("/cpu:0"):
        array = tf.TensorArray(tf.float32, 3)
    with tf.device("/cpu:1"):
        array = array.write(0, [1.0, 2.0])
        row = tf.constant([3.0, 4.0])
    array = array.write(1, row).write(2, row * 2)
    with tf.device("/cpu:1"):
        rows = array.stack()
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        return list(session.run([rows, tf.gradients(rows, row)[0]]))


def a_sparse_placeholder_with_a_shape(tf):
    x = tf.sparse_placeholder(tf.float32, shape=[2, 3])
    dense = tf.sparse_tensor_to_dense(x)
    return [
        x.get_shape().as_list(),
        _run(tf, dense, {x: tf.SparseTensorValue([[0, 1]], [5.0], [2, 3])}),
        _outcome(lambda: _run(tf, dense, {x: tf.SparseTensorValue([[0, 1]], [5.0], [2, 4])})),
    ]


def messages_that_leave_out_repeated_values(tf):
    found = []
    for number, field, values in (
        (1, "float_val", [1.0, 2.0]),
        (3, "int_val", [7]),
        (9, "int64_val", [1, 2, 3]),
        (10, "bool_val", [True]),
        (2, "double_val", []),
    ):
        message = type(tf.make_tensor_proto([1.0]))(dtype=number)
        for size in (2, 3):
            message.tensor_shape.dim.add().size = size
        getattr(message, field).extend(values)
        found.append(np.asarray(tf.make_ndarray(message)))
    return found


def division_by_zero(tf):
    zero = tf.placeholder_with_default(0, [])
    one = tf.constant(1)
    values = [one / zero, tf.floordiv(1.0, 0.0), tf.div_no_nan(1.0, 0.0), tf.constant(-7) // 2, tf.constant(-7) % 2]
    return [*values, *(_outcome(lambda value=value: _run(tf, value)) for value in (one // zero, one % zero))]


def betainc_of_partly_known_shapes(tf):
    shapes = ([2], [2], [2]), ([], [2], [2]), (None, [2], [2]), ([None], [2], [2]), ([], [], [])
    found = (tf.betainc(*(tf.placeholder(tf.float32, shape) for shape in each)).shape for each in shapes)
    return [*(shape.as_list() for shape in found), tf.betainc([1.0, 2.0], 3.0, 0.5)]


def a_low_rank_update_of_other_sizes(tf):
    base, column = tf.linalg.LinearOperatorDiag([1.0, 2.0, 3.0]), np.ones([3, 1], np.float32)
    make = tf.linalg.LinearOperatorLowRankUpdate
    return [
        _outcome(lambda: make(base, np.ones([2, 1], np.float32)) and 0),
        _outcome(lambda: make(base, column, diag_update=[1.0, 2.0]) and 0),
        _outcome(lambda: make(base, column, v=np.ones([2, 1], np.float32)) and 0),
        make(base, column, diag_update=[2.0]).to_dense(),
    ]


def an_index_beyond_an_accumulator(tf):
    accumulator = tf.SparseConditionalAccumulator(tf.float32, [3, 2])
    return [
        _outcome(lambda: _run(tf, accumulator.apply_grad([2], [[1.0, 2.0]]))),
        _outcome(lambda: _run(tf, accumulator.apply_grad([5], [[1.0, 2.0]]))),
    ]


def readiness_of_a_session(tf):
    v = tf.Variable(1, name="v")
    w = tf.Variable(2, name="w", collections=[tf.GraphKeys.LOCAL_VARIABLES])
    manager = tf.train.SessionManager(
        ready_op=tf.report_uninitialized_variables(),
        ready_for_local_init_op=tf.report_uninitialized_variables(tf.global_variables()),
        local_init_op=w.initializer,
    )
    nothing = tf.no_op(name="nothing")

    def told(**arguments):
        try:
            return [int(value) for value in manager.prepare_session("", **arguments).run([v, w])]
        except RuntimeError as error:
            return str(error)

    return [told(init_op=v.initializer), told(init_op=nothing), manager.recover_session("")[1]]


def pickled_shapes_and_types(tf):
    values = tf.TensorShape([1, None]), tf.TensorShape(None), tf.TensorShape([]), tf.float32, tf.bfloat16, tf.string
    return [repr(pickle.loads(pickle.dumps(value))) for value in values]


def images_without_channels(tf):
    image = tf.zeros([3, 3])
    changes = (
        lambda: tf.image.flip_left_right(image),
        lambda: tf.image.rot90(image),
        lambda: tf.image.resize_images(image, [2, 2]),
        lambda: tf.image.central_crop(image, 0.5),
        lambda: tf.image.pad_to_bounding_box(image, 0, 0, 4, 4),
        lambda: tf.image.grayscale_to_rgb(image),
        lambda: tf.image.adjust_contrast(image, 0.5),
        lambda: tf.image.total_variation(image),
        lambda: tf.image.encode_png(tf.cast(image, tf.uint8)),
    )
    return [_outcome(lambda change=change: str(change().shape)) for change in changes]


def an_imported_operation_without_a_kernel(tf):
    message = tf.GraphDef()
    for name, op, inputs in (("x", "Placeholder", []), ("index", "Placeholder", []), ("sum", "CrossReplicaSum", ["x"])):
        node = message.node.add(name=name, op=op, input=inputs)
        node.attr["T" if inputs else "dtype"].type = 3 if name == "index" else 1
        if not inputs:
            node.attr["shape"].shape.unknown_rank = True
    message.node[2].input.append("index")
    total, x, index = tf.import_graph_def(message, return_elements=["sum:0", "x:0", "index:0"])
    missing = _outcome(lambda: _run(tf, tf.identity(total), {x: [1.0], index: [[0]]}))
    return [total.dtype.name, total.shape.rank, missing]
