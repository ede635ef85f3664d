"""Values in event files: the results of evaluations by global step."""

from __future__ import annotations

import glob
import os
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from thalweg._src.base import logging
from thalweg._src.base.errors import DataLossError
from thalweg._src.base.export import export
from thalweg._src.training.observe.file_writer import FileWriterCache, summary_iterator


def events_of(path: str) -> Iterator[Any]:
    """Yields the events of a file up to its last whole one: another process may be writing it."""
    events = summary_iterator(path)
    while True:
        try:
            yield next(events)
        except StopIteration:
            return
        except DataLossError as error:
            logging.warning("%s is read up to a damaged event: %s", path, error)
            return


def numbers_of(event: Any) -> dict[str, float]:
    """Returns the numbers of an event by tag."""
    return {v.tag: v.simple_value for v in event.summary.value if v.WhichOneof("value") == "simple_value"}


@export("contrib.estimator.read_eval_metrics")
def read_eval_metrics(eval_dir: str) -> OrderedDict[int, dict[str, float]]:
    """Returns the numbers of evaluations in a folder by name, by global step in increasing order.

    Args:
        eval_dir: Folder of the evaluations.
    """
    if eval_dir in FileWriterCache._cache:
        FileWriterCache.get(eval_dir).flush()
    metrics_by_step: dict[int, dict[str, float]] = {}
    for path in sorted(glob.glob(os.path.join(glob.escape(eval_dir), "*tfevents*"))):
        for event in events_of(path):
            if values := numbers_of(event):
                metrics_by_step.setdefault(event.step, {}).update(values)
    return OrderedDict(sorted(metrics_by_step.items()))
