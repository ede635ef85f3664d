"""AlexNet: five convolutions with local response normalization, three dense layers, dropout.

The network of Krizhevsky, Sutskever and Hinton (2012), first of the four in the papers' single-machine benchmark.
Convolutions 2, 4 and 5 have two groups, as on the two GPUs it was designed for; `groups=1` merges them. With the
published width, 1,000 classes and images of 227 x 227 it has its 60,965,224 parameters.

    python examples/alexnet.py --size 67 --width 0.25 --steps 200
    python examples/alexnet.py --size 227 --width 1                (the published size: minutes, or a GPU)
"""

from image_training import parse, train_on_digits

import thalweg as tf

INITIALIZER = tf.variance_scaling_initializer(2.0)


def convolution(x, filters, size, name, stride=1, padding="same", groups=1):
    """A convolution with ReLU, in which each group of filters sees its own part of the channels."""
    with tf.variable_scope(name):
        parts = [
            tf.layers.conv2d(
                part,
                filters // groups,
                size,
                stride,
                padding,
                activation=tf.nn.relu,
                kernel_initializer=INITIALIZER,
                name=f"group{i}",
            )
            for i, part in enumerate(tf.split(x, groups, axis=3))
        ]
        return tf.concat(parts, axis=3)


def normalize(x):
    """Normalizes each activation by those of the five channels around it."""
    return tf.nn.lrn(x, depth_radius=2, bias=2.0, alpha=1e-4, beta=0.75)


def pool(x):
    """Max pooling over overlapping 3 x 3 windows."""
    return tf.layers.max_pooling2d(x, 3, 2)


def alexnet(images, classes=1000, width=1.0, training=False, groups=2):
    """Returns the logits of AlexNet for images of at least 67 x 67 pixels."""

    def scaled(filters):
        return max(groups, round(filters * width / groups) * groups)

    x = convolution(images, scaled(96), 11, "conv1", stride=4, padding="valid")
    x = pool(normalize(x))
    x = convolution(x, scaled(256), 5, "conv2", groups=groups)
    x = pool(normalize(x))
    x = convolution(x, scaled(384), 3, "conv3")
    x = convolution(x, scaled(384), 3, "conv4", groups=groups)
    x = convolution(x, scaled(256), 3, "conv5", groups=groups)
    x = tf.layers.flatten(pool(x))
    for name in ("fc6", "fc7"):
        x = tf.layers.dense(x, scaled(4096), tf.nn.relu, kernel_initializer=INITIALIZER, name=name)
        x = tf.layers.dropout(x, 0.5, training=training)
    return tf.layers.dense(x, classes, name="fc8")


def main(argv=None):
    options = parse(argv, "AlexNet", size=67, width=0.25, steps=200, rate=1e-3, least_size=67)
    return train_on_digits(alexnet, "AlexNet", options)


if __name__ == "__main__":
    main()
