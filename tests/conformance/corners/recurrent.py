"""Recurrent networks: loops over sequences with cells written by hand, their gradients, shapes and errors."""

import collections

import numpy as np

Memory = collections.namedtuple("Memory", "c h")
LENGTHS = [0, 4, 2, 1, 3]  # of five examples, four steps


def _numbers(seed, *shape):
    return np.random.RandomState(seed).normal(size=shape) * 0.7


class _Plain:
    """A cell of the simplest form: output and state are one."""

    def __init__(self, tf, units=3, depth=2, seed=0):
        self._tf = tf
        self.state_size = self.output_size = units
        with tf.variable_scope("v", use_resource=True):
            self.kernel = tf.get_variable(f"kernel{seed}", initializer=_numbers(seed, depth + units, units))
            self.bias = tf.get_variable(f"bias{seed}", initializer=_numbers(seed + 100, units))
        self.weights = [self.kernel, self.bias]

    def zero_state(self, batch_size, dtype):
        return self._tf.zeros(self._tf.stack([batch_size, self.state_size]), dtype)

    def __call__(self, inputs, state, scope=None):
        tf = self._tf
        output = tf.tanh(tf.matmul(tf.concat([inputs, state], 1), self.kernel) + self.bias)
        return output, output


class _Gated(_Plain):
    """A long short-term memory."""

    def __init__(self, tf, units=3, depth=2, seed=0):
        super().__init__(tf, units, depth, seed)
        self.state_size = Memory(units, units)
        with tf.variable_scope("v", use_resource=True):
            self.gates = tf.get_variable(f"gates{seed}", initializer=_numbers(seed + 200, depth + units, 4 * units))
        self.weights = [self.gates]

    def zero_state(self, batch_size, dtype):
        zeros = self._tf.zeros(self._tf.stack([batch_size, self.output_size]), dtype)
        return Memory(zeros, zeros)

    def __call__(self, inputs, state, scope=None):
        tf = self._tf
        i, j, f, o = tf.split(tf.matmul(tf.concat([inputs, state.h], 1), self.gates), 4, axis=1)
        c = state.c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
        return h, Memory(c, h)


class _Pair:
    """Two cells side by side, with inputs, states and outputs in structures."""

    def __init__(self, tf):
        self._cells = _Plain(tf, 3, 2, 1), _Gated(tf, 2, 4, 2)
        self.state_size = {"a": 3, "b": self._cells[1].state_size}
        self.output_size = (3, [2])
        self.weights = self._cells[0].weights + self._cells[1].weights

    def zero_state(self, batch_size, dtype):
        return {"a": self._cells[0].zero_state(batch_size, dtype), "b": self._cells[1].zero_state(batch_size, dtype)}

    def __call__(self, inputs, state, scope=None):
        a, after_a = self._cells[0](inputs[0], state["a"])
        b, after_b = self._cells[1](inputs[1], state["b"])
        return (a, [b]), {"a": after_a, "b": after_b}


def _flat(tf, structure):
    return tf.nest.flatten(structure)


def _with_gradients(tf, results, by):
    """Returns results, and the gradients of a sum that weighs all their elements differently."""
    loss = 0.0
    for number, tensor in enumerate(_flat(tf, results)):
        count = tf.cast(tf.range(tf.size(tensor)), tensor.dtype)
        loss += tf.reduce_sum(tf.sin(count + number) * tf.reshape(tensor, [-1]))
    return results, tf.gradients(loss, by)


def _dynamic(tf, make=_Plain, x=None, **options):
    cell = make(tf)
    x = tf.constant(_numbers(7, 5, 4, 2)) if x is None else x
    if "initial_state" not in options:
        options["dtype"] = tf.float64
    results = tf.nn.dynamic_rnn(cell, x, **options)
    return _with_gradients(tf, results, [x, *cell.weights])


def dynamic(tf):
    return _dynamic(tf)


def dynamic_gated(tf):
    return _dynamic(tf, _Gated)


def dynamic_with_lengths(tf):
    return _dynamic(tf, sequence_length=LENGTHS), _dynamic_again(tf)


def _dynamic_again(tf):
    with tf.variable_scope("again"):
        return _dynamic(tf, _Gated, sequence_length=LENGTHS)


def dynamic_with_lengths_of_zero(tf):
    return _dynamic(tf, sequence_length=[0] * 5)


def dynamic_with_full_lengths(tf):
    return _dynamic(tf, sequence_length=[4] * 5)


def dynamic_with_lengths_beyond_the_end(tf):
    return _dynamic(tf, sequence_length=[9, 4, 5, 0, 1])


def dynamic_with_negative_lengths(tf):
    return _dynamic(tf, sequence_length=[-1, 4, -5, 0, 1])


def dynamic_with_long_lengths(tf):
    return _dynamic(tf, _Gated, sequence_length=tf.constant(LENGTHS, tf.int64))


def dynamic_with_lengths_that_are_fed(tf):
    lengths = tf.placeholder_with_default(np.int32(LENGTHS), [None])
    return _dynamic(tf, sequence_length=lengths)


def dynamic_time_first(tf):
    return _dynamic(tf, x=tf.constant(_numbers(7, 4, 5, 2)), time_major=True)


def dynamic_time_first_with_lengths(tf):
    return _dynamic(tf, _Gated, x=tf.constant(_numbers(7, 4, 5, 2)), time_major=True, sequence_length=LENGTHS)


def dynamic_swapping(tf):
    return _dynamic(tf, swap_memory=True, parallel_iterations=1, sequence_length=LENGTHS)


def dynamic_by_its_first_state(tf):
    cell, x, first = _Plain(tf), tf.constant(_numbers(7, 5, 4, 2)), tf.constant(_numbers(8, 5, 3))
    results = tf.nn.dynamic_rnn(cell, x, initial_state=first)
    return _with_gradients(tf, results, [x, first, *cell.weights])


def dynamic_by_its_first_state_with_lengths(tf):
    cell, x = _Gated(tf), tf.constant(_numbers(7, 5, 4, 2))
    first = Memory(tf.constant(_numbers(8, 5, 3)), tf.constant(_numbers(9, 5, 3)))
    results = tf.nn.dynamic_rnn(cell, x, LENGTHS, first, parallel_iterations=3)
    return type(results[1]).__name__, _with_gradients(tf, results, [x, *first, *cell.weights])


def dynamic_of_structures(tf):
    cell, x = _Pair(tf), [tf.constant(_numbers(3, 5, 4, 2)), tf.constant(_numbers(4, 5, 4, 4))]
    results = []
    for lengths in (None, LENGTHS):
        result = tf.nn.dynamic_rnn(cell, x, lengths, dtype=tf.float64)
        results.append(_with_gradients(tf, result, [*x, *cell.weights]))
    return results


def dynamic_of_unknown_sizes(tf):
    x = tf.placeholder_with_default(_numbers(7, 5, 4, 2), [None, None, 2])
    return _dynamic(tf, x=x), _dynamic_gated_of(tf, x)


def _dynamic_gated_of(tf, x):
    with tf.variable_scope("again"):
        return _dynamic(tf, _Gated, x=x, sequence_length=tf.placeholder_with_default(np.int32(LENGTHS), [None]))


def dynamic_of_an_unknown_time(tf):
    return _dynamic(tf, x=tf.placeholder_with_default(_numbers(7, 5, 4, 2), [5, None, 2]))


def dynamic_of_an_unknown_batch(tf):
    return _dynamic(tf, x=tf.placeholder_with_default(_numbers(7, 5, 4, 2), [None, 4, 2]), sequence_length=LENGTHS)


def dynamic_without_steps(tf):
    return tf.nn.dynamic_rnn(_Plain(tf), tf.zeros([5, 0, 2], tf.float64), dtype=tf.float64)


def dynamic_without_steps_unseen(tf):
    x = tf.placeholder_with_default(np.zeros((5, 0, 2)), [5, None, 2])
    return tf.nn.dynamic_rnn(_Plain(tf), x, dtype=tf.float64)


def dynamic_without_examples(tf):
    return _dynamic(tf, x=tf.placeholder_with_default(np.zeros((0, 4, 2)), [None, 4, 2]))


def dynamic_of_one_step(tf):
    return _dynamic(tf, _Gated, x=tf.constant(_numbers(7, 5, 1, 2)), sequence_length=[1, 0, 1, 0, 1])


def dynamic_twice_by_one_cell(tf):
    cell, x = _Gated(tf), tf.constant(_numbers(7, 5, 4, 2))
    first = tf.nn.dynamic_rnn(cell, x, dtype=tf.float64)
    second = tf.nn.dynamic_rnn(cell, tf.reverse(x, [1]), LENGTHS, first[1])
    return _with_gradients(tf, second, [x, *cell.weights])


def dynamic_on_top_of_another(tf):
    below, above, x = _Plain(tf, 3, 2, 1), _Gated(tf, 4, 3, 2), tf.constant(_numbers(7, 5, 4, 2))
    hidden, _ = tf.nn.dynamic_rnn(below, x, LENGTHS, dtype=tf.float64)
    results = tf.nn.dynamic_rnn(above, hidden, LENGTHS, dtype=tf.float64)
    return _with_gradients(tf, results, [x, *below.weights, *above.weights])


def dynamic_in_a_branch(tf):
    cell, x = _Plain(tf), tf.constant(_numbers(7, 5, 4, 2))
    results = []
    for choice in (True, False):
        last = tf.cond(
            tf.placeholder_with_default(choice, []),
            lambda: tf.nn.dynamic_rnn(cell, x, LENGTHS, dtype=tf.float64)[1],
            lambda: x[:, 0, :1] * cell.bias,
        )
        results.append(_with_gradients(tf, last, [x, *cell.weights]))
    return results


def dynamic_in_a_loop(tf):
    cell, x = _Plain(tf), tf.constant(_numbers(7, 5, 4, 2))

    def again(i, state):
        return i + 1, tf.nn.dynamic_rnn(cell, x, LENGTHS, state)[1]

    state = tf.while_loop(lambda i, _: i < 3, again, [0, tf.zeros([5, 3], tf.float64)])[1]
    return _with_gradients(tf, state, [x, *cell.weights])


def dynamic_second_order(tf):
    """Is unrolled in TensorFlow, which has no second gradients of loops."""
    cell, x = _Plain(tf), tf.constant(_numbers(7, 5, 4, 2))
    if "tensorflow" in tf.__name__:
        outputs = tf.stack(tf.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float64)[0], 1)
    else:
        outputs, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float64)
    slope = tf.gradients(tf.reduce_sum(outputs**3), x)[0]
    return slope, tf.gradients(tf.reduce_sum(slope**2), [x, *cell.weights])


def dynamic_with_a_loss_of_the_last_outputs(tf):
    cell, x = _Plain(tf), tf.constant(_numbers(7, 5, 4, 2))
    outputs, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float64)
    return tf.gradients(outputs[:, -1], [x, *cell.weights]), tf.gradients(outputs[:, 1], x)


class _Counting(_Plain):
    """A cell whose state counts the steps, too, by a scalar."""

    def __init__(self, tf):
        super().__init__(tf)
        self.state_size = (3, tf.TensorShape([]))

    def zero_state(self, batch_size, dtype):
        return super().zero_state(batch_size, dtype), self._tf.zeros([], dtype)

    def __call__(self, inputs, state, scope=None):
        output, after = super().__call__(inputs, state[0])
        return output * (state[1] + 1.0), (after, state[1] + 1.0)


def dynamic_with_a_scalar_in_the_state(tf):
    cell, x = _Counting(tf), tf.constant(_numbers(7, 5, 4, 2))
    first = (tf.zeros([5, 3], tf.float64), tf.constant(0.5, tf.float64))
    return tf.nn.dynamic_rnn(cell, x, initial_state=first), tf.nn.dynamic_rnn(cell, x, LENGTHS, first)


class _Changing(_Plain):
    """A cell that does not keep to what it says of itself."""

    def __init__(self, tf, change):
        super().__init__(tf)
        self._change = change

    def __call__(self, inputs, state, scope=None):
        return self._change(*super().__call__(inputs, state))


def cell_of_another_output(tf):
    return _dynamic(tf, lambda tf: _Changing(tf, lambda output, state: (output[:, :2], state)))


def cell_of_another_output_structure(tf):
    return _dynamic(tf, lambda tf: _Changing(tf, lambda output, state: ((output, output), state)))


def cell_of_another_state(tf):
    return _dynamic(tf, lambda tf: _Changing(tf, lambda output, state: (output, state[:, :2])))


def cell_of_another_state_structure(tf):
    return _dynamic(tf, lambda tf: _Changing(tf, lambda output, state: (output, (state, state))))


def cell_of_another_state_type(tf):
    return _dynamic(tf, lambda tf: _Changing(tf, lambda output, state: (output, tf.cast(state, tf.float32))))


def cell_that_is_none(tf):
    return tf.nn.dynamic_rnn(lambda x, s: (x, s), tf.zeros([2, 3, 4]), dtype=tf.float32)


def no_type_and_no_state(tf):
    return tf.nn.dynamic_rnn(_Plain(tf), tf.constant(_numbers(7, 5, 4, 2)))


def inputs_without_time(tf):
    return _dynamic(tf, x=tf.zeros([5, 2], tf.float64))


def inputs_of_unknown_rank(tf):
    return _dynamic(tf, x=tf.placeholder_with_default(_numbers(7, 5, 4, 2), None))


def inputs_of_unknown_depth(tf):
    return _dynamic(tf, x=tf.placeholder_with_default(_numbers(7, 5, 4, 2), [5, 4, None]))


def inputs_of_different_times(tf):
    cell, x = _Pair(tf), [tf.zeros([5, 4, 2], tf.float64), tf.zeros([5, 3, 4], tf.float64)]
    return tf.nn.dynamic_rnn(cell, x, dtype=tf.float64)


def lengths_in_a_matrix(tf):
    return _dynamic(tf, sequence_length=[LENGTHS])


def too_few_lengths(tf):
    return _dynamic(tf, sequence_length=LENGTHS[1:])


def too_few_lengths_unseen(tf):
    return _dynamic(tf, sequence_length=tf.placeholder_with_default(np.int32(LENGTHS[1:]), [None]))


def state_of_another_width(tf):
    return _dynamic(tf, initial_state=tf.zeros([5, 2], tf.float64))


def state_of_another_type(tf):
    return _dynamic(tf, initial_state=tf.zeros([5, 3]))


def _bidirectional(tf, make=_Plain, **options):
    forward, backward, x = make(tf, seed=1), make(tf, seed=2), tf.constant(_numbers(7, 5, 4, 2))
    if options.get("time_major"):
        x = tf.transpose(x, [1, 0, 2])
    results = tf.nn.bidirectional_dynamic_rnn(forward, backward, x, dtype=tf.float64, **options)
    return _with_gradients(tf, results, [x, *forward.weights, *backward.weights])


def bidirectional(tf):
    return _bidirectional(tf)


def bidirectional_with_lengths(tf):
    return _bidirectional(tf, _Gated, sequence_length=LENGTHS)


def bidirectional_time_first(tf):
    return _bidirectional(tf, sequence_length=LENGTHS, time_major=True, swap_memory=True)


def bidirectional_with_first_states(tf):
    first = tf.constant(_numbers(8, 5, 3)), tf.constant(_numbers(9, 5, 3))
    results = _bidirectional(tf, initial_state_fw=first[0], initial_state_bw=first[1], parallel_iterations=2)
    return results, tf.gradients(_flat(tf, results[0]), first)


def bidirectional_with_a_cell_that_is_none(tf):
    return tf.nn.bidirectional_dynamic_rnn(_Plain(tf), None, tf.zeros([5, 4, 2], tf.float64), dtype=tf.float64)


def _static(tf, make=_Plain, **options):
    cell, x = make(tf), tf.constant(_numbers(7, 4, 5, 2))
    if "initial_state" not in options:
        options["dtype"] = tf.float64
    results = tf.nn.static_rnn(cell, tf.unstack(x), **options)
    return _with_gradients(tf, results, [x, *cell.weights])


def static(tf):
    return _static(tf, _Gated)


def static_with_lengths(tf):
    return _static(tf, _Gated, sequence_length=LENGTHS)


def static_with_short_lengths(tf):
    return _static(tf, sequence_length=[0, 2, 2, 1, 0])


def static_with_lengths_of_zero(tf):
    return _static(tf, sequence_length=[0] * 5)


def static_by_its_first_state(tf):
    first = tf.constant(_numbers(8, 5, 3))
    results = _static(tf, initial_state=first, sequence_length=LENGTHS)
    return results, tf.gradients(_flat(tf, results[0]), first)


def static_of_structures(tf):
    cell = _Pair(tf)
    x = [[tf.constant(_numbers(3 + i, 5, 2)), tf.constant(_numbers(13 + i, 5, 4))] for i in range(3)]
    results = tf.nn.static_rnn(cell, x, dtype=tf.float64)
    return _with_gradients(tf, results, [*_flat(tf, x), *cell.weights])


def static_of_unknown_sizes(tf):
    cell, x = _Plain(tf), tf.placeholder_with_default(_numbers(7, 5, 2), [None, 2])
    return tf.nn.static_rnn(cell, [x, x], dtype=tf.float64, sequence_length=[1, 0, 2, 1, 2])


def static_of_no_list(tf):
    return tf.nn.static_rnn(_Plain(tf), tf.zeros([4, 5, 2], tf.float64), dtype=tf.float64)


def static_of_nothing(tf):
    return tf.nn.static_rnn(_Plain(tf), [], dtype=tf.float64)


def static_without_type(tf):
    return tf.nn.static_rnn(_Plain(tf), [tf.zeros([5, 2], tf.float64)])


def static_of_unknown_depth(tf):
    x = tf.placeholder_with_default(_numbers(7, 5, 2), [5, None])
    return tf.nn.static_rnn(_Plain(tf), [x], dtype=tf.float64)


def static_both_directions(tf):
    forward, backward, x = _Plain(tf, seed=1), _Gated(tf, 4, seed=2), tf.constant(_numbers(7, 4, 5, 2))
    results = []
    for lengths in (None, LENGTHS):
        result = tf.nn.static_bidirectional_rnn(
            forward, backward, tf.unstack(x), dtype=tf.float64, sequence_length=lengths
        )
        results.append(_with_gradients(tf, result, [x, *forward.weights, *backward.weights]))
    return results


class _Saver:
    """A state saver of variables."""

    def __init__(self, tf):
        with tf.variable_scope("v", use_resource=True):
            self.kept = tf.get_variable("kept", initializer=_numbers(5, 5, 3))

    def state(self, name):
        return self.kept.read_value()

    def save_state(self, name, value):
        return self.kept.assign(value)


def static_with_a_saver(tf):
    saver, cell = _Saver(tf), _Plain(tf)
    x = tf.unstack(tf.constant(_numbers(7, 4, 5, 2)))
    outputs, state = tf.nn.static_state_saving_rnn(cell, x, saver, "kept", sequence_length=LENGTHS)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [*session.run([outputs[-1], state]), *session.run([outputs[-1], state]), session.run(saver.kept)]


def _raw(tf, cell, x, lengths, emit=None, keep=None):
    """Runs a cell over inputs [time, batch, depth] by raw_rnn."""
    inputs = tf.TensorArray(tf.float64, 4, clear_after_read=False).unstack(x)
    lengths = tf.constant(lengths)

    def step(time, output, state, loop_state):
        emitted, kept = output, None
        if output is None:
            state = cell.zero_state(5, tf.float64)
            emitted = None if emit is None else emit(tf.zeros([3], tf.float64), tf.zeros([], tf.int32))
            kept = None if keep is None else keep(None, None)
        else:
            emitted = output if emit is None else emit(output, tf.fill([5], time))
            kept = None if keep is None else keep(loop_state, output)
        finished = time >= lengths
        following = tf.cond(
            tf.reduce_all(finished), lambda: tf.zeros([5, 2], tf.float64), lambda: inputs.read(tf.minimum(time, 3))
        )
        return finished, following, state, emitted, kept

    return tf.nn.raw_rnn(cell, step)


def raw(tf):
    cell, x = _Plain(tf), tf.constant(_numbers(7, 4, 5, 2))
    outputs, state, kept = _raw(tf, cell, x, LENGTHS)
    return kept, _with_gradients(tf, [outputs.stack(), state], [x, *cell.weights])


def raw_with_a_memory(tf):
    cell, x = _Gated(tf), tf.constant(_numbers(7, 4, 5, 2))
    outputs, state, _ = _raw(tf, cell, x, [2, 3, 1, 1, 0])
    return _with_gradients(tf, [outputs.stack(), state], [x, *cell.weights])


def raw_that_emits_structures(tf):
    cell, x = _Plain(tf), tf.constant(_numbers(7, 4, 5, 2))
    emitted, state, _ = _raw(tf, cell, x, LENGTHS, emit=lambda output, time: {"twice": output * 2.0, "time": time})
    return emitted["twice"].stack(), emitted["time"].stack(), state


def raw_with_a_loop_state(tf):
    cell, x = _Plain(tf), tf.constant(_numbers(7, 4, 5, 2))

    def keep(kept, output):
        if kept is None:
            return tf.zeros([], tf.float64)
        return kept + tf.reduce_sum(output)

    outputs, state, total = _raw(tf, cell, x, LENGTHS, keep=keep)
    return _with_gradients(tf, [outputs.stack(), state, total], [x, *cell.weights])


def raw_with_an_array_as_loop_state(tf):
    cell, x = _Plain(tf), tf.constant(_numbers(7, 4, 5, 2))

    def keep(kept, output):
        if kept is None:
            return tf.TensorArray(tf.float64, 0, dynamic_size=True, clear_after_read=False)
        return kept.write(kept.size(), tf.reduce_sum(output, 0))

    _, state, sums = _raw(tf, cell, x, LENGTHS, keep=keep)
    return state, sums.stack()


def raw_that_is_over_at_once(tf):
    cell, x = _Plain(tf), tf.constant(_numbers(7, 4, 5, 2))
    _, state, _ = _raw(tf, cell, x, [0] * 5)
    return state


def raw_without_a_function(tf):
    return tf.nn.raw_rnn(_Plain(tf), None)


def raw_of_a_changing_structure(tf):
    cell = _Plain(tf)

    def step(time, output, state, loop_state):
        state = cell.zero_state(5, tf.float64) if output is None else (state, state)
        return tf.fill([5], time > 2), tf.zeros([5, 2], tf.float64), state, output, None

    return tf.nn.raw_rnn(cell, step)[1]
