"""Eager execution, tapes and functions: Thalweg and its peers (see README.md)."""

from run import main

if __name__ == "__main__":
    main("eager")
