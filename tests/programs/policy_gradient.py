"""Policy gradients on a contextual bandit: one_hot, gather, where, slices by tensors, placeholders of unknown shape."""

import numpy as np
import tensorflow as tf

bandits = np.array([[0.2, 0, -0.0, -5], [0.1, -5, 1, 0.25], [-5, 5, 5, 5]])
num_bandits, num_actions = bandits.shape
rng = np.random.RandomState(0)


def pull_arm(state, action):
    return 1 if rng.randn() > bandits[state, action] else -1


class agent:
    def __init__(self, lr, s_size, a_size):
        self.state_in = tf.placeholder(shape=None, dtype=tf.int32)
        flat = tf.reshape(self.state_in, [-1])
        state_in_OH = tf.one_hot(flat, s_size)
        initial = np.random.RandomState(1).normal(scale=0.1, size=(s_size, a_size))
        self.weights = tf.get_variable("weights", [s_size, a_size], initializer=tf.constant_initializer(initial))
        logits = tf.matmul(state_in_OH, self.weights)
        self.output = tf.nn.softmax(logits)
        self.chosen_action = tf.argmax(self.output, 1)

        self.reward_holder = tf.placeholder(dtype=tf.float32)
        self.action_holder = tf.placeholder(shape=[None], dtype=tf.int32)
        self.indexes = tf.range(0, tf.shape(self.output)[0]) * tf.shape(self.output)[1] + self.action_holder
        self.responsible_outputs = tf.gather(tf.reshape(self.output, [-1]), self.indexes)
        by_mask = tf.reduce_sum(
            self.output * tf.one_hot(self.action_holder, a_size, on_value=1.0, off_value=0.0), axis=1
        )
        by_gather_nd = tf.gather_nd(
            self.output, tf.stack([tf.range(tf.size(self.action_holder)), self.action_holder], axis=1)
        )
        self.disagreement = tf.reduce_max(tf.abs(by_mask - self.responsible_outputs) + tf.abs(by_gather_nd - by_mask))
        baseline = tf.reduce_mean(self.reward_holder)
        advantage = tf.where(
            tf.greater(tf.shape(self.reward_holder)[0], 1), self.reward_holder - baseline, self.reward_holder
        )
        self.loss = -tf.reduce_mean(tf.log(self.responsible_outputs) * tf.stop_gradient(advantage))
        entropy = -tf.reduce_sum(self.output * tf.log(self.output + 1e-8), axis=-1)
        self.entropy = tf.reduce_mean(entropy)
        optimizer = tf.train.GradientDescentOptimizer(learning_rate=lr)
        self.update = optimizer.minimize(self.loss - 0.01 * self.entropy)


myAgent = agent(lr=0.3, s_size=num_bandits, a_size=num_actions)

# Reward bookkeeping with dynamic slices.
rewards = tf.placeholder(tf.float32, name="rewards")
n = tf.placeholder(tf.int32, [], name="n")
gamma = 0.9
size = tf.shape(rewards)[0]
powers = gamma ** tf.to_float(tf.range(size))
returns = tf.reverse(tf.cumsum(tf.reverse(rewards * powers, [0])), [0]) / powers
head, tail, last = rewards[:n], rewards[n:], rewards[size - n : size]
backwards = rewards[::-1]
column = tf.expand_dims(rewards, 1)[..., tf.newaxis, 0]
dynamic = tf.slice(rewards, [n], tf.stack([size - n - 1]))
masked = tf.boolean_mask(tf.reshape(rewards, [-1]), tf.reshape(rewards, [-1]) > 0)
positions = tf.where(rewards > 0)
clipped = tf.where(rewards > 1.0, tf.ones_like(rewards), tf.where(rewards < -1.0, -tf.ones_like(rewards), rewards))
padded = tf.pad(rewards, [[n, 1]], "CONSTANT")
tiled = tf.tile(tf.reshape(rewards, [1, -1]), tf.stack([n, 1]))
sampled = tf.multinomial(tf.log([[0.1, 0.2, 0.7]]), 50)

total_reward = np.zeros([num_bandits, num_actions])
losses, entropies = [], []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(150):
        states = rng.randint(0, num_bandits, size=16)
        probabilities = sess.run(myAgent.output, feed_dict={myAgent.state_in: states})
        actions = np.array([np.searchsorted(np.cumsum(p), rng.uniform() * 0.999) for p in probabilities])
        got = [pull_arm(s, a) for s, a in zip(states, actions)]
        feed_dict = {myAgent.reward_holder: got, myAgent.action_holder: actions, myAgent.state_in: states}
        loss, entropy, differ, _ = sess.run(
            [myAgent.loss, myAgent.entropy, myAgent.disagreement, myAgent.update], feed_dict=feed_dict
        )
        np.add.at(total_reward, (states, actions), got)
        if i % 25 == 0:
            losses.append(loss)
            entropies.append(entropy)
            assert differ < 1e-6
    ww = sess.run(myAgent.weights)
    best = sess.run(myAgent.chosen_action, {myAgent.state_in: np.arange(num_bandits)})
    single = sess.run(myAgent.chosen_action, {myAgent.state_in: 2})
    feed = {rewards: [1.0, 0.0, -2.0, 3.0, 0.5], n: 2}
    book = sess.run(
        [returns, head, tail, last, backwards, column, dynamic, masked, positions, clipped, padded, tiled], feed
    )
    draws = sess.run(sampled)

for a in range(num_bandits):
    print("The agent thinks action " + str(np.argmax(ww[a]) + 1) + " for bandit " + str(a + 1) + " is best")
assert (bandits[np.arange(num_bandits), best] == bandits.min(1)).all()
results = {
    "losses": losses,
    "entropies": entropies,
    "weights": ww,
    "best": best,
    "single": single,
    "total_reward": total_reward,
    "book": book,
    "draws": [list(draws.shape), draws.dtype.name, bool(((draws >= 0) & (draws < 3)).all())],
    "static": [str(t.get_shape()) for t in (myAgent.state_in, myAgent.output, myAgent.responsible_outputs, rewards)],
    "static_2": [str(t.get_shape()) for t in (positions, tiled, sampled, head)],
    "dtypes": [t.dtype.name for t in (myAgent.chosen_action, myAgent.indexes, positions, sampled)],
}
