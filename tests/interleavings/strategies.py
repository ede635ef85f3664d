"""Strategies: which thread runs next. Each writes itself as a text that gives the same schedule again."""

import random
import re

EARLY = 0.02  # the probability, at a point, that time passes although threads could run: any of them may be slow


class _Strategy:
    """Chooses the next thread; the order of the ready threads depends on the schedule alone.

    seed: of what the schedule draws, and of the inputs of the program that it runs
    early: whether deadlines may come while other threads could run
    """

    def __init__(self, seed=0, early=False):
        self.seed = seed
        self._early = early

    def created(self, thread):
        """Takes note of a thread that is about to be ready."""


class RandomWalk(_Strategy):
    """Chooses each ready thread with the same probability, and stays with a thread for a random number of points."""

    def __init__(self, seed, early=False):
        super().__init__(seed, early)
        self._text = f"random:{seed}" + ":early" * early
        self._draw = random.Random(seed).random
        self._stays = (0.0, 0.5, 0.9)[seed % 3]

    def choose(self, scheduler, ready):
        draw = self._draw
        if self._early and draw() < EARLY:
            scheduler.elapse()
        current = scheduler.current
        if current in ready and (len(ready) == 1 or draw() < self._stays):
            return current
        return ready[int(draw() * len(ready))]

    def __str__(self):
        return self._text


class Priorities(_Strategy):
    """PCT: runs the ready thread of the highest random priority, which drops at d - 1 random points.

    A fault that needs d ordered events among n threads and k points is met with probability 1 / (n * k ** (d - 1)) at
    least (Burckhardt et al., "A randomized scheduler with probabilistic guarantees of finding bugs", 2010).
    """

    def __init__(self, seed, depth, points, early=False):
        super().__init__(seed, early)
        self._text = f"priorities:{seed}:{depth}:{points}" + ":early" * early
        self._random = random.Random(seed)
        self._drops = sorted(self._random.randrange(1, max(points, 2)) for _ in range(depth - 1))
        self._lowest = 0
        self._priorities = {}

    def created(self, thread):
        self._priorities[thread] = self._random.random()

    def choose(self, scheduler, ready):
        priorities = self._priorities
        while self._drops and scheduler.points >= self._drops[0]:
            self._drops.pop(0)
            self._lowest -= 1
            priorities[scheduler.current] = self._lowest
        if self._early and self._random.random() < EARLY:
            scheduler.elapse()
        return max(ready, key=priorities.__getitem__)

    def __str__(self):
        return self._text


class Choices(_Strategy):
    """Makes the choices of a list, and after its end stays with each thread as long as that can run.

    A choice is the place of a thread among those that are ready, of which the current one is the first, if it is.
    """

    def __init__(self, choices=(), seed=0):
        super().__init__(seed)
        self.choices = list(choices)
        self.options = []  # the number of threads to choose from, and whether the current one was among them

    def choose(self, scheduler, ready):
        current = scheduler.current
        can_stay = current in ready
        if len(ready) == 1:
            return ready[0]
        at = len(self.options)
        self.options.append((len(ready), can_stay))
        choice = self.choices[at] if at < len(self.choices) else 0
        if choice >= len(ready):
            raise ValueError(f"the schedule chooses thread {choice} of {len(ready)}: it is that of another program")
        if not can_stay:
            return ready[choice]
        if choice == 0:
            return current
        others = [thread for thread in ready if thread is not current]
        return others[choice - 1]

    def __str__(self):
        return f"choices:{encode(self.choices)}:{self.seed}"


def encode(choices):
    """Returns choices as text: `0x12.1` are 12 zeros and a one."""
    runs = re.finditer(r"(\b\d+)(?:\.\1\b)*", ".".join(map(str, choices)))
    counted = [(run[1], run[0].count(".") + 1) for run in runs]
    return ".".join(value if count == 1 else f"{value}x{count}" for value, count in counted)


def decode(text):
    """Returns the choices of a text."""
    pairs = [run.partition("x")[::2] for run in text.split(".") if run]
    return [int(value) for value, count in pairs for _ in range(int(count or 1))]


class Recorded(_Strategy):
    """Chooses as another strategy does, and records the choices."""

    def __init__(self, inner):
        super().__init__(inner.seed)
        self._inner = inner
        self.choices = []
        self.created = inner.created
        self.is_replayable = True

    def choose(self, scheduler, ready):
        before = list(ready)
        chosen = self._inner.choose(scheduler, ready)
        if len(ready) != len(before):
            self.is_replayable = False  # a deadline came early: only the seed says when
        if len(before) > 1:
            others = [thread for thread in before if thread is not scheduler.current]
            order = others if len(others) == len(before) else [scheduler.current, *others]
            self.choices.append(order.index(chosen) if chosen in order else len(order))
        return chosen

    def __str__(self):
        return str(self._inner)


def parse(text):
    """Returns the strategy of a text that a report shows."""
    kind, *values = text.split(":")
    early = "early" in values
    numbers = [value for value in values if value != "early"]
    if kind == "random":
        return RandomWalk(int(numbers[0]), early)
    if kind == "priorities":
        return Priorities(*map(int, numbers), early)
    if kind == "choices":
        return Choices(decode(numbers[0]), int(numbers[1]))
    raise ValueError(f"the schedule {text!r}: expected random:SEED, priorities:SEED:DEPTH:POINTS or choices:LIST:SEED")


def next_choices(choices, options, preemptions):
    """Returns the choices of the next schedule of a depth-first search; None after the last.

    choices, options: of the last schedule
    preemptions: how often at most another thread is chosen while the current one could go on
    """
    made = [*choices, *[0] * (len(options) - len(choices))]
    spent = [0]
    for choice, (_, can_stay) in zip(made, options):
        spent.append(spent[-1] + (can_stay and choice > 0))
    for at in reversed(range(len(options))):
        count, can_stay = options[at]
        following = made[at] + 1
        if following < count and spent[at] + can_stay <= preemptions:
            return [*made[:at], following]
    return None
