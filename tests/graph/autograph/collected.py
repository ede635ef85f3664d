"""Collects small programs: each is run as it is, and converted on tensors."""

PROGRAMS = []

ONE = [(value,) for value in (-3, 0, 1, 2, 5, 8, 11)]
TWO = [(a, b) for a in (-2, 0, 3, 7) for b in (0, 1, 4)]
VECTOR = [([],), ([4],), ([3, -1, 4, 1, -5, 9],)]


def program(arguments):
    """Adds a function to the programs, with the arguments that it is called with."""

    def add(function):
        PROGRAMS.append((function, arguments))
        return function

    return add
