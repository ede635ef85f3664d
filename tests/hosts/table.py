"""Prints the table of starts and faults over virtual hosts, with measured times.

    python -m tests.hosts.table [--tensorflow /path/to/python] [--jobs N] [--logs FOLDER] [pattern of names ...]

With TensorFlow 1.15, cases that are about what it lacks are left out, and workers have longer to start: they look for
initialized variables every 30 seconds.
"""

import argparse
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests import children
from tests.hosts import starts
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
    cases = [case for case in starts.CASES.values() if any(re.search(text, case.name) for text in arguments.patterns)]
    cases = [case for case in cases if not (case.own and arguments.tensorflow)]
    print("| case | must | within | result |\n|---|---|---:|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(arguments.jobs) as pool:
        folder = arguments.logs or Path(folder)
        results = pool.map(lambda case: run(case, folder / case.name, arguments.tensorflow), cases)
        errors = {}
        for case, result in zip(cases, results):
            if isinstance(result, Exception):
                errors[case.name] = result
                result = f"**no**: {str(result).partition(chr(10))[0]}"
            print(f"| {case.name} | {case.must} | {starts.SECONDS} s | {result} |", flush=True)
    children.end_templates()
    for name, error in errors.items():
        print(f"\n## {name}\n{error}")
    sys.exit(bool(errors))


def run(case, folder, python):
    """Runs a case and returns in words how long it took, or the error."""
    try:
        return f"{starts.run(case, folder, python, TENSORFLOW_SECONDS if python else starts.SECONDS):.1f} s"
    except Exception as error:
        return error


if __name__ == "__main__":
    main()
