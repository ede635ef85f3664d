"""Policy gradients: an agent learns to balance a pole on a cart, rewarded only for how long it stands.

The loss comes from an environment outside the graph, a simulation in NumPy: the step that acts and the step that learns
are two fetches of one graph, run alternately. REINFORCE: actions become more likely by how much better than average the
rest of the episode went.

    python examples/policy_gradient.py --steps 60 --size 16
"""

import argparse

import numpy as np
from tqdm import trange

import thalweg as tf

LONGEST = 200
DISCOUNT = 0.98


class Poles:
    """Several carts with one pole each, 50 time steps per second; one that falls or leaves the track is out."""

    def __init__(self, count, rng):
        self.state = rng.uniform(-0.05, 0.05, size=(count, 4))  # position, speed, angle, angular speed
        self.up = np.ones(count, dtype=bool)

    def act(self, right):
        """Pushes each cart to the right or to the left; returns which poles were standing before."""
        stood = self.up.copy()
        _, speed, angle, spin = self.state.T
        force = np.where(right, 10.0, -10.0)
        sine, cosine = np.sin(angle), np.cos(angle)
        push = (force + 0.05 * spin**2 * sine) / 1.1  # a cart of 1 kg, a pole of 0.1 kg and 1 m
        fall = (9.8 * sine - cosine * push) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
        self.state += 0.02 * np.stack([speed, push - 0.05 * fall * cosine / 1.1, spin, fall], axis=1)
        self.up &= (np.abs(self.state[:, 0]) < 2.4) & (np.abs(self.state[:, 2]) < np.radians(12))
        return stood


class Agent:
    """A policy with one hidden layer, its sampled action, and its training step."""

    def __init__(self, rate):
        self.states = tf.placeholder(tf.float32, [None, 4], name="states")
        hidden = tf.layers.dense(self.states, 16, tf.tanh, name="hidden")
        logits = tf.layers.dense(hidden, 2, name="logits")
        self.action = tf.squeeze(tf.multinomial(logits, 1), axis=1)

        self.taken = tf.placeholder(tf.int64, [None], name="taken")
        self.advantages = tf.placeholder(tf.float32, [None], name="advantages")
        surprise = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.taken, logits=logits)
        self.learn = tf.train.AdamOptimizer(rate).minimize(tf.reduce_mean(surprise * self.advantages))


def play(sess, agent, count, rng):
    """Runs episodes in parallel; returns states and actions as [time, episode, ...], and which poles stood."""
    poles = Poles(count, rng)
    states, actions, up = [], [], []
    while poles.up.any() and len(up) < LONGEST:
        states.append(poles.state.copy())
        actions.append(sess.run(agent.action, {agent.states: poles.state}))
        up.append(poles.act(actions[-1] == 1))
    return np.array(states), np.array(actions), np.array(up)


def advantages(up):
    """Returns the advantage of each pole from each time step on, relative to the other episodes."""
    returns = np.zeros(up.shape)
    rest = np.zeros(up.shape[1])
    for moment in reversed(range(len(up))):
        rest = returns[moment] = up[moment] * (1 + DISCOUNT * rest)
    baseline = returns.sum(1, keepdims=True) / up.sum(1, keepdims=True)
    values = (returns - baseline)[up]
    return values / (values.std() + 1e-6)


def main(argv=None):
    parser = argparse.ArgumentParser(description="REINFORCE on a pole that must be balanced.")
    parser.add_argument("--steps", type=int, default=60, help="rounds of playing and learning (%(default)s)")
    parser.add_argument("--size", type=int, default=16, help="episodes in a round (%(default)s)")
    options = parser.parse_args(argv)

    tf.set_random_seed(1)
    rng = np.random.default_rng(1)
    agent = Agent(rate=0.02)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        lasted = []
        for _ in (progress := trange(options.steps, desc="playing", unit="round")):
            states, actions, up = play(sess, agent, options.size, rng)
            feed = {agent.states: states[up], agent.taken: actions[up], agent.advantages: advantages(up)}
            sess.run(agent.learn, feed)
            lasted.append(up.sum(0).mean())
            progress.set_postfix(lasted=f"{lasted[-1]:.0f} moments", refresh=False)
        final = play(sess, agent, 50, rng)[2].sum(0)

    print(f"the pole stood {lasted[0]:.0f} moments at first; after {options.steps} rounds of {options.size} episodes,")
    print(
        f"in 50 new ones, {final.mean():.0f} on average, and in {(final == LONGEST).mean():.0%} of them all {LONGEST}"
    )
    return {"first": lasted[0], "final": final.mean(), "complete": (final == LONGEST).mean()}


if __name__ == "__main__":
    main()
