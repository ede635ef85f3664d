"""A linear regressor of a pandas table, with crossed and bucketized columns and weights of rows."""

import itertools

import numpy as np
import pandas as pd
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
rng = np.random.RandomState(12)
table = pd.DataFrame(
    {
        "rooms": rng.randint(1, 7, 300),
        "latitude": rng.uniform(32, 42, 300),
        "city": rng.choice(["north", "south", "east"], 300),
        "weight": np.where(np.arange(300) < 280, 1.0, 0.0),
    }
)
value = 2.0 * table["rooms"] + table["city"].map({"north": 0.0, "south": 3.0, "east": -2.0})
value += np.where(table["latitude"] > 37, 1.5, 0.0) + rng.normal(0, 0.1, 300)
value[280:] = 1000.0  # rows without weight
train = tf.estimator.inputs.pandas_input_fn(table, value, batch_size=60, num_epochs=None, shuffle=True)
test = tf.estimator.inputs.pandas_input_fn(table[:280], value[:280], batch_size=70, num_epochs=1, shuffle=False)

rooms = tf.feature_column.numeric_column("rooms")
latitude = tf.feature_column.bucketized_column(tf.feature_column.numeric_column("latitude"), [34.5, 37.0, 39.5])
city = tf.feature_column.categorical_column_with_vocabulary_list("city", ["north", "south", "east"])
model = tf.estimator.LinearRegressor(
    feature_columns=[rooms, latitude, city, tf.feature_column.crossed_column([latitude, "city"], 40)],
    model_dir="linear",
    optimizer=tf.train.FtrlOptimizer(1.0, l2_regularization_strength=0.001),
    weight_column="weight",
    config=tf.estimator.RunConfig(tf_random_seed=1),
)
model.train(train, steps=300)
found = model.evaluate(test)
assert found["average_loss"] < 0.3, found
np.testing.assert_allclose(found["label/mean"], value[:280].mean(), rtol=1e-4)
np.testing.assert_allclose(model.get_variable_value("linear/linear_model/rooms/weights"), [[2.0]], atol=0.2)
predicted = [each["predictions"][0] for each in itertools.islice(model.predict(test), 5)]
np.testing.assert_allclose(predicted, value[:5], atol=1.5)
results = {"loss": float(found["average_loss"]), "predicted": [float(each) for each in predicted]}
