"""Steps over several tasks: Thalweg's and TensorFlow's servers (see README.md)."""

from run import main

if __name__ == "__main__":
    main("cluster")
