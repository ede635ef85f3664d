"""A denoising autoencoder with tied weights in a class, sigmoid cross entropy and RMSProp."""

import numpy as np
import tensorflow as tf


def xavier_init(fan_in, fan_out, constant=1, seed=5):
    low = -constant * np.sqrt(6.0 / (fan_in + fan_out))
    high = constant * np.sqrt(6.0 / (fan_in + fan_out))
    return np.random.RandomState(seed).uniform(low, high, size=(fan_in, fan_out)).astype(np.float32)


class TiedAutoencoder(object):
    def __init__(self, n_input, n_hidden, transfer_function=tf.nn.sigmoid, optimizer=None):
        self.n_input = n_input
        self.n_hidden = n_hidden
        self.transfer = transfer_function
        self.scale = tf.placeholder_with_default(0.0, shape=(), name="scale")
        self.noise = tf.placeholder_with_default(tf.zeros([1, n_input]), [None, n_input])
        self.weights = self._initialize_weights()

        # model
        self.x = tf.placeholder(tf.float32, [None, self.n_input])
        corrupted = self.x + self.scale * self.noise
        self.hidden = self.transfer(tf.add(tf.matmul(corrupted, self.weights["w1"]), self.weights["b1"]))
        self.logits = tf.add(tf.matmul(self.hidden, tf.transpose(self.weights["w1"])), self.weights["b2"])
        self.reconstruction = tf.sigmoid(self.logits)

        # cost
        xent = tf.nn.sigmoid_cross_entropy_with_logits(labels=self.x, logits=self.logits)
        self.cost = tf.reduce_mean(tf.reduce_sum(xent, 1))
        self.mse = 0.5 * tf.reduce_sum(tf.pow(tf.subtract(self.reconstruction, self.x), 2.0))
        rho_hat = tf.reduce_mean(self.hidden, axis=0, keep_dims=True)
        self.sparsity = tf.reduce_sum(0.2 * tf.log(0.2 / rho_hat) + 0.8 * tf.log(0.8 / (1 - rho_hat)))
        self.optimizer = optimizer.minimize(self.cost + 0.01 * self.sparsity)

        self.sess = tf.Session()
        self.sess.run(tf.global_variables_initializer())

    def _initialize_weights(self):
        all_weights = dict()
        all_weights["w1"] = tf.Variable(xavier_init(self.n_input, self.n_hidden))
        all_weights["b1"] = tf.Variable(tf.zeros([self.n_hidden], dtype=tf.float32))
        all_weights["b2"] = tf.Variable(tf.zeros([self.n_input], dtype=tf.float32))
        return all_weights

    def partial_fit(self, X, noise):
        cost, opt = self.sess.run(
            (self.cost, self.optimizer), feed_dict={self.x: X, self.scale: 0.1, self.noise: noise}
        )
        assert opt is None
        return cost

    def calc_total_cost(self, X):
        return self.sess.run(self.mse, feed_dict={self.x: X})

    def transform(self, X):
        return self.sess.run(self.hidden, feed_dict={self.x: X})

    def generate(self, hidden=None):
        # Feeding the hidden tensor cuts the encoder off.
        return self.sess.run(self.reconstruction, feed_dict={self.hidden: hidden})

    def reconstruct(self, X):
        return self.sess.run(self.reconstruction, feed_dict={self.x: X})

    def getWeights(self):
        return self.sess.run(self.weights["w1"])


rng = np.random.RandomState(0)
patterns = (rng.uniform(size=(6, 20)) > 0.5).astype(np.float32)
data = patterns[rng.randint(6, size=96)]
data = np.abs(data - (rng.uniform(size=data.shape) < 0.05)).astype(np.float32)

optimizer = tf.train.RMSPropOptimizer(learning_rate=0.01, decay=0.9, momentum=0.5, epsilon=1e-8)
autoencoder = TiedAutoencoder(n_input=20, n_hidden=8, optimizer=optimizer)

before = autoencoder.calc_total_cost(data)
costs = []
for epoch in range(15):
    avg_cost = 0.0
    for i in range(0, len(data), 32):
        batch_xs = data[i : i + 32]
        cost = autoencoder.partial_fit(batch_xs, rng.normal(size=batch_xs.shape))
        avg_cost += cost / len(data) * 32
    costs.append(avg_cost)
after = autoencoder.calc_total_cost(data)
print("Total cost: " + str(after))

assert after < before
results = {
    "costs": costs,
    "before": before,
    "after": after,
    "hidden": autoencoder.transform(data[:4]),
    "reconstruction": autoencoder.reconstruct(data[:4]),
    "generated": autoencoder.generate(np.eye(8)),
    "weights": autoencoder.getWeights(),
    "slots": sorted(optimizer.get_slot_names()),
    "variables": [v.name for v in tf.global_variables()],
    "static": [str(autoencoder.reconstruction.shape), str(autoencoder.scale.shape), str(autoencoder.noise.shape)],
}
autoencoder.sess.close()
