"""Recurrent loops for the real Keras and for this one; both have the same function `run`. It needs NumPy alone."""

import itertools

import numpy as np

_BATCH, _STEPS, _UNITS = 3, 5, 4
_MASKS = {
    None: None,
    "right": [[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [1, 1, 1, 1, 0]],
    "left": [[0, 0, 1, 1, 1], [0, 1, 1, 1, 1], [1, 1, 1, 1, 1]],
    "mixed": [[1, 0, 1, 0, 1], [0, 1, 0, 1, 0], [0, 0, 0, 0, 0]],
}
CASES = [
    dict(zip(("mask", "go_backwards", "unroll", "time_major", "zero_output_for_mask", "constants"), values))
    for values in itertools.product(_MASKS, (False, True), (False, True), (False, True), (False, True), (False, True))
]
# Keras zeroes the outputs of these as if time ran forward: they are compared with the loop that is not unrolled.
REVERSED = [case for case in CASES if case["mask"] and all(list(case.values())[index] for index in (1, 2, 4))]
CASES = [case for case in CASES if case not in REVERSED]
CASES += [{"lengths": [5, 2, 4], "go_backwards": backwards} for backwards in (False, True)]


def run(K, tf, mask=None, time_major=False, constants=False, lengths=None, wrap=lambda function: function, **options):
    """Returns the arrays of the last output, all outputs and both states of a loop over sequences."""
    random = np.random.RandomState(0)
    x = random.standard_normal((_BATCH, _STEPS, _UNITS)).astype("float32")
    weights, shift = random.standard_normal((2, _UNITS, _UNITS)).astype("float32")
    known = None if mask is None else np.array(_MASKS[mask], bool)
    if time_major:
        x, known = np.swapaxes(x, 0, 1), None if known is None else known.T
    more = {} if lengths is None else {"input_length": tf.constant(lengths)}
    if constants:
        more["constants"] = [tf.constant(shift[:1])]

    def step(inputs, states):
        hidden, count, *rest = states
        hidden = tf.tanh(tf.matmul(inputs, weights) + hidden + (rest[0] if rest else 0.0))
        return hidden * 2.0, [hidden, count + 1.0]

    def loop(x):
        start = [tf.zeros([_BATCH, _UNITS]), tf.zeros([_BATCH, 1])]
        last, outputs, states = K.rnn(
            step, x, start, mask=None if known is None else tf.constant(known), time_major=time_major, **options, **more
        )
        return [last, outputs, *states]

    return [K.get_value(each) for each in wrap(loop)(tf.constant(x))]
