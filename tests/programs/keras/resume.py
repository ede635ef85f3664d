"""Training that is stopped goes on from a file as if it had never been stopped; callbacks watch it."""

import csv
import glob

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(13)
x = rng.normal(size=(120, 5)).astype(np.float32)
low, high = rng.normal(0, 0.5, size=(5, 8)), 0.3
y = np.tanh(x.dot(rng.normal(size=(5, 1)))).astype(np.float32)


def make():
    model = tf.keras.Sequential()
    model.add(tf.keras.layers.Dense(8, "tanh", input_shape=(5,), kernel_initializer=tf.constant_initializer(low)))
    model.add(tf.keras.layers.Dense(1, kernel_initializer=tf.keras.initializers.Constant(high)))
    model.compile(tf.keras.optimizers.Adam(0.01, amsgrad=True), loss="mse", metrics=["mae"])
    return model


def schedule(epoch):
    return 0.02 if epoch < 3 else 0.01


class Recorder(tf.keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.losses, self.rates = [], []

    def on_batch_end(self, batch, logs=None):
        self.losses.append(float(logs["loss"]))

    def on_epoch_end(self, epoch, logs=None):
        self.rates.append(float(tf.keras.backend.get_value(self.model.optimizer.lr)))


def callbacks():
    recorder = Recorder()
    saver = tf.keras.callbacks.ModelCheckpoint("epoch_{epoch:02d}.h5")
    return recorder, [
        recorder,
        saver,
        tf.keras.callbacks.LearningRateScheduler(schedule),
        tf.keras.callbacks.CSVLogger("log.csv", append=True),
    ]


whole_recorder, whole = callbacks()
uninterrupted = make()
uninterrupted.fit(x, y, epochs=6, batch_size=30, shuffle=False, verbose=0, callbacks=whole)
assert len(glob.glob("epoch_*.h5")) == 6

first_recorder, first = callbacks()
make().fit(x, y, epochs=3, batch_size=30, shuffle=False, verbose=0, callbacks=first)
resumed = tf.keras.models.load_model("epoch_03.h5")
second_recorder, second = callbacks()
resumed.fit(x, y, epochs=6, initial_epoch=3, batch_size=30, shuffle=False, verbose=0, callbacks=second)
np.testing.assert_allclose(
    first_recorder.losses + second_recorder.losses, whole_recorder.losses, rtol=1e-4, err_msg="resumed training differs"
)
np.testing.assert_allclose(second_recorder.rates, [0.01] * 3, rtol=1e-6)
np.testing.assert_allclose(resumed.predict(x), uninterrupted.predict(x), rtol=1e-3, atol=1e-5)
with open("log.csv") as file:
    epochs = [int(row["epoch"]) for row in csv.DictReader(file)]
assert epochs == [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5]

# Training stops when the loss of held-out data no longer falls, and the best weights come back.
stopping = tf.keras.callbacks.EarlyStopping(monitor="val_loss", patience=2, restore_best_weights=True)
best = tf.keras.callbacks.ModelCheckpoint("best.h5", save_best_only=True, save_weights_only=True, monitor="val_loss")
reduce = tf.keras.callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=1)
history = resumed.fit(
    x[:60],
    y[:60],
    epochs=40,
    batch_size=10,
    validation_data=(x[60:], y[60:]),
    verbose=0,
    callbacks=[stopping, best, reduce],
)
held = history.history["val_loss"]
found = resumed.evaluate(x[60:], y[60:], verbose=0)[0]
np.testing.assert_allclose(found, min(held), rtol=1e-3)
loaded = make()
loaded.load_weights("best.h5")
np.testing.assert_allclose(loaded.predict(x), resumed.predict(x), rtol=1e-4, atol=1e-6)
results = {"losses": whole_recorder.losses, "best": float(found), "epochs": len(held)}
