"""Prints the table of starts and faults over virtual hosts, with measured times.

    python -m tests.hosts.table [--tensorflow /path/to/python] [--jobs N] [--logs FOLDER] [pattern of names ...]

With TensorFlow 1.15, cases that are about what it lacks are left out, and workers have longer to start: they look for
initialized variables every 30 seconds.
"""

import argparse
import functools
import re
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests import children
from tests.hosts import faults, starts
from tests.hosts.network import missing

TENSORFLOW_SECONDS = 45


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("patterns", nargs="*", default=[""])
    parser.add_argument("--tensorflow", help="a Python that has TensorFlow 1.15")
    parser.add_argument("--jobs", type=int, default=1, help="cases at a time")
    parser.add_argument("--logs", type=Path, help="a folder for what the tasks write")
    arguments = parser.parse_args()
    if reason := missing():
        sys.exit(reason)
    folder = arguments.logs or Path(tempfile.mkdtemp())
    errors = {}
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for title, cases, run in (("start | must", starts.CASES, _start), ("fault | lasts", faults.CASES, _fault)):
            chosen = [case for name, case in cases.items() if any(re.search(text, name) for text in arguments.patterns)]
            chosen = [case for case in chosen if not (arguments.tensorflow and case.own)]
            print(f"| {title} | within | result |\n|---|---|---:|---|", flush=True)
            measure = functools.partial(run, folder, arguments.tensorflow)
            for case, (text, error) in zip(chosen, pool.map(measure, chosen)):
                print(f"| {case.name} | {case.must} | {case.within:g} s | {text} |", flush=True)
                errors |= {case.name: error} if error else {}
            print()
    children.end_templates()
    if arguments.logs is None:
        shutil.rmtree(folder)
    for name, error in errors.items():
        print(f"## {name}\n{error}\n")
    sys.exit(bool(errors))


def _start(folder, python, case):
    """Runs a case and returns what was measured, in words, and what is wrong."""
    try:
        seconds = starts.run(case, folder / case.name, python, TENSORFLOW_SECONDS if python else case.within)
    except Exception as error:
        return f"**no**: {str(error).partition(chr(10))[0]}", error
    return f"{seconds:.1f} s", ""


def _fault(folder, python, case):
    try:
        outcome = faults.run(case, folder / case.name, python)
    except Exception as error:
        return f"**no**: {str(error).partition(chr(10))[0]}", error
    return (f"**{outcome}**", f"{outcome.wrong}\n{outcome.report}") if outcome.wrong else (str(outcome), "")


if __name__ == "__main__":
    main()
