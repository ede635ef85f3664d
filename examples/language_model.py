"""A language model with a softmax over many words, sharded over parameter servers.

The embeddings and the softmax weights are partitioned: each parameter server has a part of the vocabulary. The full
softmax is computed where its weights are: a worker sends hidden states to all parameter servers, each multiplies them
by its part and returns two numbers per word, the largest logit and the sum of exponentials. The sampled softmax looks
up a few random words instead, which is much less work and trains almost as well.
The text is synthetic: each word is followed by one of eight others, so the best perplexity is 8.

    thalweg cluster --ps 2 --workers 2 examples/language_model.py --softmax sampled
    python examples/language_model.py --softmax full
"""

import argparse
import time

import numpy as np

import thalweg as tf

FOLLOWERS = 8


def batches(words, batch, window, seed):
    """Yields batches of word sequences in which each word is followed by one of a few."""
    followers = np.random.default_rng(0).integers(words, size=(words, FOLLOWERS))
    rng = np.random.default_rng(seed)
    current = rng.integers(words, size=batch)
    while True:
        sequence = [current]
        for _ in range(window):
            current = followers[current, rng.integers(FOLLOWERS, size=batch)]
            sequence.append(current)
        yield np.stack(sequence, axis=1)


def sharded_softmax_loss(weights, biases, labels, hidden):
    """The full softmax, each part computed beside its weights; returns the loss of each row."""
    largest, sums, chosen, first = [], [], [], 0
    for part, bias in zip(weights, biases):
        with tf.colocate_with(part):
            logits = tf.matmul(hidden, part, transpose_b=True) + bias
            rows = labels - first
            is_here = tf.logical_and(rows >= 0, rows < part.shape[0])
            index = tf.stack([tf.range(tf.shape(rows)[0]), tf.where(is_here, rows, tf.zeros_like(rows))], axis=1)
            chosen.append(tf.where(is_here, tf.gather_nd(logits, index), tf.zeros_like(logits[:, 0])))
            largest.append(tf.stop_gradient(tf.reduce_max(logits, axis=1)))
            sums.append(tf.reduce_sum(tf.exp(logits - largest[-1][:, tf.newaxis]), axis=1))
        first += part.shape[0].value
    top = tf.reduce_max(tf.stack(largest), axis=0)
    total = tf.add_n([part * tf.exp(peak - top) for part, peak in zip(sums, largest)])
    return tf.log(total) + top - tf.add_n(chosen)


def model(words, options, shards):
    """Returns the training loss and the perplexity of a batch of word sequences."""
    partitioner = tf.fixed_size_partitioner(shards)
    with tf.variable_scope("model", partitioner=partitioner):
        table = tf.get_variable("table", [options.words, options.size])
        weights = tf.get_variable("softmax_weights", [options.words, options.size])
        biases = tf.get_variable("softmax_biases", [options.words], initializer=tf.zeros_initializer())
    x = tf.nn.embedding_lookup(table, words[:, :-1], partition_strategy="div")
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(options.size), x, dtype=tf.float32)
    hidden, labels = tf.reshape(outputs, [-1, options.size]), tf.reshape(words[:, 1:], [-1])
    full = tf.reduce_mean(sharded_softmax_loss(list(weights), list(biases), labels, hidden))
    if options.softmax == "full":
        return full, tf.exp(full)
    sampled = tf.nn.sampled_softmax_loss(
        weights, biases, labels[:, tf.newaxis], hidden, options.samples, options.words, partition_strategy="div"
    )
    return tf.reduce_mean(sampled), tf.exp(full)


def train(cluster, target, job, index, options):
    shards = cluster.num_tasks("ps") if cluster and "ps" in cluster.jobs else 2
    place = (
        tf.train.replica_device_setter(cluster=cluster, worker_device=f"/job:{job}/task:{index}") if cluster else None
    )
    with tf.device(place):
        words = tf.placeholder(tf.int32, [None, options.window + 1], name="words")
        loss, perplexity = model(words, options, shards)
        step = tf.train.get_or_create_global_step()
        # Gradients of the softmax are computed where its parts are, too.
        update = tf.train.AdamOptimizer(0.01).minimize(loss, step, colocate_gradients_with_ops=True)

    is_chief = index == 0 and (job == "chief" or not cluster or "chief" not in cluster.jobs)
    config = tf.ConfigProto(device_filters=["/job:ps", f"/job:{job}/task:{index}"] if cluster else [])
    source = batches(options.words, options.batch, options.window, seed=index + 1)
    hooks = [tf.train.StopAtStepHook(last_step=options.steps)]
    own, start = 0, time.time()
    with tf.train.MonitoredTrainingSession(target, is_chief, hooks=hooks, config=config) as session:
        while not session.should_stop():
            session.run(update, {words: next(source)})
            own += 1
        seconds = time.time() - start
        final = session.run_step_fn(lambda step_context: step_context.session.run(perplexity, {words: next(source)}))
    rate = own * options.batch * options.window / seconds
    print(f"{job} {index}: {options.softmax} softmax, {rate:,.0f} words a second, perplexity {final:.1f}", flush=True)
    return {"perplexity": float(final), "words": options.words}


def main(argv=None):
    parser = argparse.ArgumentParser(description="A language model with a sharded softmax.")
    parser.add_argument("--softmax", choices=["full", "sampled"], default="sampled", help="(%(default)s)")
    parser.add_argument("--steps", type=int, default=300, help="training steps of all workers together (%(default)s)")
    parser.add_argument("--words", type=int, default=1000, help="size of the vocabulary (%(default)s)")
    parser.add_argument("--samples", type=int, default=64, help="words of the sampled softmax (%(default)s)")
    parser.add_argument("--size", type=int, default=64, help="width of embeddings and LSTM (%(default)s)")
    parser.add_argument("--batch", type=int, default=64, help="sequences in a step (%(default)s)")
    parser.add_argument("--window", type=int, default=10, help="words in a sequence (%(default)s)")
    options = parser.parse_args(argv)

    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    cluster = resolver.cluster_spec()
    if not cluster:
        return train(None, "", "worker", 0, options)
    server = tf.train.Server(cluster, resolver.task_type, resolver.task_id)
    if resolver.task_type == "ps":
        server.join()
    return train(cluster, server.target, resolver.task_type, resolver.task_id, options)


if __name__ == "__main__":
    main()
