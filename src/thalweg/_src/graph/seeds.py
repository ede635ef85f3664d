"""Random seeds: of a graph, and of each random operation in it."""

from __future__ import annotations

from thalweg._src.base import determinism
from thalweg._src.base.export import export
from thalweg._src.graph.default import get_default_graph

DEFAULT_GRAPH_SEED = 87654321
_MODULUS = 2**31 - 1


@export("set_random_seed", "random.set_random_seed")
def set_random_seed(seed: int | None) -> None:
    """Sets the default graph's seed, which with the creation index determines the seeds of later random operations.

    Args:
        seed: The seed of the graph.
    """
    get_default_graph().seed = seed


@export("get_seed", "random.get_seed")
def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """Returns the pair of seeds of a random operation; (None, None) makes it different in every session.

    Args:
        op_seed: Seed of the operation, or None.
    """
    graph = get_default_graph()
    if graph.seed is None and op_seed is None:
        if determinism.needs_seeds():
            raise RuntimeError(
                "a random operation has no seed, and operations must be deterministic: set one for all of them with "
                "tf.set_random_seed(1), or pass `seed` to this one"
            )
        return None, None
    first = DEFAULT_GRAPH_SEED if graph.seed is None else graph.seed
    # The count of changes so far: two random operations differ, and a graph that is built again in the same way draws
    # the same numbers.
    second = graph.next_seed() if op_seed is None else op_seed
    pair = first % _MODULUS, second % _MODULUS
    return pair if pair != (0, 0) else (0, _MODULUS)  # kernels interpret two zeros as no seed
