"""tf.contrib.slim.nets.vgg: the networks of Simonyan and Zisserman."""

from thalweg._src.library.nets.vgg import vgg_16, vgg_19, vgg_a, vgg_arg_scope

__all__ = ["vgg_16", "vgg_19", "vgg_a", "vgg_arg_scope"]
