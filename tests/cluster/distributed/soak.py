"""Soak: asynchronous training of which a task is killed every 15 seconds, compared with training that is left alone.

    python -m tests.cluster.distributed.soak [--minutes N] [--folder FOLDER]

Prints what the tasks logged, and how many steps were kept of those that undisturbed training would have made.
"""

import argparse
import itertools
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.cluster.distributed.injector import Fault
from tests.cluster.distributed.scenarios import CHIEF, PS, WORKER, Run, Scenario

KEPT = 0.9
_BETWEEN_KILLS = 15.0
_UNDISTURBED = 30.0  # seconds whose rate is compared with
_VICTIMS = (WORKER, PS, CHIEF, WORKER, ("ps", 1), CHIEF)


class Soak(Run):
    """Two parameter servers and two workers, which save a checkpoint every second."""

    def __init__(self, folder, minutes):
        super().__init__(Scenario(PS, Fault("", 0, "")), 0, folder, has_fault=False, save_secs=1, save_steps=None)
        self.deadline = time.monotonic() + 60 * minutes + 300
        self.most_restarts = 1_000_000
        self.minutes = minutes

    def steps_in(self, seconds, kills=False):
        """Trains for so many seconds, and returns how many steps were made, those that were lost not counted."""
        start, first = time.monotonic(), self.newest_step()
        killed = start
        victims = itertools.cycle(_VICTIMS)
        while (now := time.monotonic()) < start + seconds:
            if kills and now >= killed + _BETWEEN_KILLS:
                killed = now
                self.kill(next(victims))
            self.supervise()
            time.sleep(0.02)
        return self.newest_step() - first

    def kill(self, task):
        with (self.folder / "kills").open("a") as file:
            file.write(f"{time.monotonic()} killed {task[0]} {task[1]}\n")
        self.processes[task].signal(signal.SIGKILL)

    def newest_step(self):
        """Returns the step that was reported last, which is less than an earlier one after a restored checkpoint."""
        reported = [event for task in self.workers() for event in self.events(*task, "step")]
        return int(max(reported)[1].split()[0])

    def log(self):
        """Yields the kills and the warnings of all tasks in the order of time."""
        lines = [(float(line.split()[0]), line.split(" ", 1)[1]) for line in (self.folder / "kills").open()]
        for job, index in self.processes:
            warnings = [e for e in self.events(job, index, "log") if e[1].startswith(("WARNING", "ERROR"))]
            lines += [(when, f"{job} {index}: {text}") for when, text in warnings]
        start = min(lines)[0]
        for when, text in sorted(lines):
            yield f"{when - start:7.1f} s  {text.strip()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--folder", type=Path, help="a new folder for the events and logs, which are kept there")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="soak"))
    folder.mkdir(exist_ok=True)
    run = Soak(folder, options.minutes)
    try:
        run.until(lambda: run.last_step() > 100, "the first steps")
        rate = run.steps_in(_UNDISTURBED) / _UNDISTURBED
        seconds = 60 * options.minutes
        kept = run.steps_in(seconds, kills=True) / (rate * seconds)
    finally:
        run.close()
    print("\n".join(run.log()))
    failed = [error for task in run.workers() for _, error in run.events(*task, "error")]
    print("\n".join(failed))
    print(f"{rate:.1f} steps/s undisturbed; {kept:.0%} of them with a kill every {_BETWEEN_KILLS:.0f} s")
    if options.folder is None:
        shutil.rmtree(folder)
    return 0 if kept >= KEPT and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
