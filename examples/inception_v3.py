"""Inception-v3: eleven modules of parallel branches, factorized convolutions, an auxiliary head, smoothed labels.

The network of Szegedy, Vanhoucke, Ioffe, Shlens and Wojna (2015), which the OSDI paper trains on up to 200 workers to
compare asynchronous steps, synchronous steps, and synchronous steps with backup workers. With the published width,
1,000 classes and the auxiliary head it has 27,161,264 parameters.

    python examples/inception_v3.py --size 75 --width 0.125 --steps 150
    python examples/inception_v3.py --size 299 --width 1           (the published size: minutes, or a GPU)
"""

import functools

from image_training import parse, train_on_digits

import thalweg as tf

MOMENTUM = 0.9  # decay of the moving averages, for a training of some dozens of steps


def convolution(x, filters, size, stride=1, padding="same", *, width, training):
    """A convolution without bias, batch normalization and ReLU."""
    he = tf.variance_scaling_initializer(2.0)
    filters = max(1, round(filters * width))
    with tf.variable_scope(None, "conv"):
        x = tf.layers.conv2d(x, filters, size, stride, padding, use_bias=False, kernel_initializer=he, name="conv")
        x = tf.layers.batch_normalization(x, momentum=MOMENTUM, epsilon=1e-3, training=training, name="norm")
        return tf.nn.relu(x)


def chain(conv, x, *layers):
    """Applies convolutions one after another, each given by its filters, size and, where not 1, its stride."""
    for filters, size, *stride in layers:
        x = conv(x, filters, size, *stride, padding="valid" if stride else "same")
    return x


def pooled(x):
    return tf.layers.average_pooling2d(x, 3, 1, "same")


def halved(x):
    return tf.layers.max_pooling2d(x, 3, 2)


def join(*branches):
    return tf.concat(branches, axis=3)


def stem(conv, x):
    """From 299 x 299 x 3 to 35 x 35 x 192."""
    x = conv(x, 32, 3, 2, padding="valid")
    x = conv(x, 32, 3, padding="valid")
    x = halved(conv(x, 64, 3))
    x = conv(x, 80, 1)
    return halved(conv(x, 192, 3, padding="valid"))


def module_a(conv, x, features):
    """Branches of 1 x 1, 5 x 5 and two 3 x 3 convolutions."""
    return join(
        conv(x, 64, 1),
        chain(conv, x, (48, 1), (64, 5)),
        chain(conv, x, (64, 1), (96, 3), (96, 3)),
        conv(pooled(x), features, 1),
    )


def reduction_a(conv, x):
    """From 35 x 35 to 17 x 17."""
    return join(conv(x, 384, 3, 2, padding="valid"), chain(conv, x, (64, 1), (96, 3), (96, 3, 2)), halved(x))


def module_b(conv, x, n):
    """Branches in which 7 x 7 convolutions are factorized into 1 x 7 and 7 x 1."""
    row, column = (1, 7), (7, 1)
    return join(
        conv(x, 192, 1),
        chain(conv, x, (n, 1), (n, row), (192, column)),
        chain(conv, x, (n, 1), (n, column), (n, row), (n, column), (192, row)),
        conv(pooled(x), 192, 1),
    )


def reduction_b(conv, x):
    """From 17 x 17 to 8 x 8."""
    return join(
        chain(conv, x, (192, 1), (320, 3, 2)),
        chain(conv, x, (192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3, 2)),
        halved(x),
    )


def module_c(conv, x):
    """Branches that end in 1 x 3 and 3 x 1 convolutions side by side."""
    left = conv(x, 384, 1)
    right = chain(conv, x, (448, 1), (384, 3))
    return join(
        conv(x, 320, 1),
        *(conv(y, 384, size) for y in (left, right) for size in ((1, 3), (3, 1))),
        conv(pooled(x), 192, 1),
    )


def auxiliary_head(conv, x, classes):
    """An auxiliary classifier on the 17 x 17 grid; its windows shrink if the grid is smaller."""
    x = tf.layers.average_pooling2d(x, min(5, x.shape[1].value), 3)
    x = conv(x, 128, 1)
    x = conv(x, 768, min(5, x.shape[1].value), padding="valid")
    return tf.layers.dense(tf.reduce_mean(x, axis=[1, 2]), classes, name="logits")


def inception_v3(images, classes=1000, width=1.0, training=False):
    """Returns the logits of Inception-v3 and of its auxiliary head for images of at least 75 x 75 pixels."""
    conv = functools.partial(convolution, width=width, training=training)
    with tf.variable_scope("stem"):
        x = stem(conv, images)
    for i, features in enumerate((32, 64, 64)):
        with tf.variable_scope(f"module_a{i + 1}"):
            x = module_a(conv, x, features)
    with tf.variable_scope("reduction_a"):
        x = reduction_a(conv, x)
    for i, n in enumerate((128, 160, 160, 192)):
        with tf.variable_scope(f"module_b{i + 1}"):
            x = module_b(conv, x, n)
    with tf.variable_scope("auxiliary"):
        auxiliary = auxiliary_head(conv, x, classes)
    with tf.variable_scope("reduction_b"):
        x = reduction_b(conv, x)
    for i in range(2):
        with tf.variable_scope(f"module_c{i + 1}"):
            x = module_c(conv, x)
    x = tf.layers.dropout(tf.reduce_mean(x, axis=[1, 2]), 0.5, training=training)
    return tf.layers.dense(x, classes, name="logits"), auxiliary


def main(argv=None):
    options = parse(argv, "Inception-v3", size=75, width=0.125, steps=150, rate=1e-2, least_size=75)
    return train_on_digits(inception_v3, "Inception-v3", options, label_smoothing=0.1)


if __name__ == "__main__":
    main()
