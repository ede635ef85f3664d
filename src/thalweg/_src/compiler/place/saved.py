"""Saved placements: read from a file and applied to a step."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from thalweg._src.base import errors
from thalweg._src.compiler.place.problem import Choice, Problem


def load_placement(path: str) -> dict[str, str]:
    """Reads the device of each node from JSON: `{"placement": {"node": "/job:localhost/.../device:CPU:1", ...}}`."""
    try:
        placement = json.loads(Path(path).read_text(encoding="utf-8"))["placement"]
        return {str(name): str(device) for name, device in placement.items()}
    except OSError as error:
        raise errors.NotFoundError(None, None, f"placer: cannot read a placement from '{path}': {error}") from None
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        text = errors.describe(
            f"placer: '{path}' does not hold a placement",
            expected='JSON with the device of each node under "placement", as learn_placement saves it',
            received=f"{type(error).__name__}: {error}",
        )
        raise errors.invalid(text) from None


def follow(problem: Problem, placement: Mapping[str, str]) -> Choice:
    """Returns the choice of a saved placement; other groups go to the device that they exchange most bytes with."""
    choice: Choice = {}
    for group in problem.groups:
        device = next((placement[node.name] for node in group.nodes if node.name in placement), None)
        if device in group.feasible:
            choice[group] = str(device)
    neighbours = problem.neighbours()
    for group in problem.groups:
        if group not in choice:
            near: dict[str, int] = {}
            for other, traffic in neighbours[group].items():
                if choice.get(other) in group.feasible:
                    near[choice[other]] = near.get(choice[other], 0) + traffic
            choice[group] = max(near, key=near.__getitem__, default=group.preferred)
    return choice
