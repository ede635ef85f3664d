"""What Keras programs use around their models: arrays of classes, files, progress bars."""
