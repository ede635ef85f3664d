"""tf.contrib.slim.nets.alexnet: AlexNet."""

from thalweg._src.contrib.slim.nets.alexnet import alexnet_v2, alexnet_v2_arg_scope

__all__ = ["alexnet_v2", "alexnet_v2_arg_scope"]
