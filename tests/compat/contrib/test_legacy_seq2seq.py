"""Sequence to sequence models over lists: shapes, shared variables, what is fed back, and losses."""

import numpy as np
import pytest

import thalweg as tf

legacy = tf.contrib.legacy_seq2seq
BATCH, SYMBOLS, OUTPUTS, WIDTH, UNITS = 3, 7, 5, 4, 6
SOURCES, STEPS = 4, 2


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        tf.set_random_seed(5)
        yield


def cell():
    return tf.nn.rnn_cell.BasicLSTMCell(UNITS)


def symbols(count: int, limit: int):
    rng = np.random.default_rng(count)
    return [tf.constant(rng.integers(0, limit, BATCH).astype(np.int32)) for _ in range(count)]


def vectors(count: int):
    return [tf.random_normal([BATCH, UNITS], seed=i + 1) for i in range(count)]


def names():
    return [variable.op.name for variable in tf.trainable_variables()]


def values(tensors):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(tensors)


def test_a_decoder_is_fed_its_own_output_after_the_first_step() -> None:
    seen = []

    def feedback(output, step):
        seen.append(step)
        return output * 0.5

    with tf.variable_scope("root", initializer=tf.constant_initializer(0.3)):
        outputs, state = legacy.rnn_decoder(vectors(3), cell().zero_state(BATCH, tf.float32), cell(), feedback)
    assert seen == [1, 2]
    assert [output.shape.as_list() for output in outputs] == [[BATCH, UNITS]] * 3
    assert state.h is outputs[-1]
    assert names() == ["root/rnn_decoder/basic_lstm_cell/kernel", "root/rnn_decoder/basic_lstm_cell/bias"]


def test_encoder_and_decoder_variables_are_separate_unless_tied() -> None:
    legacy.basic_rnn_seq2seq(vectors(SOURCES), vectors(STEPS), cell())
    assert len(names()) == 4
    legacy.tied_rnn_seq2seq(vectors(SOURCES), vectors(STEPS), cell())
    assert names()[4:] == [
        f"combined_tied_rnn_seq2seq/tied_rnn_seq2seq/basic_lstm_cell/{part}" for part in ("kernel", "bias")
    ]


@pytest.mark.parametrize("feed_previous", [False, True])
@pytest.mark.parametrize("projected", [False, True])
@pytest.mark.parametrize("kind", ["embedding_rnn_seq2seq", "embedding_attention_seq2seq"])
def test_embedded_models(kind: str, projected: bool, feed_previous: bool) -> None:
    projection = (tf.get_variable("w", [UNITS, OUTPUTS]), tf.get_variable("b", [OUTPUTS])) if projected else None
    outputs, state = getattr(legacy, kind)(
        symbols(SOURCES, SYMBOLS),
        symbols(STEPS, OUTPUTS),
        cell(),
        SYMBOLS,
        OUTPUTS,
        WIDTH,
        output_projection=projection,
        feed_previous=feed_previous,
    )
    depth = UNITS if projected else OUTPUTS
    assert [value.shape for value in values(outputs)] == [(BATCH, depth)] * STEPS
    gradients = tf.gradients(tf.add_n(outputs), tf.trainable_variables())
    unused = [name for name, gradient in zip(names(), gradients) if gradient is None]
    assert unused == (["w", "b"] if projected else [])
    assert state.c.shape.as_list() == [BATCH, UNITS]


@pytest.mark.parametrize("kind", ["rnn", "tied", "attention"])
def test_feed_previous_may_be_a_tensor(kind: str) -> None:
    given = tf.placeholder(tf.bool, [])
    inputs, targets = symbols(SOURCES, OUTPUTS), symbols(3, OUTPUTS)
    initializer = tf.random_uniform_initializer(-1.0, 1.0, seed=2)
    counts = (OUTPUTS, WIDTH) if kind == "tied" else (OUTPUTS, OUTPUTS, WIDTH)
    name = "embedding_tied_rnn_seq2seq" if kind == "tied" else f"embedding_{kind}_seq2seq"
    model = getattr(legacy, name)
    with tf.variable_scope("model", initializer=initializer):
        chosen, _ = model(inputs, targets, cell(), *counts, feed_previous=given)
    with tf.variable_scope("model", reuse=True):
        fed, _ = model(inputs, targets, cell(), *counts, feed_previous=True)
        forced, _ = model(inputs, targets, cell(), *counts, feed_previous=False)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for flag, same in ((True, fed), (False, forced)):
            for left, right in zip(*session.run([chosen, same], {given: flag})):
                np.testing.assert_allclose(left, right, atol=1e-6)


def test_attention_looks_at_all_states() -> None:
    states = tf.random_normal([BATCH, SOURCES, 5], seed=4)
    outputs, _ = legacy.attention_decoder(
        vectors(STEPS),
        cell().zero_state(BATCH, tf.float32),
        states,
        cell(),
        output_size=2,
        num_heads=2,
        initial_state_attention=True,
    )
    assert [output.shape.as_list() for output in outputs] == [[BATCH, 2]] * STEPS
    gradient = tf.gradients(outputs[0], states)[0]
    assert np.all(np.any(values(gradient) != 0, axis=2))
    assert sum(name.split("/")[1].startswith("AttnV") for name in names()) == 2


def test_attention_errors_name_missing_shapes() -> None:
    state = cell().zero_state(BATCH, tf.float32)
    with pytest.raises(ValueError, match="num_heads"):
        legacy.attention_decoder(vectors(1), state, tf.zeros([BATCH, 2, 3]), cell(), num_heads=0)
    with pytest.raises(ValueError, match="decoder_inputs"):
        legacy.attention_decoder([], state, tf.zeros([BATCH, 2, 3]), cell())
    with pytest.raises(ValueError, match="attention_states"):
        legacy.attention_decoder(vectors(1), state, tf.placeholder(tf.float32, [BATCH, 2, None]), cell())


def test_one_encoder_for_several_decoders() -> None:
    outputs, states = legacy.one2many_rnn_seq2seq(
        symbols(SOURCES, SYMBOLS),
        {"first": symbols(2, 3), "second": symbols(3, 8)},
        cell(),
        {"first": cell(), "second": cell()},
        SYMBOLS,
        {"first": 3, "second": 8},
        WIDTH,
    )
    assert {name: [o.shape.as_list() for o in found] for name, found in outputs.items()} == {
        "first": [[BATCH, 3]] * 2,
        "second": [[BATCH, 8]] * 3,
    }
    assert set(states) == {"first", "second"}


def test_losses_are_weighted_means_of_cross_entropies() -> None:
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(STEPS, BATCH, OUTPUTS)).astype(np.float32)
    targets = rng.integers(0, OUTPUTS, (STEPS, BATCH)).astype(np.int32)
    weights = rng.uniform(0.5, 1.0, (STEPS, BATCH)).astype(np.float32)
    chances = np.exp(logits) / np.exp(logits).sum(2, keepdims=True)
    each = -np.log(np.take_along_axis(chances, targets[:, :, None], 2))[:, :, 0] * weights
    args = (list(map(tf.constant, logits)), list(map(tf.constant, targets)), list(map(tf.constant, weights)))
    by_example, summed, mean, total = values(
        [
            legacy.sequence_loss_by_example(*args),
            legacy.sequence_loss_by_example(*args, average_across_timesteps=False),
            legacy.sequence_loss(*args),
            legacy.sequence_loss(*args, average_across_batch=False),
        ]
    )
    expected = each.sum(0) / weights.sum(0)
    np.testing.assert_allclose(by_example, expected, rtol=1e-5)
    np.testing.assert_allclose(summed, each.sum(0), rtol=1e-5)
    np.testing.assert_allclose([mean, total], [expected.mean(), expected.sum()], rtol=1e-5)
    with pytest.raises(ValueError, match="2, 1 and 2"):
        legacy.sequence_loss_by_example(args[0], args[1][:1], args[2])


def test_buckets_share_variables() -> None:
    inputs, targets = symbols(SOURCES, SYMBOLS), symbols(3, OUTPUTS)
    weights = [tf.ones([BATCH]) for _ in targets]

    def model(sources, steps):
        return legacy.embedding_rnn_seq2seq(sources, steps, cell(), SYMBOLS, OUTPUTS, WIDTH)

    outputs, losses = legacy.model_with_buckets(inputs, targets, targets, weights, [(2, 2), (SOURCES, 3)], model)
    assert [len(found) for found in outputs] == [2, 3]
    assert len(names()) == len(set(names())) == 8
    assert np.all(np.isfinite(values(losses)))
    _, per_example = legacy.model_with_buckets(
        inputs, targets, targets, weights, [(2, 2)], lambda a, b: (outputs[0], None), per_example_loss=True
    )
    assert per_example[0].shape.as_list() == [BATCH]
    with pytest.raises(ValueError, match="encoder_inputs"):
        legacy.model_with_buckets(inputs[:1], targets, targets, weights, [(2, 2)], model)
