"""Saving and restoring: Thalweg, TensorFlow and plain files (see README.md)."""

from run import main

if __name__ == "__main__":
    main("checkpoints")
