"""tf.contrib.gan: models, losses and training."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import thalweg as tf

gan = tf.contrib.gan
wargs = gan.losses.wargs
REAL, FAKE = np.array([[1.0], [-2.0]], np.float32), np.array([[0.5], [3.0]], np.float32)


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(3)
        yield graph


def run(fetches: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches)


def generator(noise: Any) -> Any:
    return tf.layers.dense(noise, 2, name="out")


def discriminator(data: Any, inputs: Any) -> Any:
    return tf.layers.dense(tf.layers.dense(data, 8, tf.nn.tanh, name="hidden"), 1, name="out")


def model(**more: Any) -> Any:
    real = tf.random_normal([16, 2], mean=3.0, stddev=0.1, seed=1)
    return gan.gan_model(generator, discriminator, real, tf.random_normal([16, 4], seed=2), **more)


# -- losses -----------------------------------------------------------------------------------------------------------


def sigmoid_entropy(logits: Any, label: float) -> Any:
    return np.mean(np.logaddexp(0, logits) - label * logits)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("wasserstein", (-FAKE.mean(), FAKE.mean() - REAL.mean())),
        ("minimax", (-sigmoid_entropy(FAKE, 0), sigmoid_entropy(REAL, 0.875) + sigmoid_entropy(FAKE, 0))),
        ("modified", (sigmoid_entropy(FAKE, 1), sigmoid_entropy(REAL, 0.875) + sigmoid_entropy(FAKE, 0))),
        ("least_squares", (((FAKE - 1) ** 2).mean() / 2, (((REAL - 1) ** 2).mean() + (FAKE**2).mean()) / 2)),
    ],
)
def test_adversarial_losses(name: str, wanted: tuple[float, float]) -> None:
    first = getattr(wargs, f"{name}_generator_loss")(FAKE, add_summaries=True)
    second = getattr(wargs, f"{name}_discriminator_loss")(REAL, FAKE, add_summaries=True)
    np.testing.assert_allclose(run([first, second]), wanted, rtol=1e-5)
    assert tf.losses.get_losses() == [first, second] and tf.summary.merge_all() is not None
    parts = gan.GANModel(*[None] * 6, REAL, FAKE, *[None] * 3)
    of_model = getattr(gan.losses, f"{name}_discriminator_loss")(parts, loss_collection=None)
    np.testing.assert_allclose(run(of_model), wanted[1], rtol=1e-5)


@pytest.mark.parametrize("one_sided", [False, True])
def test_the_gradient_penalty_of_a_linear_discriminator(one_sided: bool) -> None:
    def linear(data: Any, inputs: Any) -> Any:
        return tf.reduce_sum(data * tf.get_variable("w", initializer=[[0.3, 0.4]]), 1)

    with tf.variable_scope("D") as scope:
        linear(REAL, None)
    data = np.ones((2, 2), np.float32)
    penalty = wargs.wasserstein_gradient_penalty(data, 2 * data, None, linear, scope, target=1.0, one_sided=one_sided)
    np.testing.assert_allclose(run(penalty), 0 if one_sided else 0.25, rtol=1e-5)
    assert [v.op.name for v in tf.trainable_variables()] == ["D/w"]


def test_losses_of_classes_and_of_structured_inputs() -> None:
    logits, labels = np.array([[1.0, -1.0], [0.5, 2.0]], np.float32), np.eye(2, dtype=np.float32)
    entropy = np.mean([np.logaddexp(1, -1) - 1, np.logaddexp(0.5, 2) - 2])
    normal = tf.distributions.Normal([0.0, 1.0], 1.0)
    penalty = wargs.mutual_information_penalty([tf.constant([1.0, 1.0])], [normal])
    found = run(
        [
            wargs.acgan_generator_loss(logits, labels),
            wargs.acgan_discriminator_loss(logits, logits, labels),
            penalty,
            wargs.cycle_consistency_loss([1.0], [3.0], [0.0], [1.0]),
        ]
    )
    log_2_pi = np.log(2 * np.pi)
    np.testing.assert_allclose(found, [entropy, 2 * entropy, (log_2_pi + 0.5) / 2, 1.5], rtol=1e-5)
    with pytest.raises(ValueError, match="one for each"):
        wargs.mutual_information_penalty([tf.constant(1.0)], [])


def test_an_adversarial_loss_is_weighted_by_gradients() -> None:
    x = tf.Variable(2.0)
    combined = wargs.combine_adversarial_loss(3.0 * x, 6.0 * x, gradient_ratio=2.0, variables=[x])
    plain = wargs.combine_adversarial_loss(3.0 * x, 6.0 * x, weight_factor=0.5)
    np.testing.assert_allclose(run([combined, plain]), [6 + 12 * 3 / 12, 12], rtol=1e-5)
    with pytest.raises(ValueError, match="expected one of them"):
        wargs.combine_adversarial_loss(x, x)


# -- models and training ----------------------------------------------------------------------------------------------


def test_a_model_shares_the_discriminator() -> None:
    made = model()
    assert [v.op.name for v in made.generator_variables] == ["Generator/out/kernel", "Generator/out/bias"]
    assert len(made.discriminator_variables) == 4 and made.discriminator_scope.name == "Discriminator"
    assert made.generated_data.shape.as_list() == made.real_data.shape.as_list() == [16, 2]
    with pytest.raises(ValueError, match="same shape as real data"):
        gan.gan_model(generator, lambda data, inputs: data, tf.zeros([16, 3]), tf.zeros([16, 4]), "G", "D")


def test_training_moves_generated_data_to_real_data(tmp_path: Any) -> None:
    made = model()
    loss = gan.gan_loss(
        made,
        gan.losses.modified_generator_loss,
        gan.losses.modified_discriminator_loss,
        gradient_penalty_weight=0.1,
    )
    ops = gan.gan_train_ops(made, loss, tf.train.AdamOptimizer(0.05, 0.5), tf.train.AdamOptimizer(0.05, 0.5))
    mean = tf.reduce_mean(made.generated_data, 0)
    step = gan.gan_train(
        ops,
        str(tmp_path),
        gan.get_joint_train_hooks(gan.GANTrainSteps(1, 2)),
        hooks=[tf.train.StopAtStepHook(num_steps=80)],
        save_summaries_steps=None,
        save_checkpoint_secs=1000,
    )
    tf.summary.FileWriterCache.clear()
    assert step == 80
    with tf.Session() as session:
        tf.train.Saver().restore(session, tf.train.latest_checkpoint(str(tmp_path)))
        found = session.run(mean)
    assert np.linalg.norm(found - 3.0) < 2.0


def test_steps_are_counted_once_and_networks_trained_as_often_as_told() -> None:
    made = model()
    ops = gan.gan_train_ops(
        made, gan.gan_loss(made), tf.train.GradientDescentOptimizer(0.0), tf.train.GradientDescentOptimizer(0.0)
    )
    counts = [tf.Variable(0, trainable=False) for _ in range(2)]
    counted = gan.GANTrainOps(*(tf.assign_add(count, 1) for count in counts), ops.global_step_inc_op)
    hooks = gan.get_sequential_train_hooks(gan.GANTrainSteps(2, 3))(counted)
    with tf.train.MonitoredSession(hooks=hooks) as session:
        for number in (1, 2):
            assert session.run([ops.global_step_inc_op, *counts]) == [number, 2 * number, 3 * number]
    train_step = gan.get_sequential_train_steps(gan.GANTrainSteps(2, 1))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert train_step(session, counted, None, {"should_stop": tf.constant(True)}) == (2 + 1, True)


def test_update_operations_outside_of_the_networks_are_refused() -> None:
    made = model()
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.no_op("stray"))
    optimizers = tf.train.GradientDescentOptimizer(0.1), tf.train.GradientDescentOptimizer(0.1)
    with pytest.raises(ValueError, match="stray"):
        gan.gan_train_ops(made, gan.gan_loss(made), *optimizers)
    gan.gan_train_ops(made, gan.gan_loss(made), *optimizers, check_for_unused_update_ops=False)


def test_a_classifying_model_adds_its_losses() -> None:
    def classify(data: Any, inputs: Any) -> Any:
        return discriminator(data, inputs), tf.layers.dense(data, 3, name="classes")

    labels = tf.one_hot([0, 1, 2, 0], 3)
    made = gan.acgan_model(generator, classify, tf.ones([4, 2]), tf.ones([4, 4]), labels)
    plain, more = gan.gan_loss(made), gan.gan_loss(made, aux_cond_generator_weight=1, aux_cond_discriminator_weight=1)
    extra = [gan.losses.acgan_generator_loss(made), gan.losses.acgan_discriminator_loss(made)]
    a, b, c = run([list(plain), list(more), extra])
    np.testing.assert_allclose(b, np.add(a, c), rtol=1e-5)
    with pytest.raises(ValueError, match="one_hot_labels"):
        gan.gan_loss(model(generator_scope="G", discriminator_scope="D"), aux_cond_generator_weight=1)


def test_a_model_predicts_structured_inputs() -> None:
    def predict(data: Any, inputs: Any) -> Any:
        return discriminator(data, inputs), [tf.distributions.Normal(tf.layers.dense(data, 1, name="code"), 1.0)]

    def from_list(inputs: Any) -> Any:
        return generator(tf.concat(inputs, 1))

    made = gan.infogan_model(from_list, predict, tf.ones([4, 2]), [tf.ones([4, 3])], [tf.ones([4, 1])])
    loss = gan.gan_loss(made, mutual_information_penalty_weight=2.0, gradient_penalty_weight=1.0)
    plain = gan.gan_loss(made)
    a, b, c = run([loss.generator_loss, plain.generator_loss, gan.losses.mutual_information_penalty(made)])
    np.testing.assert_allclose(a, b + 2 * c, rtol=1e-5)


def test_a_cycle_trains_both_directions() -> None:
    def same_size(inputs: Any) -> Any:
        return tf.layers.dense(inputs, 2, name="out")

    made = gan.cyclegan_model(same_size, discriminator, tf.ones([4, 2]), tf.zeros([4, 2]))
    assert made.model_y2x.generator_variables[0].op.name == "ModelY2X/Generator/out/kernel"
    loss = gan.cyclegan_loss(made, cycle_consistency_loss_weight=2.0)
    ops = gan.gan_train_ops(made, loss, tf.train.GradientDescentOptimizer(0.1), tf.train.GradientDescentOptimizer(0.1))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(loss.loss_x2y.generator_loss)
        for _ in range(20):
            session.run(ops.generator_train_op)
        assert session.run(loss.loss_x2y.generator_loss) < before
        assert session.run(ops.global_step_inc_op) == 1
