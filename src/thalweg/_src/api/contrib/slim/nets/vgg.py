"""tf.contrib.slim.nets.vgg: the networks of Simonyan and Zisserman."""

from thalweg._src.contrib.slim.nets.vgg import vgg_16, vgg_19, vgg_a, vgg_arg_scope

__all__ = ["vgg_16", "vgg_19", "vgg_a", "vgg_arg_scope"]
