"""Steps on the CPU, compiled by all who can: Thalweg and its peers (see README.md)."""

from run import main

if __name__ == "__main__":
    main("compiled")
