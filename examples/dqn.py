"""Deep Q-learning in one graph: environment, replay memory, actions and learning are operations of one loop.

A mouse looks for the cheese in a maze with traps. Every iteration of a `tf.while_loop` is a move: a `tf.cond` chooses
between a random direction and the best one according to the network, the move is written to the replay memory, which
consists of variables, and the network learns from moves sampled from it. At intervals another `tf.cond` copies the
weights to the target network, which estimates the values of positions. One `run` makes hundreds of moves, without any
Python code in between.

    python examples/dqn.py --steps 10 --size 32
"""

import argparse

import numpy as np
from tqdm import trange

import thalweg as tf

MAZE = (  # cheese $, traps x, walls #
    "....#$",
    ".##.#.",
    ".#x.#.",
    ".#....",
    "...#x.",
    "x#....",
)
HEIGHT, WIDTH = len(MAZE), len(MAZE[0])
ARROWS = "^v<>"
MOVES = 400  # in one run of the loop
REMEMBERED = 5000
BATCH = 32
DISCOUNT = 0.95
COPIED = 60  # moves between two updates of the target network


class World:
    """A maze as lookup tables in the graph: the position that each direction leads to, and what is there."""

    def __init__(self):
        self.places = "".join(MAZE)
        self.free = [place for place, what in enumerate(self.places) if what == "."]
        self.cheese = self.places.index("$")
        self.ways = [self._ways(place) for place in range(len(self.places))]
        self._rewards = tf.constant([{"$": 1.0, "x": -1.0}.get(what, -0.02) for what in self.places])
        self._ends = tf.constant([what in "$x" for what in self.places])

    @staticmethod
    def _ways(place):
        row, column = divmod(place, WIDTH)
        around = ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1))
        inside = [0 <= r < HEIGHT and 0 <= c < WIDTH and MAZE[r][c] != "#" for r, c in around]
        return [r * WIDTH + c if there else place for (r, c), there in zip(around, inside)]

    def move(self, places, directions):
        """Returns the next positions, their rewards, and whether the episode ends there."""
        places = tf.gather_nd(self.ways, tf.stack([places, directions], -1))
        return places, tf.gather(self._rewards, places), tf.gather(self._ends, places)

    def anywhere(self):
        return tf.random_shuffle(self.free)[0]

    def distances(self):
        """Returns the distance of each position from the cheese, without passing traps."""
        away = {self.cheese: 0}
        for place in (queue := list(away)):
            for other in self.free:
                if other not in away and place in self.ways[other]:
                    away[other] = away[place] + 1
                    queue.append(other)
        return away


class Agent:
    """Two networks of the same architecture, a replay memory, and the loops for training and evaluation."""

    def __init__(self, world, size, rate=0.002):
        self.world = world
        self.size = size
        self.count = tf.Variable(0, trainable=False, use_resource=True)
        self.place = tf.Variable(world.free[0], trainable=False, use_resource=True)
        kinds = (tf.int32, tf.int32, tf.int32, tf.float32, tf.bool)  # from, direction, to, reward, end
        self.memory = [tf.Variable(tf.zeros([REMEMBERED], kind), trainable=False, use_resource=True) for kind in kinds]
        self.optimizer = tf.train.AdamOptimizer(rate)
        self.shown = self.show()
        self.values("target", world.free)
        self.learned = self.play()

    def values(self, network, places):
        """Returns the Q-values of all directions at some positions, by one of the networks."""
        rows, columns = tf.one_hot(tf.floordiv(places, WIDTH), HEIGHT), tf.one_hot(tf.floormod(places, WIDTH), WIDTH)
        with tf.variable_scope(network, reuse=tf.AUTO_REUSE, use_resource=True):
            hidden = tf.layers.dense(tf.concat([rows, columns], 1), self.size, tf.nn.relu, name="hidden")
            return tf.layers.dense(hidden, len(ARROWS), name="values")

    def best(self, places):
        return tf.argmax(self.values("online", places), axis=1, output_type=tf.int32)

    def play(self):
        """Returns an operation that makes many moves and learns from each."""

        def move(time, place):
            chance = tf.maximum(0.2, 1.0 - tf.cast(self.count, tf.float32) / 2000.0)
            direction = tf.cond(
                tf.random_uniform([]) < chance,
                lambda: tf.random_uniform([], maxval=len(ARROWS), dtype=tf.int32),
                lambda: self.best([place])[0],
            )
            following, reward, end = self.world.move(place, direction)
            with tf.control_dependencies(self.remember(place, direction, following, reward, end)):
                learned = self.learn()
            with tf.control_dependencies([learned]):
                copied = tf.cond(tf.equal(self.count % COPIED, 0), self.copy, tf.no_op)
            with tf.control_dependencies([copied]):
                counted = self.count.assign_add(1)
            with tf.control_dependencies([counted]):
                return time + 1, tf.cond(end, self.world.anywhere, lambda: following)

        _, place = tf.while_loop(lambda time, _: time < MOVES, move, (0, self.place), parallel_iterations=1)
        return self.place.assign(place)

    def remember(self, *values):
        """Writes one move to the memory, replacing the oldest."""
        slot = self.count % REMEMBERED
        return [kept[slot].assign(value) for kept, value in zip(self.memory, values)]

    def learn(self):
        """Updates the Q-values of some remembered moves towards their targets."""
        drawn = tf.random_uniform([BATCH], maxval=tf.minimum(self.count + 1, REMEMBERED), dtype=tf.int32)
        places, directions, following, rewards, ends = (tf.gather(kept, drawn) for kept in self.memory)
        later = tf.reduce_max(self.values("target", following), axis=1)
        worth = rewards + DISCOUNT * tf.where(ends, tf.zeros_like(later), later)
        guess = tf.reduce_sum(self.values("online", places) * tf.one_hot(directions, len(ARROWS)), axis=1)
        loss = tf.losses.huber_loss(tf.stop_gradient(worth), guess)
        return self.optimizer.minimize(loss, var_list=tf.trainable_variables("online"))

    def copy(self):
        pairs = zip(tf.global_variables("target"), tf.trainable_variables("online"))
        return tf.group(*[target.assign(online) for target, online in pairs])

    def show(self):
        """Returns where the greedy policy leads from each free position, and after how many moves."""

        def move(places, moves, under_way):
            following, _, ends = self.world.move(places, self.best(places))
            places = tf.where(under_way, following, places)
            return places, moves + tf.cast(under_way, tf.int32), under_way & ~ends

        start = (tf.constant(self.world.free), tf.zeros_like(self.world.free), tf.fill([len(self.world.free)], True))
        return tf.while_loop(lambda *state: tf.reduce_any(state[-1]), move, start, maximum_iterations=50)


def main(argv=None):
    parser = argparse.ArgumentParser(description="Deep Q-learning, all of it in the graph.")
    parser.add_argument("--steps", type=int, default=10, help=f"runs of {MOVES} moves each (%(default)s)")
    parser.add_argument("--size", type=int, default=32, help="hidden units (%(default)s)")
    options = parser.parse_args(argv)

    tf.set_random_seed(1)
    world = World()
    agent = Agent(world, options.size)
    directions = agent.best(world.free)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in (progress := trange(options.steps, desc="playing", unit="run")):
            sess.run(agent.learned)
            ends, moves, _ = sess.run(agent.shown)
            progress.set_postfix(found=f"{np.mean(ends == world.cheese):.0%}", refresh=False)
        arrows = dict(zip(world.free, sess.run(directions)))

    for row in range(HEIGHT):
        places = range(row * WIDTH, (row + 1) * WIDTH)
        print("  ", *(ARROWS[arrows[i]] if i in arrows else world.places[i] for i in places))
    away = world.distances()
    found = ends == world.cheese
    shortest = found & (moves == [away[place] for place in world.free])
    print(f"after {options.steps * MOVES} moves the mouse finds the cheese from {found.sum()} of {len(found)} places,")
    print(f"and from {shortest.sum()} of them by a shortest way")
    return {"found": found.mean(), "shortest": shortest.mean()}


if __name__ == "__main__":
    main()
