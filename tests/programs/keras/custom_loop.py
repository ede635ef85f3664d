"""A layer with weights of its own is trained by a loop with a gradient tape, which clips gradients."""

import numpy as np
import tensorflow as tf

tf.set_random_seed(8)
np.random.seed(8)


class Gaussians(tf.keras.layers.Layer):
    """The density of points under bumps with centers and widths that are learned."""

    def __init__(self, units, width=1.0, **kwargs):
        super(Gaussians, self).__init__(**kwargs)
        self.units = units
        self.width = width

    def build(self, input_shape):
        size = int(input_shape[-1])
        self.centers = self.add_weight(
            "centers", shape=[self.units, size], initializer=tf.keras.initializers.RandomUniform(-1, 1)
        )
        self.widths = self.add_weight("widths", [self.units], initializer=tf.keras.initializers.Constant(self.width))
        super(Gaussians, self).build(input_shape)

    def call(self, inputs):
        distances = tf.reduce_sum(tf.square(tf.expand_dims(inputs, 1) - self.centers), axis=-1)
        return tf.exp(-distances * tf.square(self.widths))

    def compute_output_shape(self, input_shape):
        return tf.TensorShape([input_shape[0], self.units])

    def get_config(self):
        config = super(Gaussians, self).get_config()
        config.update(units=self.units, width=self.width)
        return config


rng = np.random.RandomState(6)
points = rng.uniform(-1, 1, size=(256, 2)).astype(np.float32)
inside = ((np.square(points - 0.4).sum(1) < 0.15) | (np.square(points + 0.4).sum(1) < 0.15)).astype(np.int32)

model = tf.keras.Sequential([Gaussians(12, width=2.0, input_shape=(2,)), tf.keras.layers.Dense(2)])
optimizer = tf.train.AdamOptimizer(0.05)
loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
mean_loss = tf.keras.metrics.Mean()
accuracy = tf.keras.metrics.SparseCategoricalAccuracy()
dataset = tf.data.Dataset.from_tensor_slices((points, inside)).shuffle(256, seed=1).batch(32)


def train_step(images, labels):
    with tf.GradientTape() as tape:
        logits = model(images, training=True)
        loss = loss_object(labels, logits)
    gradients = tape.gradient(loss, model.trainable_variables)
    clipped, norm = tf.clip_by_global_norm(gradients, 1.0)
    optimizer.apply_gradients(zip(clipped, model.trainable_variables))
    mean_loss(loss)
    accuracy(labels, logits)
    return norm


compiled_step = tf.function(train_step)
losses, norms = [], []
for epoch in range(15):
    mean_loss.reset_states()
    accuracy.reset_states()
    for batch, labels in dataset:
        norm = (compiled_step if epoch > 1 else train_step)(batch, labels)
        norms.append(float(norm))
    losses.append(float(mean_loss.result()))
assert losses[-1] < 0.5 * losses[0] and float(accuracy.result()) > 0.93, (losses, float(accuracy.result()))

config = model.get_config()
copied = tf.keras.Sequential.from_config(config, custom_objects={"Gaussians": Gaussians})
copied.set_weights(model.get_weights())
np.testing.assert_allclose(copied(points).numpy(), model(points).numpy(), rtol=1e-5)
assert copied.layers[0].units == 12 and copied.layers[0].width == 2.0
results = {"losses": losses, "accuracy": float(accuracy.result()), "steps": len(norms)}
