"""Linearizability: what threads saw of an object must be what one thread sees that makes the same calls in some order.

Each call takes effect at one moment between its begin and its end (Herlihy and Wing, 1990). A history notes begin and
end of each call; `explains` looks for an order of the calls in which a sequential model gives the same results.
"""

import contextlib
from itertools import count


class Call:
    """A call: when it began and ended, and what a model does with it."""

    def __init__(self, operation, begin):
        self.operation = operation
        self.begin = begin
        self.end = float("inf")

    def __repr__(self):
        return f"{self.begin}-{self.end} {self.operation}"


class History:
    """The calls of all threads."""

    def __init__(self):
        self.calls = []
        self._clock = count()

    @contextlib.contextmanager
    def calling(self, operation, moments=1):
        """Notes a call of an operation while it lasts.

        moments: at how many moments it takes effect, for each of which a model gets it once
        """
        begin = next(self._clock)
        calls = [Call(operation, begin) for _ in range(moments)]
        self.calls += calls
        try:
            yield
        finally:
            end = next(self._clock)
            for call in calls:
                call.end = end

    def check(self, explains, most=50_000):
        """Fails unless an order of the operations, none before one that ended before it began, explains the results.

        explains: returns whether a model that gets operations in an order gives nothing but what was seen; with
          `is_all`, also whether it gives all of that
        """
        left = [most]

        def search(order, rest):
            left[0] -= 1
            assert left[0], f"none of {most} orders explains\n{self}"
            if not explains(order, is_all=not rest):
                return False
            first_end = min((call.end for call in rest), default=0)
            candidates = {call.operation: call for call in reversed(rest) if call.begin < first_end}
            return not rest or any(
                search([*order, operation], [call for call in rest if call is not chosen])
                for operation, chosen in reversed(candidates.items())
            )

        assert search([], sorted(self.calls, key=lambda call: call.begin)), f"no order explains\n{self}"

    def __str__(self):
        return "\n".join(map(str, self.calls))
