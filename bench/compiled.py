"""Compiled steps on the CPU: Thalweg and its peers (see README.md)."""

from run import main

if __name__ == "__main__":
    main("compiled")
