"""tf.contrib.eager: metrics, savers and networks for programs that execute eagerly."""
