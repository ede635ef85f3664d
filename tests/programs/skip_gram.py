"""Skip-gram word vectors: embedding lookup, sparse gradients, Adagrad, nearest words by cosine."""

import collections

import numpy as np
import tensorflow as tf

text = (
    "the quick brown fox jumps over the lazy dog and the quick cat sleeps under the warm sun while the lazy dog "
    "dreams of the brown fox and the cat dreams of the quick dog under the old tree near the warm river"
)
words = text.split() * 3
count = collections.Counter(words).most_common()
dictionary = {word: i for i, (word, _) in enumerate(sorted(count, key=lambda item: (-item[1], item[0])))}
data = [dictionary[word] for word in words]
vocabulary_size = len(dictionary)
embedding_size = 8
num_sampled = 5


def generate_batch(window, offset, size):
    pairs = []
    for i in range(window, len(data) - window):
        for j in list(range(i - window, i)) + list(range(i + 1, i + window + 1)):
            pairs.append((data[i], data[j]))
    chosen = np.array((pairs * 2)[offset % len(pairs) :][:size], dtype=np.int32)
    return chosen[:, 0], chosen[:, 1:]


rng = np.random.RandomState(1)
init_embeddings = rng.uniform(-1.0, 1.0, size=(vocabulary_size, embedding_size)).astype(np.float32)
init_weights = (rng.normal(size=(vocabulary_size, embedding_size)) / np.sqrt(embedding_size)).astype(np.float32)

graph = tf.Graph()
with graph.as_default():
    train_inputs = tf.placeholder(tf.int32, shape=[None])
    train_labels = tf.placeholder(tf.int32, shape=[None, 1])
    negatives = tf.placeholder(tf.int32, shape=[num_sampled])
    valid_dataset = tf.constant([dictionary[w] for w in ("the", "dog", "fox")], dtype=tf.int32)

    with tf.device("/cpu:0"):
        embeddings = tf.Variable(init_embeddings, name="embeddings")
        embed = tf.nn.embedding_lookup(embeddings, train_inputs)
        nce_weights = tf.Variable(init_weights, name="nce_weights")
        nce_biases = tf.Variable(tf.zeros([vocabulary_size]), name="nce_biases")

    # Negative sampling by hand, since the negatives are fed.
    true_w = tf.nn.embedding_lookup(nce_weights, tf.squeeze(train_labels, [1]))
    true_b = tf.gather(nce_biases, tf.reshape(train_labels, [-1]))
    true_logits = tf.reduce_sum(tf.multiply(embed, true_w), 1) + true_b
    sampled_w = tf.nn.embedding_lookup(nce_weights, negatives)
    sampled_b = tf.nn.embedding_lookup(nce_biases, negatives)
    sampled_logits = tf.matmul(embed, sampled_w, transpose_b=True) + sampled_b
    true_xent = tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.ones_like(true_logits), logits=true_logits)
    sampled_xent = tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.zeros_like(sampled_logits), logits=sampled_logits)
    batch = tf.to_float(tf.shape(train_inputs)[0])
    loss = (tf.reduce_sum(true_xent) + tf.reduce_sum(sampled_xent)) / batch

    opt = tf.train.AdagradOptimizer(0.5, initial_accumulator_value=0.1)
    grads_and_vars = opt.compute_gradients(loss)
    kinds = [type(g).__name__ for g, _ in grads_and_vars]
    embedding_grad = grads_and_vars[0][0]
    dense_grad = tf.convert_to_tensor(embedding_grad)
    train = opt.apply_gradients(grads_and_vars)

    norm = tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keepdims=True))
    normalized_embeddings = embeddings / norm
    valid_embeddings = tf.nn.embedding_lookup(normalized_embeddings, valid_dataset)
    similarity = tf.matmul(valid_embeddings, normalized_embeddings, transpose_b=True)

    touched = tf.scatter_add(
        tf.Variable(tf.zeros([vocabulary_size], tf.int32)), train_inputs, tf.ones_like(train_inputs)
    )
    unique, index = tf.unique(train_inputs)
    sharded = [tf.constant(init_embeddings[0::2]), tf.constant(init_embeddings[1::2])]
    from_shards = tf.nn.embedding_lookup(sharded, [0, 3, 2, 5], partition_strategy="mod")
    init = tf.global_variables_initializer()

losses = []
with tf.Session(graph=graph) as session:
    init.run()
    average_loss = 0
    for step in range(60):
        inputs, labels = generate_batch(2, step * 24, 24)
        feed_dict = {
            train_inputs: inputs,
            train_labels: labels,
            negatives: rng.randint(vocabulary_size, size=num_sampled),
        }
        _, loss_val = session.run([train, loss], feed_dict=feed_dict)
        average_loss += loss_val
        if step % 10 == 9:
            losses.append(average_loss / 10)
            average_loss = 0
    slices = session.run(embedding_grad, feed_dict)
    dense, counts, distinct, positions = session.run([dense_grad, touched, unique, index], feed_dict)
    sim = similarity.eval()
    final_embeddings = normalized_embeddings.eval()
    accumulator = session.run(opt.get_slot(embeddings, "accumulator"))
    sharded_rows = from_shards.eval()

summed = np.zeros_like(dense)
np.add.at(summed, slices.indices, slices.values)
assert losses[-1] < losses[0]
results = {
    "losses": losses,
    "kinds": kinds,
    "slices": [list(slices.values.shape), slices.indices.tolist(), slices.dense_shape.tolist()],
    "slices_sum_to_dense": bool(np.allclose(summed, dense, atol=1e-6)),
    "dense": dense,
    "counts": counts,
    "distinct": distinct,
    "positions": positions,
    "nearest": (-sim).argsort(1)[:, 1:4],
    "embeddings": final_embeddings,
    "accumulator": accumulator,
    "sharded": sharded_rows,
    "devices": [embed.device, loss.device],
    "variables": [v.name for v in graph.get_collection("variables")],
}
