"""Reviews are classified by the mean of their words' embeddings; the model is saved and loaded again."""

import numpy as np
import tensorflow as tf

keras = tf.keras
np.random.seed(3)
tf.set_random_seed(3)

good = ["lovely", "bright", "funny", "warm", "clever", "superb", "moving", "fresh"]
bad = ["dull", "noisy", "slow", "cold", "clumsy", "awful", "boring", "stale"]
filler = ["the", "a", "film", "was", "and", "it", "scene", "of", "actor", "plot", "with", "one"]


def review(label, rng):
    words = list(rng.choice(filler, rng.randint(4, 9))) + list(rng.choice(good if label else bad, 3))
    rng.shuffle(words)
    return " ".join(words)


rng = np.random.RandomState(0)
labels = rng.randint(2, size=240)
texts = [review(label, rng) for label in labels]

tokenizer = keras.preprocessing.text.Tokenizer(num_words=40, oov_token="<unknown>")
tokenizer.fit_on_texts(texts[:200])
rows = keras.preprocessing.sequence.pad_sequences(tokenizer.texts_to_sequences(texts), maxlen=14, padding="post")
assert rows.shape == (240, 14) and rows.max() < 40

model = keras.Sequential()
model.add(keras.layers.Embedding(40, 8, input_length=14))
model.add(keras.layers.GlobalAveragePooling1D())
model.add(keras.layers.Dense(8, activation=tf.nn.relu))
model.add(keras.layers.Dropout(0.2))
model.add(keras.layers.Dense(1, activation="sigmoid"))
model.compile(optimizer=keras.optimizers.Adam(lr=0.03), loss="binary_crossentropy", metrics=["acc"])
history = model.fit(rows[:200], labels[:200], epochs=15, batch_size=25, validation_split=0.2, verbose=0)
assert sorted(history.history) == ["acc", "loss", "val_acc", "val_loss"]

loss, accuracy = model.evaluate(rows[200:], labels[200:], verbose=0)
assert accuracy > 0.9, accuracy

model.save("reviews.h5")
again = keras.models.load_model("reviews.h5")
np.testing.assert_allclose(again.predict(rows[200:]), model.predict(rows[200:]), rtol=1e-5)
unseen = tokenizer.texts_to_sequences(["a superb and clever plot", "it was slow stale and dreadful"])
scores = again.predict(keras.preprocessing.sequence.pad_sequences(unseen, maxlen=14, padding="post")).ravel()
assert scores[0] > 0.5 > scores[1], scores
results = {"loss": float(loss), "accuracy": float(accuracy), "scores": scores.tolist()}
