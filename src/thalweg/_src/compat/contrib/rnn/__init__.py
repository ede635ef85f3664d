"""tf.contrib.rnn: further recurrent cells and loops."""
