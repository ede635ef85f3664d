"""Saving and restoring as TensorFlow 1 programs: one source text, run by TensorFlow and by Thalweg."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from workloads import data, graph_programs, plain_programs, records
from workloads.task import Task

Step = Callable[[], Any]


class Model:
    """A gigabyte of variables, a Saver, and its folder."""

    def __init__(self, tf: Any) -> None:
        with tf.Graph().as_default() as graph:
            shape = [data.CHECKPOINT_ROWS, 1024]
            for i in range(data.CHECKPOINT_VARIABLES):
                tf.get_variable(f"v{i}", shape, initializer=tf.random_uniform_initializer())
            self.saver = tf.train.Saver()
            initializer = tf.global_variables_initializer()
        self.session = tf.Session(graph=graph)
        self.session.run(initializer)
        self.folder = records.folder() / tf.__name__.partition(".")[0]
        self.folder.mkdir(exist_ok=True)

    def save(self) -> None:
        """Saves and syncs to disk, which TensorFlow does not do by itself."""
        path = self.saver.save(self.session, str(self.folder / "model"), write_meta_graph=False, write_state=False)
        for file in self.files(path):
            plain_programs.sync(file)

    def files(self, prefix: str = "model") -> list[Path]:
        return sorted(self.folder.glob(f"{Path(prefix).name}.*"))

    def restore(self) -> None:
        self.saver.restore(self.session, str(self.folder / "model"))


def save(tf: Any) -> Step:
    return Model(tf).save


def restore(tf: Any, cached: bool = False) -> Step:
    model = Model(tf)
    model.save()
    prepare = plain_programs.touch if cached else plain_programs.drop
    return Task(model.restore, before=lambda: prepare(model.files()))


def steps_saving(tf: Any) -> Step:
    """Trains while checkpoints are written, each as soon as the previous one is on disk."""
    step, session, saver = _training(tf)
    path = str(records.folder() / "training")

    def saving_step() -> Any:
        if not saver.is_writing:
            saver.save(session, path, write_meta_graph=False)
        return step()

    return Task(lambda: _repeated(saving_step), after=saver.wait)


def steps_alone(tf: Any) -> Step:
    step, _, _ = _training(tf)
    return lambda: _repeated(step)


def _repeated(step: Step) -> Any:
    return [step() for _ in range(data.SAVING_STEPS)][-1]


def _training(tf: Any) -> tuple[Step, Any, Any]:
    with tf.Graph().as_default() as graph:
        step, session = graph_programs.classifier(tf, graph, data.mlp_layers(data.WIDE_SIZES))
        saver = tf.train.Saver(asynchronous=True)
    return step, session, saver


PROGRAMS: dict[str, Callable[[Any], Step]] = {
    "save": save,
    "restore": restore,
    "restore_cached": lambda tf: restore(tf, cached=True),
    "step_saving": steps_saving,
}
REFERENCES: dict[str, Callable[[Any], Step]] = {"step_saving": steps_alone}
