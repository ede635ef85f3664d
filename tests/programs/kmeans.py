"""K-means by graph operations and nearest neighbours by distance."""

import numpy as np
import tensorflow as tf

N, K, D = 90, 3, 2
MAX_ITERS = 30
rng = np.random.RandomState(5)
true_centers = np.array([[0.0, 0.0], [4.0, 4.0], [-4.0, 4.0]])
true_labels = rng.randint(K, size=N)
data = (true_centers[true_labels] + rng.normal(scale=0.7, size=(N, D))).astype(np.float32)

points = tf.Variable(data, name="points", trainable=False)
cluster_assignments = tf.Variable(tf.zeros([N], dtype=tf.int64), name="assignments")
centroids = tf.Variable(tf.slice(points.initialized_value(), [0, 0], [K, D]), name="centroids")

# Distances by replicating both sides, as in every tutorial of the time
rep_centroids = tf.reshape(tf.tile(centroids, [N, 1]), [N, K, D])
rep_points = tf.reshape(tf.tile(points, [1, K]), [N, K, D])
sum_squares = tf.reduce_sum(tf.square(rep_points - rep_centroids), reduction_indices=2)
best_centroids = tf.argmin(sum_squares, 1)
inertia = tf.reduce_sum(tf.reduce_min(sum_squares, axis=1))
did_assignments_change = tf.reduce_any(tf.not_equal(best_centroids, cluster_assignments))


def bucket_mean(data, bucket_ids, num_buckets):
    total = tf.unsorted_segment_sum(data, bucket_ids, num_buckets)
    count = tf.unsorted_segment_sum(tf.ones_like(data), bucket_ids, num_buckets)
    return total / count


means = bucket_mean(points, best_centroids, K)
with tf.control_dependencies([did_assignments_change]):
    do_updates = tf.group(centroids.assign(means), cluster_assignments.assign(best_centroids))

sess = tf.Session()
sess.run(tf.global_variables_initializer())
changed = True
iters = 0
inertias = []
while changed and iters < MAX_ITERS:
    iters += 1
    [changed, cost, _] = sess.run([did_assignments_change, inertia, do_updates])
    inertias.append(cost)
[centers, assignments] = sess.run([centroids, cluster_assignments])
print("Found in", iters, "iterations")

# Nearest neighbour: L1 to one point, then k nearest for a batch with a vote
xtr = tf.placeholder("float", [None, D])
ytr = tf.placeholder(tf.int32, [None])
xte = tf.placeholder("float", [D])
distance = tf.reduce_sum(tf.abs(tf.add(xtr, tf.negative(xte))), reduction_indices=1)
nearest = tf.arg_min(distance, 0)

batch = tf.placeholder(tf.float32, [None, D])
cross = tf.matmul(batch, xtr, transpose_b=True)
squares = tf.reduce_sum(batch**2, 1, keepdims=True) - 2 * cross + tf.expand_dims(tf.reduce_sum(xtr * xtr, 1), 0)
distances = tf.sqrt(tf.maximum(squares, 0.0))
negative_top, neighbours = tf.nn.top_k(-distances, k=5)
votes = tf.reduce_sum(tf.one_hot(tf.gather(ytr, neighbours), K, dtype=tf.int32), axis=1)
vote = tf.cast(tf.argmax(votes, axis=1), tf.int32)

# Statistics of the groups
by_class, order = tf.nn.top_k(-ytr, k=tf.size(ytr), sorted=True)
per_class_max = tf.segment_max(tf.gather(xtr, order), -by_class)
bins = tf.unsorted_segment_sum(tf.ones_like(ytr), ytr, K + 1)
partitions = tf.dynamic_partition(xtr, ytr, K)
partition_means = tf.stack([tf.reduce_mean(part, axis=0) for part in partitions])
far, spread = tf.reduce_max(distances), tf.reduce_prod(tf.nn.moments(xtr, axes=[0])[1])

test = (true_centers[[0, 1, 2, 0]] + rng.normal(scale=0.5, size=(4, D))).astype(np.float32)
singles = [sess.run(nearest, {xtr: data, xte: test[i]}) for i in range(len(test))]
voted, dist, found = sess.run([vote, -negative_top, neighbours], {xtr: data, ytr: true_labels, batch: test})
stats = sess.run([per_class_max, bins, partition_means, far, spread], {xtr: data, ytr: true_labels, batch: test})
sess.close()

assert inertias[-1] < inertias[0]
assert (voted == [0, 1, 2, 0]).all()
results = {
    "iterations": iters,
    "inertias": inertias,
    "centers": centers,
    "assignments": assignments,
    "singles": singles,
    "voted": voted,
    "distances": dist,
    "neighbours": found,
    "stats": stats,
    "changed": changed,
    "shapes": [str(t.get_shape()) for t in (rep_points, best_centroids, means, distances, neighbours, vote)],
    "variables": [v.name for v in tf.global_variables()],
}
