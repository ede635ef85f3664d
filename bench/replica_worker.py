"""One task of a training cluster: a parameter server, or a worker that trains and reports its steps."""

from __future__ import annotations

import time
from typing import Any

from worker import Peer, serve
from workloads import replica_programs


class Process(Peer):
    """A library, and the server of a task."""

    def start(self, jobs: dict[str, list[str]], job: str, task: int) -> dict[str, Any]:
        """Starts the server of a task."""
        self.server = self.module.train.Server(jobs, job_name=job, task_index=task)
        self.jobs, self.task = jobs, task
        return {}

    def train(self, model: str, mode: str, steps: int, seconds: float, delay: float) -> dict[str, Any]:
        """Trains until a global step or a time is reached; returns time, step and loss of each of its steps.

        delay: seconds that this worker sleeps before each step
        """
        tf, worker = self.module, f"/job:worker/task:{self.task}"
        with tf.Graph().as_default():
            with tf.device(tf.train.replica_device_setter(cluster=self.jobs, worker_device=worker)):
                step = tf.train.get_or_create_global_step()
                loss, optimizer, feeds = replica_programs.MODELS[model](tf, self.task)
                optimizer = replica_programs.wrapped(tf, mode, optimizer, len(self.jobs["worker"]))
                train = optimizer.minimize(loss, global_step=step)
            hooks = [tf.train.StopAtStepHook(last_step=steps)]
            if mode != "async":
                hooks.append(optimizer.make_session_run_hook(self.task == 0))
            config = tf.ConfigProto(device_filters=["/job:ps", worker])
            seen = []
            with tf.train.MonitoredTrainingSession(
                self.server.target,
                is_chief=self.task == 0,
                hooks=hooks,
                config=config,
                log_step_count_steps=None,
                stop_grace_period_secs=5,  # by default, a chief of TensorFlow takes two minutes to end
                save_summaries_steps=None,
                save_summaries_secs=None,
            ) as session:
                end = time.time() + seconds
                while not session.should_stop() and time.time() < end:
                    time.sleep(delay)
                    value, made, _ = session.run([loss, step, train], feeds())
                    seen.append((time.time(), int(made), float(value)))
        return {"seen": seen}


if __name__ == "__main__":
    serve(Process)
