"""A wide embedding model: a table too large for one machine, split into shards and read by Part, Gather and Stitch.

This is the sparse embedding layer of the OSDI paper (section 4.2, figure 3). The table is a partitioned variable with
one device per shard. A batch of row numbers is partitioned by shard (`dynamic_partition`); each shard gathers its rows
on its device (`gather`); the results are stitched in the original order (`dynamic_stitch`). All of these operations
have gradients, so that training sends back to a shard only the rows that it had sent. `tf.nn.embedding_lookup` does the
same in one call; the program checks that both give equal rows and equal gradients.
The model learns ratings: one row per user and per film, whose dot product is the rating.

    python examples/wide_embedding.py --steps 1500 --size 2000 --shards 4
"""

import argparse
import re

import numpy as np
from tqdm import trange

import thalweg as tf

TASTES = 3  # latent factors of each user and each film, which the model has to find
WIDTH = 8


def ratings(users, films, count, rng):
    """Returns user, film and rating, with a little noise; films are numbered after the users."""
    taste = rng.normal(size=(users + films, TASTES)) / TASTES**0.25
    user, film = rng.integers(users, size=count), users + rng.integers(films, size=count)
    return user, film, (taste[user] * taste[film]).sum(1) + rng.normal(scale=0.1, size=count)


def device_of_part(op):
    """Places part 3 of a variable, and its slots, on CPU 3."""
    part = re.search(r"part_(\d+)", op.name)
    return f"/cpu:{part[1]}" if part else ""


def sharded_table(rows, shards):
    """Returns the parts of a table; row r of the whole is row r // shards of part r % shards."""
    with tf.device(device_of_part):
        table = tf.get_variable(
            "table",
            [rows, WIDTH],
            initializer=tf.random_normal_initializer(stddev=0.3),
            partitioner=tf.fixed_size_partitioner(shards),
        )
    return list(table)


def part_gather_stitch(table, ids):
    """Looks up rows by Part, Gather and Stitch, as in figure 3."""
    shards = len(table)
    owner = tf.mod(ids, shards)
    parts = tf.dynamic_partition(ids // shards, owner, shards, name="Part")
    places = tf.dynamic_partition(tf.range(tf.size(ids)), owner, shards)
    gathered = []
    for shard, rows in zip(table, parts):
        with tf.colocate_with(shard):
            gathered.append(tf.gather(shard, rows, name="Gather"))
    return tf.dynamic_stitch(places, gathered, name="Stitch")


def predict(rows):
    """Returns the dot products of the users' rows, the first half, with those of the films."""
    users, films = tf.split(rows, 2)
    return tf.reduce_sum(users * films, axis=1)


def largest_difference(by_hand, by_lookup, table):
    """Returns the largest difference of rows, or of the gradients of the shards."""
    by_hand, by_lookup = (
        [rows, *map(tf.convert_to_tensor, tf.gradients(tf.nn.l2_loss(rows), table))] for rows in (by_hand, by_lookup)
    )
    return tf.reduce_max([tf.reduce_max(tf.abs(a - b)) for a, b in zip(by_hand, by_lookup)])


def main(argv=None):
    parser = argparse.ArgumentParser(description="A wide embedding model over a sharded table.")
    parser.add_argument("--steps", type=int, default=1500, help="training steps (%(default)s)")
    parser.add_argument("--size", type=int, default=2000, help="users; there are half as many films (%(default)s)")
    parser.add_argument("--shards", type=int, default=4, help="parts of the table (%(default)s)")
    options = parser.parse_args(argv)
    users, films, shards = options.size, options.size // 2, options.shards
    rng = np.random.default_rng(1)
    user, film, rating = ratings(users, films, 50 * users, rng)
    held_out = np.arange(5 * users)

    tf.set_random_seed(1)
    table = sharded_table(users + films, shards)
    ids = tf.placeholder(tf.int32, [None], name="ids")  # of the users, then of the films
    wanted = tf.placeholder(tf.float32, [None], name="ratings")
    rows = part_gather_stitch(table, ids)
    errors = tf.squared_difference(wanted, predict(rows))
    optimizer = tf.train.AdagradOptimizer(0.25)
    gradients = optimizer.compute_gradients(tf.reduce_sum(errors), table)
    train = optimizer.apply_gradients(gradients)
    difference = largest_difference(rows, tf.nn.embedding_lookup(table, ids, partition_strategy="mod"), table)

    def feed(chosen):
        return {ids: np.concatenate([user[chosen], film[chosen]]), wanted: rating[chosen]}

    where = ", ".join(shard.device.replace("/device:", "") for shard in table)
    print(f"a table of {users + films:,} rows for {users:,} users and {films:,} films, in {shards} shards on {where}")
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": shards})) as sess:
        sess.run(tf.global_variables_initializer())
        for _ in (progress := trange(options.steps, desc="training", unit="step")):
            batch = feed(rng.integers(len(held_out), len(user), size=256))
            value = sess.run([errors, train], batch)[0].mean()
            progress.set_postfix(error=f"{value:.3f}", refresh=False)
        explained = 1 - sess.run(errors, feed(held_out)).mean() / rating[held_out].var()
        few = feed(held_out[:16])
        slices = sess.run([gradient for gradient, _ in gradients], few)
        differ = sess.run(difference, few)

    touched = [len(np.unique(s.indices)) for s in slices]
    print(f"the model explains {explained:.1%} of the variance of {len(held_out):,} held-out ratings")
    print(f"the gradient of 16 ratings goes to {' + '.join(map(str, touched))} rows of the {shards} shards")
    print(f"by hand and by tf.nn.embedding_lookup, rows and gradients differ by {differ:g}")
    return {"explained": explained, "difference": differ, "touched": touched}


if __name__ == "__main__":
    main()
