"""tf.contrib.tpu: programs that were written for TPUs, run on the devices that there are."""
