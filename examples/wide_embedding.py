"""A wide embedding model: a table too large for one machine, cut into shards and read by Part, Gather and Stitch.

This is the sparse embedding layer of the OSDI paper (section 4.2, figure 3). The table is a partitioned variable, each
shard on a device of its own. A batch of row numbers is cut by the shard that holds each row (`dynamic_partition`); each
shard gathers its rows where it lives (`gather`); the pieces are put together in the order asked for
(`dynamic_stitch`). Every one of these operations has a gradient, so that training sends back to a shard only the rows
it had sent. `tf.nn.embedding_lookup` is the same in one call; the program checks that both give equal rows and
equal gradients.
The model learns ratings: a row for each of many users and films, whose product is the rating.

    python examples/wide_embedding.py --steps 1500 --size 2000 --shards 4
"""

import argparse

import numpy as np
from tqdm import trange

import thalweg as tf

TASTES = 3  # what is to be found: each user and each film has so many hidden numbers
WIDTH = 8


def ratings(users, films, count, rng):
    """Returns user, film and rating, with a little noise; films are numbered after the users."""
    taste = rng.normal(size=(users + films, TASTES)) / TASTES**0.25
    user, film = rng.integers(users, size=count), users + rng.integers(films, size=count)
    return user, film, (taste[user] * taste[film]).sum(1) + rng.normal(scale=0.1, size=count)


def sharded_table(rows, shards):
    """Returns the parts of a table, each on a device of its own; row r is row r // shards of part r % shards."""
    table = tf.get_variable(
        "table",
        [rows, WIDTH],
        initializer=tf.random_normal_initializer(stddev=0.3),
        partitioner=tf.fixed_size_partitioner(shards),
    )
    return list(table)


def part_gather_stitch(table, ids):
    """Looks up rows by hand, as in figure 3."""
    shards = len(table)
    owner = tf.mod(ids, shards)
    parts = tf.dynamic_partition(ids // shards, owner, shards, name="Part")
    places = tf.dynamic_partition(tf.range(tf.size(ids)), owner, shards)
    gathered = []
    for shard, rows in zip(table, parts):
        with tf.colocate_with(shard):
            gathered.append(tf.gather(shard, rows, name="Gather"))
    return tf.dynamic_stitch(places, gathered, name="Stitch")
