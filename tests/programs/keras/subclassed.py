"""A subclassed model with a loop over its layers is trained from tf.data, and its weights are saved and restored."""

import numpy as np
import tensorflow as tf

np.random.seed(21)
tf.set_random_seed(21)


class Block(tf.keras.layers.Layer):
    def __init__(self, units):
        super(Block, self).__init__()
        self.dense = tf.keras.layers.Dense(units, use_bias=False)
        self.norm = tf.keras.layers.BatchNormalization(momentum=0.8)

    def call(self, inputs, training=None):
        return inputs + tf.nn.relu(self.norm(self.dense(inputs), training=training))


class Net(tf.keras.Model):
    def __init__(self, classes, depth=2):
        super(Net, self).__init__(name="net")
        self.first = tf.keras.layers.Dense(16, activation="tanh")
        self.blocks = [Block(16) for _ in range(depth)]
        self.dropout = tf.keras.layers.Dropout(0.1)
        self.last = tf.keras.layers.Dense(classes)

    def call(self, inputs, training=None):
        x = self.first(inputs)
        for block in self.blocks:
            x = block(x, training=training)
        return tf.nn.softmax(self.last(self.dropout(x, training=training)))


rng = np.random.RandomState(12)
angles, labels = rng.uniform(0, 3, size=300), rng.randint(3, size=300)
radii = angles / 3
turned = angles + labels * 2 * np.pi / 3
x = np.stack([radii * np.cos(turned), radii * np.sin(turned)], 1).astype(np.float32)
x += rng.normal(0, 0.02, x.shape).astype(np.float32)
train = tf.data.Dataset.from_tensor_slices((x[:240], labels[:240])).shuffle(240, seed=3).repeat().batch(40)
held = tf.data.Dataset.from_tensor_slices((x[240:], labels[240:])).batch(30)

model = Net(3)
model.compile(tf.keras.optimizers.Adam(0.02), "sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(train, epochs=14, steps_per_epoch=6, validation_data=held, validation_steps=2, verbose=0)
assert len(model.weights) == 2 + 2 * 5 + 2 and len(model.trainable_weights) == 2 + 2 * 3 + 2
loss, accuracy = model.evaluate(held, steps=2, verbose=0)
assert accuracy > 0.85, history.history
assert np.isfinite(history.history["val_loss"]).all()  # held-out data begin anew with each epoch

model.save_weights("net")
other = Net(3)
other.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
other.train_on_batch(x[:4], labels[:4])  # creates the variables
other.load_weights("net")
np.testing.assert_allclose(other.predict(x[240:]), model.predict(x[240:]), rtol=1e-4, atol=1e-6)
np.testing.assert_allclose(other.evaluate(held, steps=2, verbose=0)[1], accuracy, rtol=1e-6)
results = {"loss": float(loss), "accuracy": float(accuracy), "epochs": len(history.epoch)}
