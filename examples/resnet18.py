"""ResNet-18: eight residual blocks with batch normalization, and projections where the shape changes.

The network of He, Zhang, Ren and Sun (2015). With the published width and 1,000 classes it has its 11,689,512
parameters.

    python examples/resnet18.py --size 32 --width 0.25 --steps 200
    python examples/resnet18.py --size 224 --width 1               (the published size: minutes, or a GPU)
"""

from image_training import parse, train_on_digits

import thalweg as tf

MOMENTUM = 0.9  # decay of the moving averages, for a training of some dozens of steps


def convolution(x, filters, size, stride, training, name, activation=None):
    """A convolution without bias, batch normalization, and an optional activation."""
    with tf.variable_scope(name):
        he = tf.variance_scaling_initializer(2.0, mode="fan_out")
        pad = (size - 1) // 2  # symmetric padding, unlike "same" with a stride of 2
        x = tf.pad(x, [[0, 0], [pad, pad], [pad, pad], [0, 0]])
        x = tf.layers.conv2d(x, filters, size, stride, "valid", use_bias=False, kernel_initializer=he, name="conv")
        x = tf.layers.batch_normalization(x, momentum=MOMENTUM, epsilon=1e-5, training=training, name="norm")
        return activation(x) if activation else x


def block(x, filters, stride, training, name):
    """A residual block: adds two convolutions of x to x or to its projection."""
    with tf.variable_scope(name):
        shortcut = x
        if stride > 1 or x.shape[3].value != filters:
            shortcut = convolution(x, filters, 1, stride, training, "projection")
        y = convolution(x, filters, 3, stride, training, "first", tf.nn.relu)
        y = convolution(y, filters, 3, 1, training, "second")
        return tf.nn.relu(y + shortcut)


def resnet18(images, classes=1000, width=1.0, training=False):
    """Returns the logits of ResNet-18 for images of any size."""
    filters = [max(1, round(n * width)) for n in (64, 128, 256, 512)]
    x = convolution(images, filters[0], 7, 2, training, "stem", tf.nn.relu)
    x = tf.layers.max_pooling2d(x, 3, 2, "same")
    for stage, n in enumerate(filters):
        x = block(x, n, 1 if stage == 0 else 2, training, f"stage{stage + 1}/block1")
        x = block(x, n, 1, training, f"stage{stage + 1}/block2")
    x = tf.reduce_mean(x, axis=[1, 2])
    return tf.layers.dense(x, classes, name="logits")


def main(argv=None):
    options = parse(argv, "ResNet-18", size=32, width=0.25, steps=200, rate=3e-3, least_size=8)
    return train_on_digits(resnet18, "ResNet-18", options)


if __name__ == "__main__":
    main()
