"""Corners of names: scopes, uniqueness, variables, collections."""


def operations_are_numbered(tf):
    x = [tf.constant(1), tf.constant(2), tf.constant(3, name="a"), tf.constant(4, name="a"), tf.constant(5, name="a_1")]
    return [t.name for t in x]


def scopes_are_numbered(tf):
    names = []
    for _ in range(3):
        with tf.name_scope("s") as scope:
            names += [scope, tf.constant(1, name="c").name]
    return names


def a_scope_entered_again(tf):
    with tf.name_scope("s") as scope:
        first = tf.constant(1, name="c").name
    with tf.name_scope(scope):
        second = tf.constant(1, name="c").name
    with tf.name_scope("s/"):
        third = tf.constant(1, name="d").name
    with tf.name_scope(None):
        fourth = tf.constant(1, name="e").name
    return first, second, third, fourth


def names_ignore_case(tf):
    return [tf.constant(1, name=name).name for name in ("A", "a", "A", "a_1", "A_1")]


def a_name_that_is_none(tf):
    return tf.constant(1, name="a b")


def a_scope_that_is_none(tf):
    with tf.name_scope("_s"):
        return tf.constant(1)


def names_of_composites(tf):
    x = tf.placeholder(tf.float32, [2, 3])
    tf.nn.softmax_cross_entropy_with_logits_v2(labels=x, logits=x)
    tf.reduce_mean(x + 1.0)
    tf.nn.moments(x, [0])
    return sorted(op.name for op in tf.get_default_graph().get_operations() if "/" not in op.name)[:12]


def names_of_operators(tf):
    x = tf.placeholder(tf.float32, [2])
    results = [x + x, x - x, x * x, x / x, -x, abs(x), x < 1.0, x**2.0, x[0], x // x, x % x]
    return [t.op.name for t in results]


def variables_in_scopes(tf):
    with tf.variable_scope("a"):
        x = tf.get_variable("x", [1])
        with tf.variable_scope("b"):
            y = tf.get_variable("y", [1])
        with tf.name_scope("n"):
            z, w = tf.get_variable("z", [1]), tf.Variable(1.0, name="w")
    return [v.name for v in (x, y, z, w)]


def variables_are_shared(tf):
    with tf.variable_scope("a"):
        x = tf.get_variable("x", [1])
    with tf.variable_scope("a", reuse=True):
        y = tf.get_variable("x", [1])
    with tf.variable_scope("a", reuse=tf.AUTO_REUSE):
        z, w = tf.get_variable("x"), tf.get_variable("w", [2])
    return x is y, x is z, w.name, len(tf.global_variables())


def a_variable_made_twice(tf):
    tf.get_variable("x", [1])
    tf.get_variable("x", [1])


def a_variable_shared_that_is_not_there(tf):
    with tf.variable_scope("a", reuse=True):
        tf.get_variable("x", [1])


def a_variable_shared_in_another_shape(tf):
    tf.get_variable("x", [1])
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        tf.get_variable("x", [2])


def a_variable_without_a_shape(tf):
    tf.get_variable("x")


def scopes_of_variables_entered_again(tf):
    with tf.variable_scope("a") as scope:
        x = tf.get_variable("x", [1])
        first = tf.constant(1, name="c").name
    with tf.variable_scope(scope, reuse=True):
        y = tf.get_variable("x")
        second = tf.constant(1, name="c").name
    return x is y, first, second, scope.name, scope.original_name_scope


def default_names_are_numbered(tf):
    names = []
    for _ in range(2):
        with tf.variable_scope(None, default_name="layer"):
            names.append(tf.get_variable("w", [1]).name)
    return names


def variable_names_are_numbered(tf):
    return [
        tf.Variable(1.0).name,
        tf.Variable(2.0).name,
        tf.Variable(3.0, name="v").name,
        tf.Variable(3.0, name="v").name,
    ]


def initializers_are_inherited(tf):
    with tf.variable_scope("a", initializer=tf.constant_initializer(3.0)):
        x = tf.get_variable("x", [2])
        with tf.variable_scope("b"):
            y = tf.get_variable("y", [1], dtype=tf.float64)
    return x, y


def collections(tf):
    with tf.variable_scope("a"):
        x = tf.get_variable("x", [1], trainable=False)
    with tf.variable_scope("b"):
        y = tf.get_variable(
            "y", [1], collections=["mine", tf.GraphKeys.GLOBAL_VARIABLES], regularizer=lambda w: tf.reduce_sum(w)
        )
    keys = ("mine", tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.TRAINABLE_VARIABLES)
    losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    return (
        [[v.name for v in tf.get_collection(k)] for k in keys],
        len(losses),
        [v.name for v in tf.global_variables("b")],
        x.trainable,
        y.name,
    )


def templates(tf):
    shared = tf.make_template("t", lambda x: x * tf.get_variable("w", [], initializer=tf.constant_initializer(2.0)))
    return shared(tf.constant(3.0)), shared(tf.constant(4.0)), [v.name for v in tf.global_variables()]


def control_dependencies_are_listed(tf):
    a = tf.constant(1, name="a")
    with tf.control_dependencies([a]):
        b = tf.constant(2, name="b")
        with tf.control_dependencies(None):
            c = tf.constant(3, name="c")
    return [op.name for op in b.op.control_inputs], [op.name for op in c.op.control_inputs], tf.group(a, b).type


def devices_are_merged(tf):
    with tf.device("/job:a/device:CPU:0"), tf.device("/task:3"):
        a = tf.constant(1)
        with tf.device(None):
            b = tf.constant(1)
    with tf.device(lambda op: "/device:CPU:1"):
        c = tf.constant(1)
    return a.device, b.device, c.device


def tensors_by_name(tf):
    tf.constant([1, 2], name="a")
    graph = tf.get_default_graph()
    return graph.get_tensor_by_name("a:0"), graph.as_graph_element("a").type, graph.get_operation_by_name("a").name


def a_tensor_by_a_name_that_is_not_there(tf):
    tf.get_default_graph().get_tensor_by_name("nothing:0")


def an_operation_by_the_name_of_a_tensor(tf):
    tf.constant(1, name="a")
    tf.get_default_graph().get_operation_by_name("a:0")


def tensors_of_another_graph(tf):
    with tf.Graph().as_default():
        x = tf.constant(1)
    return x + tf.constant(2)


def a_finished_graph(tf):
    tf.get_default_graph().finalize()
    tf.constant(1)


def tensors_are_not_true(tf):
    return bool(tf.constant(True))


def tensors_are_not_iterable_without_a_shape(tf):
    return list(tf.placeholder(tf.float32))


def tensors_are_not_iterable(tf):
    return list(tf.constant([1, 2]))


def texts_of_tensors(tf):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    return str(x), repr(x.dtype), str(x.shape), str(tf.TensorShape(None)), repr(tf.int32), str(tf.TensorShape([]))


def seeds_repeat(tf):
    tf.set_random_seed(5)
    a, b, c = tf.random_uniform([3]), tf.random_uniform([3]), tf.random_uniform([3], seed=1)
    with tf.Session() as session:
        x, y, z = session.run([a, b, c])
    with tf.Session() as session:
        u, v, w = session.run([a, b, c])
    return bool((x == u).all()), bool((y == v).all()), bool((z == w).all()), bool((x == y).all())
