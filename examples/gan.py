"""A generative adversarial network: two networks trained alternately, each against the other.

The generator maps noise to numbers; the discriminator distinguishes them from real ones, which are a mixture of two
normal distributions around -2 and 2. One graph contains both, two `minimize` calls with a `var_list` each create the
two training steps, and the generator's gradient flows through the discriminator without updating it.

    python examples/gan.py --steps 1500 --size 128
"""

import argparse

import numpy as np
from tqdm import trange

import thalweg as tf

CENTRES, DEVIATION = (-2.0, 2.0), 0.4
NOISE = 4


def real(count, rng):
    """Draws from an even mixture of two normal distributions."""
    return rng.normal(rng.choice(CENTRES, size=(count, 1)), DEVIATION)


def generator(noise):
    with tf.variable_scope("generator"):
        x = tf.layers.dense(noise, 32, tf.nn.relu)
        x = tf.layers.dense(x, 32, tf.nn.relu)
        return tf.layers.dense(x, 1)


def discriminator(x):
    """Returns one logit per number, positive if it looks real."""
    with tf.variable_scope("discriminator", reuse=tf.AUTO_REUSE):
        x = tf.layers.dense(x, 64, tf.nn.leaky_relu, name="hidden1")
        x = tf.layers.dense(x, 64, tf.nn.leaky_relu, name="hidden2")
        return tf.layers.dense(x, 1, name="logit")


def histogram(values, bins=25, height=6):
    """Returns a text histogram of values between -4 and 4."""
    counts, _ = np.histogram(values, bins=bins, range=(-4, 4))
    eighths = np.rint(counts / counts.max() * height * 8).astype(int)
    rows = ("".join(" ▁▂▃▄▅▆▇█"[np.clip(n - 8 * row, 0, 8)] * 2 for n in eighths) for row in reversed(range(height)))
    return "\n".join(f"  {row}" for row in rows)


def build(real_x, noise):
    """Returns the generator's output, the two losses and the two training steps."""
    fake = generator(noise)
    on_real, on_fake = discriminator(real_x), discriminator(fake)
    loss_d = tf.losses.sigmoid_cross_entropy(tf.ones_like(on_real), on_real)
    loss_d += tf.losses.sigmoid_cross_entropy(tf.zeros_like(on_fake), on_fake)
    loss_g = tf.losses.sigmoid_cross_entropy(tf.ones_like(on_fake), on_fake)
    train_d = tf.train.AdamOptimizer(2e-3, beta1=0.5).minimize(loss_d, var_list=tf.trainable_variables("discriminator"))
    train_g = tf.train.AdamOptimizer(1e-3, beta1=0.5).minimize(loss_g, var_list=tf.trainable_variables("generator"))
    return fake, (loss_d, loss_g), (train_d, train_g)


def main(argv=None):
    parser = argparse.ArgumentParser(description="A generative adversarial network on numbers in two heaps.")
    parser.add_argument("--steps", type=int, default=1500, help="training steps of each network (%(default)s)")
    parser.add_argument("--size", type=int, default=128, help="numbers in a step (%(default)s)")
    options = parser.parse_args(argv)

    tf.set_random_seed(1)
    real_x = tf.placeholder(tf.float32, [None, 1], name="real")
    noise = tf.placeholder(tf.float32, [None, NOISE], name="noise")
    fake, losses, (train_d, train_g) = build(real_x, noise)

    rng = np.random.default_rng(1)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in (progress := trange(options.steps, desc="training", unit="step")):
            feed = {real_x: real(options.size, rng), noise: rng.normal(size=(options.size, NOISE))}
            loss_d = sess.run([losses[0], train_d], feed)[0]
            loss_g = sess.run([losses[1], train_g], {noise: rng.normal(size=(options.size, NOISE))})[0]
            progress.set_postfix(discriminator=f"{loss_d:.2f}", generator=f"{loss_g:.2f}", refresh=False)
        made = sess.run(fake, {noise: rng.normal(size=(4000, NOISE))})[:, 0]

    heaps = made[made < 0], made[made >= 0]
    print("real:", histogram(real(4000, rng)), "generated:", histogram(made), sep="\n")
    for centre, heap in zip(CENTRES, heaps):
        print(f"{len(heap) / len(made):4.0%} around {heap.mean():5.2f} ± {heap.std():.2f}", end=" ")
        print(f"(real:  50% around {centre:5.2f} ± {DEVIATION:.2f})")
    return {
        "share": len(heaps[0]) / len(made),
        "means": [h.mean() for h in heaps],
        "deviations": [h.std() for h in heaps],
    }


if __name__ == "__main__":
    main()
