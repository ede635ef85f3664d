"""tf.contrib.framework: arg_scope, model variables, nested structures, checks."""
