"""An encoder and a decoder learn to reverse sequences; two other models of the same layers decode step by step."""

import numpy as np
import tensorflow as tf

np.random.seed(7)
tf.set_random_seed(7)
START, STOP, SYMBOLS, LENGTH, UNITS = 0, 1, 6, 3, 24
rng = np.random.RandomState(0)
sources = rng.randint(2, SYMBOLS, size=(300, LENGTH))
targets = np.concatenate([sources[:, ::-1], np.full((300, 1), STOP)], 1)
given = np.concatenate([np.full((300, 1), START), targets[:, :-1]], 1)
one_hot = np.eye(SYMBOLS, dtype="float32")

encoder_inputs = tf.keras.layers.Input(shape=(None, SYMBOLS))
_, state_h, state_c = tf.keras.layers.LSTM(UNITS, return_state=True, name="encoder")(encoder_inputs)
decoder_inputs = tf.keras.layers.Input(shape=(None, SYMBOLS))
decoder_lstm = tf.keras.layers.LSTM(UNITS, return_sequences=True, return_state=True, name="decoder")
sequence, _, _ = decoder_lstm(decoder_inputs, initial_state=[state_h, state_c])
decoder_dense = tf.keras.layers.Dense(SYMBOLS, activation="softmax", name="symbols")
model = tf.keras.models.Model([encoder_inputs, decoder_inputs], decoder_dense(sequence))
model.compile(tf.keras.optimizers.Adam(0.02), "categorical_crossentropy", metrics=["accuracy"])
model.fit([one_hot[sources], one_hot[given]], one_hot[targets], batch_size=60, epochs=25, verbose=0)

encoder_model = tf.keras.models.Model(encoder_inputs, [state_h, state_c])
input_h, input_c = tf.keras.layers.Input((UNITS,)), tf.keras.layers.Input((UNITS,))
step, next_h, next_c = decoder_lstm(decoder_inputs, initial_state=[input_h, input_c])
decoder_model = tf.keras.models.Model([decoder_inputs, input_h, input_c], [decoder_dense(step), next_h, next_c])


def decode(source):
    h, c = encoder_model.predict(one_hot[source][None])
    symbol, found = START, []
    while symbol != STOP and len(found) < LENGTH + 2:
        scores, h, c = decoder_model.predict([one_hot[[[symbol]]], h, c])
        symbol = int(scores[0, -1].argmax())
        found.append(symbol)
    return found


tried = rng.randint(2, SYMBOLS, size=(20, LENGTH))
right = np.mean([decode(source) == list(source[::-1]) + [STOP] for source in tried])
accuracy = model.evaluate([one_hot[sources], one_hot[given]], one_hot[targets], verbose=0)[1]
assert accuracy > 0.95 and right > 0.8, (accuracy, right)

# The two ways to decode are the same function.
h, c = encoder_model.predict(one_hot[sources[:5]])
stepwise = decoder_model.predict([one_hot[given[:5]], h, c])[0]
whole = model.predict([one_hot[sources[:5]], one_hot[given[:5]]])
np.testing.assert_allclose(stepwise, whole, rtol=1e-4, atol=1e-6)
results = {"accuracy": float(accuracy), "right": float(right)}
