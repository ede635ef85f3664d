"""What only tf.contrib reaches, under TensorFlow's own names."""
