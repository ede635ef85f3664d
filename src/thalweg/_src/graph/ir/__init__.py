"""The compiler's intermediate representation: a private, mutable copy of the part of a graph that a step needs."""
