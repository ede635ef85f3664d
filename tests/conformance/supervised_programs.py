"""Programs of supervised training, in words that TensorFlow and Thalweg both understand; each gives plain values."""

import glob
import os
import threading

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def run_program(tf, name, folder):
    folder = os.path.join(folder, name)
    os.makedirs(folder, exist_ok=True)
    verbosity = tf.logging.get_verbosity()
    with tf.Graph().as_default():
        try:
            result = PROGRAMS[name](tf, folder)
        except Exception as error:
            result = f"failed: {type(error).__name__}: {error}"
    tf.logging.set_verbosity(verbosity)
    tf.summary.FileWriterCache.clear()
    return result


def outcome(call, *args, **kwargs):
    """Returns what a call gives, or the class of its error and what that says if it is no operation's."""
    try:
        return call(*args, **kwargs)
    except (ValueError, RuntimeError, TypeError) as error:
        return [type(error).__name__, str(error).split(" Conflict")[0][:60]]
    except Exception as error:
        return type(error).__name__


def counter(tf):
    """Returns the global step and an operation that counts it up."""
    step = tf.train.get_or_create_global_step()
    return step, tf.assign_add(step, 1)


def recorder(tf, log, name, **doing):
    """Returns a hook that writes down every call, and then does what is asked."""

    def note(kind, *values):
        log.append([name, kind, *values])
        act = doing.get(kind)
        return act(*values) if act is not None else None

    class Recorder(tf.train.SessionRunHook):
        def begin(self):
            note("begin")

        def after_create_session(self, session, coord):
            assert isinstance(coord, tf.train.Coordinator)
            note("after_create_session", int(session.run(tf.train.get_global_step(session.graph))))

        def before_run(self, run_context):
            assert isinstance(run_context.original_args, tf.train.SessionRunArgs)
            note("before_run")
            return tf.train.SessionRunArgs(doing["fetches"]) if "fetches" in doing else None

        def after_run(self, run_context, run_values):
            self.context = run_context
            values = [] if run_values.results is None else [int(run_values.results)]
            note("after_run", *values)
            if doing.get("stop_at") is not None and run_context.session.run(doing["step"]) >= doing["stop_at"]:
                run_context.request_stop()

        def end(self, session):
            note("end", int(session.run(tf.train.get_global_step(session.graph))))

    return Recorder()


def fail_once(error):
    """Returns a function that raises the first time."""
    left = [error]

    def fail(*values):
        if left:
            raise left.pop()

    return fail


def fail_at(number, error):
    """Returns a function that raises when it is called for the n-th time."""
    calls = []

    def fail(*values):
        calls.append(None)
        if len(calls) == number:
            raise error

    return fail


@program
def order_of_calls(tf, folder):
    log = []
    step, count = counter(tf)
    hooks = [
        recorder(tf, log, "a", fetches=tf.constant(7), step=step, stop_at=3),
        recorder(tf, log, "b"),
    ]
    with tf.train.MonitoredSession(hooks=hooks) as session:
        while not session.should_stop():
            log.append(["ran", int(session.run(count))])
    log.append(session.should_stop())
    return log


@program
def singular(tf, folder):
    log = []
    _step, count = counter(tf)
    hook = recorder(tf, log, "a", after_run=fail_at(2, tf.errors.AbortedError(None, None, "gone")))

    def run():
        with tf.train.SingularMonitoredSession(hooks=[hook]) as session:
            log.append(type(session.raw_session()).__name__)
            while not session.should_stop():
                session.run(count)

    log.append(outcome(run))
    return log


def _errors(tf):
    return {
        "aborted": lambda: tf.errors.AbortedError(None, None, "gone"),
        "unavailable": lambda: tf.errors.UnavailableError(None, None, "gone"),
        "invalid": lambda: tf.errors.InvalidArgumentError(None, None, "bad"),
        "ended": lambda: tf.errors.OutOfRangeError(None, None, "end"),
        "runtime": lambda: RuntimeError("broken"),
        "value": lambda: ValueError("wrong"),
        "stop_iteration": lambda: StopIteration("stop"),
    }


@program
def failing_hooks(tf, folder):
    """An error in each call of a hook: what else is called, and what comes out."""
    results = {}
    for where in ("begin", "after_create_session", "before_run", "after_run", "end"):
        for kind, make in _errors(tf).items():
            log = []
            with tf.Graph().as_default():
                step, count = counter(tf)
                fail = fail_once(make()) if where in ("begin", "after_create_session", "end") else fail_at(2, make())
                hooks = [recorder(tf, log, "a", step=step, stop_at=3, **{where: fail}), recorder(tf, log, "b")]

                def run():
                    with tf.train.MonitoredSession(hooks=hooks) as session:
                        for _ in range(9):
                            if session.should_stop():
                                break
                            log.append(int(session.run(count)))

                results[f"{where} {kind}"] = [outcome(run), log]
    return results


@program
def failing_bodies(tf, folder):
    """An error in the block of the session: whether hooks end, and what comes out."""
    results = {}
    for kind, make in _errors(tf).items():
        log = []
        with tf.Graph().as_default():
            counter(tf)

            def run():
                with tf.train.MonitoredSession(hooks=[recorder(tf, log, "a")]):
                    raise make()

            results[kind] = [outcome(run), log]
    return results


@program
def recovery_from_a_checkpoint(tf, folder):
    log = []
    step, count = counter(tf)
    hook = recorder(
        tf, log, "a", step=step, stop_at=6, after_run=fail_at(4, tf.errors.AbortedError(None, None, "gone"))
    )
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=folder, hooks=[hook], save_checkpoint_steps=2, save_checkpoint_secs=None
    ) as session:
        while not session.should_stop():
            log.append(int(session.run(count)))
    log.append(os.path.basename(tf.train.latest_checkpoint(folder)))
    return log


@program
def resuming(tf, folder):
    log = []
    for _ in range(3):
        with tf.Graph().as_default():
            _step, count = counter(tf)
            with tf.train.MonitoredTrainingSession(
                checkpoint_dir=folder, hooks=[tf.train.StopAtStepHook(num_steps=4)], save_checkpoint_secs=60
            ) as session:
                while not session.should_stop():
                    log.append(int(session.run(count)))
        log.append(os.path.basename(tf.train.latest_checkpoint(folder)))
    return log


@program
def step_functions(tf, folder):
    log = []
    _step, count = counter(tf)
    hook = recorder(tf, log, "a")
    with tf.train.MonitoredSession(hooks=[hook]) as session:

        def plain(step_context):
            log.append(int(step_context.session.run(count)))
            return int(step_context.run_with_hooks(count))

        log.append(session.run_step_fn(plain))

        class Owner:
            def method(self, step_context):
                return int(step_context.run_with_hooks(count))

        log.append(session.run_step_fn(Owner().method))
        log.append(outcome(session.run_step_fn, lambda: None))
        log.append(outcome(session.run_step_fn, lambda context: None))
        log.append(outcome(session.run_step_fn, lambda step_context, other: None))
        fail = fail_once(tf.errors.AbortedError(None, None, "gone"))

        def losing(step_context):
            fail()
            return int(step_context.run_with_hooks(count))

        log.append(session.run_step_fn(losing))

        def stopping(step_context):
            step_context.request_stop()

        session.run_step_fn(stopping)
        log.append("not reached")
    return log


@program
def closed_sessions(tf, folder):
    log = []
    step, count = counter(tf)
    session = tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(last_step=1)])
    log.append(session.graph is step.graph)
    log.append(outcome(lambda: tf.constant(1)))  # the graph is finalized
    log.append(int(session.run(count)))
    log.append(session.should_stop())
    log.append(outcome(session.run, count))
    session.close()
    log.append([session.should_stop(), session.graph is None])
    log.append(outcome(session.close)[0])
    tf.constant(1)  # it is not any more
    return [value if value is None or not isinstance(value, list) or len(value) != 2 else value[0] for value in log]


@program
def feeds_of_hooks(tf, folder):
    log = []
    counter(tf)
    x, y = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])
    total = x + 10 * y
    feed = tf.train.FeedFnHook
    with tf.train.MonitoredSession(hooks=[feed(lambda: {x: 1})]) as session:
        log.append(int(session.run(total, {y: 2})))
        log.append(outcome(session.run, total, {x: 3, y: 2}))
    with tf.train.MonitoredSession(hooks=[feed(lambda: {x: 1}), feed(lambda: {y: 5})]) as session:
        log.append(int(session.run(total)))
    with tf.train.MonitoredSession(hooks=[feed(lambda: {x: 1}), feed(lambda: {x: 5})]) as session:
        log.append(outcome(session.run, x))
    return log


@program
def stopping_at_a_step(tf, folder):
    log = []
    for hook in (
        lambda: tf.train.StopAtStepHook(num_steps=3),
        lambda: tf.train.StopAtStepHook(last_step=4),
        lambda: tf.train.StopAtStepHook(last_step=0),
    ):
        with tf.Graph().as_default():
            _step, count = counter(tf)
            with tf.train.MonitoredSession(hooks=[hook()]) as session:
                while not session.should_stop():
                    log.append(int(session.run(count)))
        log.append("stopped")
    return log


@program
def bad_arguments(tf, folder):
    """What constructors refuse, and hooks without a global step."""
    t = tf.train
    calls = [
        lambda: t.StopAtStepHook(),
        lambda: t.StopAtStepHook(1, 2),
        lambda: t.SecondOrStepTimer(),
        lambda: t.SecondOrStepTimer(1.0, 2),
        lambda: t.StepCounterHook(None),
        lambda: t.StepCounterHook(1, 2.0),
        lambda: t.LoggingTensorHook(["x"]),
        lambda: t.LoggingTensorHook(["x"], 1, 2.0),
        lambda: t.LoggingTensorHook(["x"], every_n_iter=0),
        lambda: t.SummarySaverHook(1),
        lambda: t.SummarySaverHook(1, scaffold=t.Scaffold(), summary_op=tf.constant("")),
        lambda: t.SummarySaverHook(scaffold=t.Scaffold()),
        lambda: t.CheckpointSaverHook(folder),
        lambda: t.CheckpointSaverHook(folder, 1.0, 2),
        lambda: t.CheckpointSaverHook(folder, save_steps=1, saver=1, scaffold=t.Scaffold()),
        lambda: t.Scaffold(copy_from_scaffold=1),
        lambda: t.SessionManager(ready_for_local_init_op=tf.constant(1)),
        lambda: t.SessionRunArgs(),
        lambda: t.StopAtStepHook(1).begin(),
        lambda: t.StepCounterHook().begin(),
        lambda: t.SummarySaverHook(1, summary_op=tf.constant("")).begin(),
        lambda: t.CheckpointSaverHook(folder, 1.0).begin(),
        lambda: t.LoggingTensorHook(["nobody:0"], 1).begin(),
    ]
    answers = [outcome(call) for call in calls]
    return [a if isinstance(a, list | str) else type(a).__name__ for a in answers]


@program
def timer(tf, folder):
    timer = tf.train.SecondOrStepTimer(every_steps=3)
    log = []
    for step in (0, 0, 1, 2, 3, 4, 7, 7, 9, 10):
        due = timer.should_trigger_for_step(step)
        log.append([step, due, timer.last_triggered_step()])
        if due:
            log.append(timer.update_last_triggered_step(step)[1])
    timer.reset()
    log.append([timer.last_triggered_step(), timer.should_trigger_for_step(1)])
    return log


def _listener(tf, log, stop_at=None):
    class Listener(tf.train.CheckpointSaverListener):
        def begin(self):
            log.append(["begin"])

        def before_save(self, session, global_step_value):
            log.append(["before_save", int(global_step_value)])

        def after_save(self, session, global_step_value):
            log.append(["after_save", int(global_step_value)])
            return stop_at is not None and global_step_value >= stop_at

        def end(self, session, global_step_value):
            log.append(["end", int(global_step_value)])

    return Listener()


@program
def checkpoints(tf, folder):
    log = []
    _step, count = counter(tf)
    scaffold = tf.train.Scaffold()
    hook = tf.train.CheckpointSaverHook(
        folder, save_steps=3, scaffold=scaffold, listeners=[_listener(tf, log), _listener(tf, log)]
    )
    creator = tf.train.ChiefSessionCreator(scaffold=scaffold)
    with tf.train.MonitoredSession(creator, [hook, tf.train.StopAtStepHook(last_step=8)]) as session:
        while not session.should_stop():
            log.append(int(session.run(count)))
    log.append(sorted(os.path.basename(p) for p in glob.glob(folder + "/*.index")))
    log.append(os.path.exists(folder + "/graph.pbtxt"))
    log.append(_events(tf, folder))
    return log


@program
def listeners_that_stop(tf, folder):
    log = []
    _step, count = counter(tf)
    tf.train.Saver()
    tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
    hook = tf.train.CheckpointSaverHook(folder, save_steps=2, listeners=[_listener(tf, log, 4)])
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        while not session.should_stop():
            log.append(int(session.run(count)))
    return log


@program
def many_savers(tf, folder):
    _step, _count = counter(tf)
    for _ in range(2):
        tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
    hook = tf.train.CheckpointSaverHook(folder, save_steps=2)
    return outcome(lambda: tf.train.MonitoredSession(hooks=[hook]))


def _events(tf, folder):
    """Returns what the event files of a folder tell, without times."""
    tf.summary.FileWriterCache.clear()
    found = []
    for path in sorted(glob.glob(folder + "/events*")):
        for event in tf.train.summary_iterator(path):
            kind = event.WhichOneof("what")
            if kind == "summary":
                found.append([kind, event.step, *[value.tag for value in event.summary.value]])
            elif kind == "session_log":
                found.append([kind, event.step, event.session_log.status])
            elif kind != "file_version":
                found.append([kind, event.step])
    return found


@program
def summaries(tf, folder):
    _step, count = counter(tf)
    with tf.control_dependencies([count]):
        tf.summary.scalar("a", tf.constant(1.0))
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=folder,
        hooks=[tf.train.StopAtStepHook(last_step=7)],
        save_checkpoint_steps=5,
        save_summaries_steps=3,
        log_step_count_steps=2,
    ) as session:
        while not session.should_stop():
            session.run(count)
    return _events(tf, folder)


@program
def logging_values(tf, folder):
    _step, count = counter(tf)
    log = []

    def formatter(values):
        log.append({getattr(key, "name", key): int(value) for key, value in values.items()})
        return ""

    tf.logging.set_verbosity(tf.logging.ERROR)
    x = tf.Variable(5, name="x")
    hooks = [
        tf.train.LoggingTensorHook({"x": x}, every_n_iter=2, formatter=formatter),
        tf.train.LoggingTensorHook(["x:0"], at_end=True, formatter=formatter),
        tf.train.LoggingTensorHook([x], every_n_iter=3, at_end=True, formatter=formatter),
    ]
    with tf.train.MonitoredSession(hooks=hooks) as session:
        for _ in range(5):
            session.run(count)
            log.append("ran")
    return log


@program
def losses_that_are_no_numbers(tf, folder):
    log = []
    for fails in (True, False):
        with tf.Graph().as_default():
            step, count = counter(tf)
            with tf.control_dependencies([count]):
                loss = tf.cond(
                    step.read_value() >= 2, lambda: float("nan") * tf.constant(1.0), lambda: tf.constant(1.0)
                )
            hooks = [tf.train.NanTensorHook(loss, fail_on_nan_loss=fails), recorder(tf, log, "a")]

            def run():
                with tf.train.MonitoredSession(hooks=hooks) as session:
                    while not session.should_stop():
                        session.run(count)

            log.append(outcome(run))
    return log


@program
def final_operations(tf, folder):
    log = []
    step, count = counter(tf)
    x = tf.placeholder(tf.int32, [])
    queue = tf.FIFOQueue(1, [tf.int32], shapes=[[]])
    close = queue.close()
    good = tf.train.FinalOpsHook([step, x], {x: 5})
    none = tf.train.FinalOpsHook(None)
    ended = tf.train.FinalOpsHook(queue.dequeue())
    log.append(good.final_ops_values)

    def run():
        with tf.train.MonitoredSession(hooks=[good, none, ended]) as session:
            session.run(count)
            session.run(close)

    log.append(outcome(run))
    log.append([int(value) for value in good.final_ops_values])
    log.append([none.final_ops_values, ended.final_ops_values])
    return log


@program
def waiting_for_a_step(tf, folder):
    _step, count = counter(tf)
    log = []

    class Others(tf.train.SessionRunHook):
        def after_create_session(self, session, coord):
            def work():
                for _ in range(4):
                    coord.wait_for_stop(0.05)
                    session.run(count)
                log.append("others done")

            thread = threading.Thread(target=work)
            coord.register_thread(thread)
            thread.start()

    with tf.train.MonitoredSession(hooks=[Others(), tf.train.GlobalStepWaiterHook(4)]) as session:
        log.append(int(session.run(count)))
        coord_done = session.should_stop()
    log.append(coord_done)
    return sorted(map(str, log))


@program
def scaffolds(tf, folder):
    log = []
    x = tf.placeholder(tf.int32, [])
    v = tf.Variable(x, name="v", trainable=False)
    w = tf.Variable(0, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    tf.train.get_or_create_global_step()
    double = v.assign(v * 2)

    def init_fn(scaffold, session):
        log.append(isinstance(scaffold, tf.train.Scaffold))
        session.run(double)

    first = tf.train.Scaffold(init_feed_dict={x: 21}, init_fn=init_fn, local_init_op=w.assign(v + 1))
    second = tf.train.Scaffold(copy_from_scaffold=first)
    log.append([first.saver is None, first.init_op is None, first.summary_op is None])
    with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(second)) as session:
        log.append([int(value) for value in session.run([v, w])])
    log.append([second.saver is None, second.init_op is None, second.summary_op is None])
    log.append([len(tf.get_collection(key)) for key in ("savers", "init_op", "ready_op", "local_init_op")])
    return log


@program
def models_that_are_not_ready(tf, folder):
    log = []
    counter(tf)
    v = tf.Variable(1, name="v")
    for scaffold in (
        tf.train.Scaffold(init_op=tf.no_op(), local_init_op=tf.no_op()),
        tf.train.Scaffold(init_op=tf.no_op(), ready_for_local_init_op=tf.constant([], tf.string)),
        tf.train.Scaffold(ready_op=tf.constant(["left"])),
        tf.train.Scaffold(init_op=v.initializer, saver=tf.train.Saver([v])),
    ):
        log.append(outcome(lambda: tf.train.MonitoredSession(tf.train.ChiefSessionCreator(scaffold))))
        tf.get_default_graph()._unsafe_unfinalize()
    return log


@program
def session_managers(tf, folder):
    log = []
    v = tf.Variable(3, name="v")
    init, ready = tf.global_variables_initializer(), tf.report_uninitialized_variables()
    saver = tf.train.Saver()
    manager = tf.train.SessionManager(ready_op=ready, recovery_wait_secs=0.1)
    change = v.assign(8)

    session, restored = manager.recover_session("", saver, checkpoint_dir=folder)
    log.append(bool(restored))
    session = manager.prepare_session("", init, saver, checkpoint_dir=folder)
    log.append(int(session.run(v)))
    session.run(change)
    path = saver.save(session, os.path.join(folder, "model"), 5)
    session = manager.prepare_session("", init, saver, checkpoint_dir=folder)
    log.append(int(session.run(v)))
    session, restored = manager.recover_session("", saver, checkpoint_dir=folder)
    log.append([bool(restored), int(session.run(v))])
    session = manager.prepare_session("", saver=saver, checkpoint_filename_with_path=path)
    log.append(int(session.run(v)))
    log.append(outcome(manager.prepare_session, "", init, saver, folder, path))
    log.append(outcome(manager.prepare_session, ""))
    log.append(outcome(manager.prepare_session, "", init_fn=lambda session: None)[0])
    log.append(outcome(manager.wait_for_session, "", max_wait_secs=0.3))
    log.append(type(outcome(tf.train.SessionManager().wait_for_session, "", max_wait_secs=1)).__name__)
    log.append(saver.last_checkpoints == [path])
    return log


@program
def input_that_ends(tf, folder):
    log = []
    _step, count = counter(tf)
    numbers = tf.train.range_input_producer(3, num_epochs=2, shuffle=False).dequeue()
    with tf.train.MonitoredSession(hooks=[recorder(tf, log, "a")]) as session:
        while not session.should_stop():
            log.append(int(session.run([numbers, count])[0]))
        log.append("not reached")
    log.append("ended")
    return log


@program
def threads_that_fail(tf, folder):
    """Errors that queue runners and threads of the program report."""
    log = []
    for kind, make in _errors(tf).items():
        with tf.Graph().as_default():
            _step, count = counter(tf)
            fail = fail_once(make())

            class Starter(tf.train.SessionRunHook):
                def after_create_session(self, session, coord):
                    def work():
                        with coord.stop_on_exception():
                            fail()

                    thread = threading.Thread(target=work)
                    thread.start()
                    thread.join()

            def run():
                with tf.train.MonitoredSession(hooks=[Starter(), tf.train.StopAtStepHook(last_step=2)]) as session:
                    seen = []
                    while not session.should_stop():
                        seen.append(int(session.run(count)))
                    log.append(seen)

            log.append([kind, outcome(run)])
    return log


@program
def supervisors(tf, folder):
    log = []
    for limit in (3, 5):
        with tf.Graph().as_default():
            _step, count = counter(tf)
            v = tf.Variable(0, collections=[tf.GraphKeys.LOCAL_VARIABLES])
            supervisor = tf.train.Supervisor(logdir=folder, save_model_secs=0, save_summaries_secs=0)
            log.append([supervisor.is_chief, os.path.basename(supervisor.save_path), supervisor.save_model_secs])
            with supervisor.managed_session() as session:
                session.run(v)
                while not supervisor.should_stop():
                    value = int(session.run(count))
                    log.append(value)
                    if value >= limit:
                        supervisor.saver.save(session, supervisor.save_path, global_step=supervisor.global_step)
                        supervisor.request_stop()
    log.append(os.path.basename(tf.train.latest_checkpoint(folder)))
    return log


@program
def supervised_failures(tf, folder):
    log = []
    for kind, make in _errors(tf).items():
        with tf.Graph().as_default():
            _step, count = counter(tf)
            supervisor = tf.train.Supervisor(init_fn=lambda session: log.append("init"))

            def run():
                with supervisor.managed_session() as session:
                    session.run(count)
                    raise make()

            log.append([kind, outcome(run), supervisor.should_stop()])
    return log


@program
def basic_loop(tf, folder):
    log = []
    _step, count = counter(tf)
    supervisor = tf.train.Supervisor(logdir=folder, save_summaries_secs=0, save_model_secs=0)
    fail = fail_at(3, tf.errors.AbortedError(None, None, "gone"))

    def train_step(session, limit, by):
        fail()
        value = int(session.run(count))
        log.append([value, by])
        if value >= limit:
            supervisor.request_stop()

    tf.train.basic_train_loop(supervisor, train_step, args=(4,), kwargs={"by": "me"})
    return log


@program
def workers_wait(tf, folder):
    counter(tf)
    creator = tf.train.WorkerSessionCreator(max_wait_secs=1)
    return outcome(lambda: tf.train.MonitoredSession(creator))


@program
def creators_of_users(tf, folder):
    log = []
    _step, count = counter(tf)
    init = tf.global_variables_initializer()

    class Creator(tf.train.SessionCreator):
        def create_session(self):
            log.append("create")
            session = tf.Session()
            session.run(init)
            return session

    hook = recorder(tf, log, "a", after_run=fail_at(2, tf.errors.UnavailableError(None, None, "gone")))
    with tf.train.MonitoredSession(Creator(), [hook]) as session:
        log.append(tf.train.start_queue_runners(session) == [])
        for _ in range(3):
            log.append(int(session.run(count)))
    return log
