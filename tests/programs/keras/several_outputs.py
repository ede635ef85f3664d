"""A model with two inputs and two outputs: losses, weights and metrics by the names of the outputs."""

import numpy as np
import tensorflow as tf

np.random.seed(11)
tf.set_random_seed(11)
rng = np.random.RandomState(3)
numbers = rng.normal(size=(300, 4)).astype(np.float32)
kinds = rng.randint(5, size=(300, 1))
urgent = ((numbers[:, 0] + (kinds[:, 0] > 2)) > 0.5).astype(np.float32)
offset = rng.normal(size=5)
price = (2 * numbers[:, 1] + offset[kinds[:, 0]]).astype(np.float32)

numeric = tf.keras.Input(shape=(4,), name="numbers")
kind = tf.keras.Input(shape=(1,), dtype=tf.int32, name="kind")
embedded = tf.keras.layers.Flatten()(tf.keras.layers.Embedding(5, 3)(kind))
joined = tf.keras.layers.concatenate([numeric, embedded])
hidden = tf.keras.layers.Dense(24, activation="relu")(joined)
residual = tf.keras.layers.add([hidden, tf.keras.layers.Dense(24, activation="relu")(hidden)])
first = tf.keras.layers.Dense(1, activation="sigmoid", name="urgent")(residual)
second = tf.keras.layers.Dense(1, name="price")(residual)
model = tf.keras.Model(inputs=[numeric, kind], outputs=[first, second])
model.compile(
    optimizer="adam",
    loss={"urgent": "binary_crossentropy", "price": "mean_squared_error"},
    loss_weights={"urgent": 1.0, "price": 0.5},
    metrics={"urgent": "accuracy", "price": ["mae"]},
)
tf.keras.backend.set_value(model.optimizer.lr, 0.01)
inputs = {"numbers": numbers, "kind": kinds}
labels = {"urgent": urgent, "price": price}
history = model.fit(inputs, labels, epochs=25, batch_size=30, validation_data=(inputs, labels), verbose=0)
values = dict(zip(model.metrics_names, model.evaluate(inputs, labels, batch_size=300, verbose=0)))
assert len(values) == 5 and set(values) <= set(history.history)
total = values["urgent_loss"] + 0.5 * values["price_loss"]
np.testing.assert_allclose(values["loss"], total, rtol=1e-3)
assert values["urgent_acc"] > 0.92 and values["price_loss"] < 0.1 * price.var(), values

# Weights of samples count in the loss: those of half of the rows are zero, and only the other half matters.
weights = (np.arange(300) < 150).astype(np.float32)
both = {"urgent": weights, "price": weights}
weighted = model.evaluate(inputs, labels, sample_weight=both, batch_size=300, verbose=0)[0]
half = {name: array[:150] for name, array in inputs.items()}
alone = model.evaluate(half, {name: array[:150] for name, array in labels.items()}, batch_size=150, verbose=0)[0]
np.testing.assert_allclose(weighted, alone / 2, rtol=1e-3)

predicted = model.predict(inputs)
assert [part.shape for part in predicted] == [(300, 1), (300, 1)]
results = {"names": model.metrics_names, "values": [float(values[name]) for name in model.metrics_names]}
