"""Logistic regression and a linear support vector machine, side by side in one graph.

Both models read the same placeholder and are trained by the same step; they differ in one line, the loss. Nothing in
the system knows about either: a loss is a few nodes, and its gradient a few more.
The data are scikit-learn's 569 tumours, described by 30 measurements each: malignant or benign.

    python examples/classical_models.py --steps 500
"""

import argparse

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from tqdm import trange

import thalweg as tf

L2 = 1e-3


def load():
    """Returns training and held-out measurements and labels, each measurement with mean 0 and variance 1."""
    data = load_breast_cancer()
    x = ((data.data - data.data.mean(0)) / data.data.std(0)).astype(np.float32)
    return train_test_split(x, data.target.astype(np.float32), test_size=169, random_state=0), data.feature_names


def linear_model(x, name):
    """Returns one score per row, and the weights."""
    with tf.variable_scope(name):
        weights = tf.get_variable("weights", [x.shape[1].value, 1], initializer=tf.zeros_initializer())
        bias = tf.get_variable("bias", [1], initializer=tf.zeros_initializer())
        return tf.squeeze(tf.matmul(x, weights) + bias, axis=1), weights


def main(argv=None):
    parser = argparse.ArgumentParser(description="Logistic regression and a linear SVM in one graph.")
    parser.add_argument("--steps", type=int, default=500, help="training steps (%(default)s)")
    options = parser.parse_args(argv)
    (train_x, test_x, train_y, test_y), measurements = load()

    x = tf.placeholder(tf.float32, [None, train_x.shape[1]], name="x")
    labels = tf.placeholder(tf.float32, [None], name="labels")
    step = tf.train.get_or_create_global_step()
    rate = tf.train.inverse_time_decay(0.5, step, decay_steps=100, decay_rate=1.0)

    scores, w_logistic = linear_model(x, "logistic")
    logistic_loss = tf.losses.sigmoid_cross_entropy(labels, scores) + L2 * tf.nn.l2_loss(w_logistic)
    margins, w_svm = linear_model(x, "svm")
    svm_loss = tf.losses.hinge_loss(labels, margins) + L2 * tf.nn.l2_loss(w_svm)

    optimizer = tf.train.GradientDescentOptimizer(rate)
    train = optimizer.minimize(logistic_loss + svm_loss, global_step=step)  # the models share no variables
    inside = tf.reduce_sum(tf.cast((2 * labels - 1) * margins < 1, tf.int32))
    accuracies = [tf.reduce_mean(tf.cast(tf.equal(s > 0, labels > 0.5), tf.float32)) for s in (scores, margins)]
    agreement = tf.reduce_mean(tf.cast(tf.equal(scores > 0, margins > 0), tf.float32))

    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in (progress := trange(options.steps, desc="training", unit="step")):
            losses = sess.run([logistic_loss, svm_loss, train], {x: train_x, labels: train_y})[:2]
            progress.set_postfix(logistic=f"{losses[0]:.3f}", svm=f"{losses[1]:.3f}", refresh=False)
        (logistic, svm), agree = sess.run([accuracies, agreement], {x: test_x, labels: test_y})
        support, *weights = sess.run([inside, w_logistic, w_svm], {x: train_x, labels: train_y})

    cosine = float(np.vdot(*weights) / np.prod([np.linalg.norm(w) for w in weights]))
    print(f"logistic regression: {logistic:.1%} of {len(test_x)} held-out tumours right")
    print(f"linear SVM:          {svm:.1%} right, {support} support vectors among {len(train_x)} examples")
    print(f"they agree on {agree:.1%}; the cosine of their weights is {cosine:.2f}")
    for name, w in zip(("logistic regression", "linear SVM"), weights):
        strongest = np.argsort(-np.abs(w[:, 0]))[:3]
        print(f"{name + ' looks at':30}{', '.join(measurements[strongest])}")
    return {"logistic": logistic, "svm": svm, "agreement": agree, "support": support}


if __name__ == "__main__":
    main()
