"""Deep Q-learning: two networks in collections of their own, a target that is copied or follows slowly, and replay."""

import numpy as np
import tensorflow as tf

FEATURES, ACTIONS, HIDDEN, BATCH, GAMMA, TAU = 3, 3, 12, 8, 0.9, 0.05
rng = np.random.RandomState(7)


class Env(object):
    def reset(self):
        self.state, self.time = np.array([0.1, -0.2, 0.3]), 0
        return self.state

    def step(self, action):
        self.state = np.tanh(self.state * 0.9 + np.eye(FEATURES)[action] * 0.2 - 0.05)
        self.time += 1
        return self.state, float(self.state[0] - self.state[1]), self.time > 15


class Agent(object):
    def __init__(self, rate=0.02):
        self.memory = np.zeros((40, FEATURES * 2 + 2))
        self.stored = self.learned = 0
        self.s = tf.placeholder(tf.float32, [None, FEATURES], name="s")
        self.next_s = tf.placeholder(tf.float32, [None, FEATURES], name="next_s")
        self.target = tf.placeholder(tf.float32, [None, ACTIONS], name="target")
        self.weights = tf.placeholder_with_default(tf.ones([1, 1]), [None, 1], name="weights")
        with tf.variable_scope("eval"):
            self.q = self._network(self.s, ["eval_params", tf.GraphKeys.GLOBAL_VARIABLES])
        with tf.variable_scope("target"):
            self.next_q = self._network(self.next_s, ["target_params", tf.GraphKeys.GLOBAL_VARIABLES])
        with tf.variable_scope("loss"):
            self.errors = tf.reduce_sum(tf.abs(self.target - self.q), axis=1)
            self.loss = tf.reduce_mean(self.weights * tf.squared_difference(self.target, self.q))
        with tf.variable_scope("train"):
            optimizer = tf.train.RMSPropOptimizer(rate)
            pairs = optimizer.compute_gradients(self.loss, var_list=tf.get_collection("eval_params"))
            self.train = optimizer.apply_gradients([(tf.clip_by_norm(g, 1.0), v) for g, v in pairs])
        both = list(zip(tf.get_collection("target_params"), tf.get_collection("eval_params")))
        self.copy = [tf.assign(t, e) for t, e in both]
        self.follow = [t.assign((1 - TAU) * t + TAU * e) for t, e in both]

    def _network(self, x, collections):
        def variable(name, shape):
            start = rng.normal(0.0, 0.3, shape).astype(np.float32)
            return tf.get_variable(name, shape, initializer=tf.constant_initializer(start), collections=collections)

        with tf.variable_scope("hidden"):
            hidden = tf.nn.relu(tf.matmul(x, variable("w", [FEATURES, HIDDEN])) + variable("b", [1, HIDDEN]))
        with tf.variable_scope("value"):
            value = tf.matmul(hidden, variable("w", [HIDDEN, 1])) + variable("b", [1, 1])
        with tf.variable_scope("advantage"):
            advantage = tf.matmul(hidden, variable("w", [HIDDEN, ACTIONS])) + variable("b", [1, ACTIONS])
        return value + (advantage - tf.reduce_mean(advantage, axis=1, keepdims=True))

    def choose(self, state):
        if rng.uniform() < 0.3:
            return rng.randint(ACTIONS)
        return int(np.argmax(sess.run(self.q, feed_dict={self.s: state[np.newaxis, :]})))

    def store(self, state, action, reward, following):
        self.memory[self.stored % len(self.memory)] = np.hstack((state, [action, reward], following))
        self.stored += 1

    def learn(self):
        if self.learned % 10 == 0:
            sess.run(self.copy)
        else:
            sess.run(self.follow)
        rows = self.memory[rng.choice(len(self.memory), BATCH)]
        states, following = rows[:, :FEATURES], rows[:, -FEATURES:]
        next_q, next_eval = sess.run([self.next_q, self.q], {self.next_s: following, self.s: following})
        target = sess.run(self.q, {self.s: states})
        picked = rows[:, FEATURES].astype(int)
        best = next_q[np.arange(BATCH), np.argmax(next_eval, axis=1)]
        target[np.arange(BATCH), picked] = rows[:, FEATURES + 1] + GAMMA * best
        feeds = {self.s: states, self.target: target, self.weights: np.full((BATCH, 1), 0.5)}
        _, errors, loss = sess.run([self.train, self.errors, self.loss], feeds)
        self.learned += 1
        return loss, errors


agent, env, losses = Agent(), Env(), []
sess = tf.Session()
sess.run(tf.global_variables_initializer())
for episode in range(6):
    state, done = env.reset(), False
    while not done:
        action = agent.choose(state)
        following, reward, done = env.step(action)
        agent.store(state, action, reward, following)
        state = following
        if agent.stored > 40:
            losses.append(agent.learn())

results = {
    "losses": [float(loss) for loss, _ in losses],
    "errors": losses[-1][1],
    "eval": sess.run(tf.get_collection("eval_params")),
    "target": sess.run(tf.get_collection("target_params")),
    "names": [v.name for v in tf.global_variables()],
    "trainable": [v.op.name for v in tf.trainable_variables()],
}
sess.close()
