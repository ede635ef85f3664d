"""The scheduler: runs one managed thread at a time, and lets a strategy choose the next at each synchronization point.

Managed threads are real ones (thread-locals, `threading.current_thread()` and torch's state per thread are their own),
which pass a baton: a hand-over takes 3 to 5 microseconds, and none happens while a strategy stays with a thread. Time
is virtual: it passes when no thread can run, to the earliest deadline; without one, the threads are deadlocked.
"""

import sys
import threading
import traceback
from _thread import allocate_lock, get_ident, start_new_thread

START = 1000.0  # what the virtual clock shows at first
_STUCK_SECONDS = 30.0  # of real time without a synchronization point
_RAISED = 1000  # times that a thread may catch its end
_FOLDER = __file__.rpartition("/")[0]
_INNER = (__file__, f"{_FOLDER}/primitives.py", f"{_FOLDER}/patches.py", threading.__file__)

active = None  # the scheduler of the schedule that runs


class Ended(BaseException):
    """Ends a managed thread that is left at the end of a schedule."""


class Fault(Exception):
    """What a scheduler finds wrong with a schedule: a deadlock, a thread that never ends, an error in a thread."""


class Managed:
    """A thread as the scheduler sees it: its baton, and what it waits for until when."""

    __slots__ = (
        "baton",
        "deadline",
        "ident",
        "is_over",
        "joiners",
        "number",
        "raised",
        "thread",
        "waits_for",
        "was_woken",
    )

    def __init__(self, number, thread, baton):
        self.number = number
        self.thread = thread
        self.baton = baton
        self.ident = 0
        self.deadline = None
        self.waits_for = None  # what it does, and with what
        self.was_woken = False
        self.joiners = []
        self.is_over = False
        self.raised = 0

    def __str__(self):
        return f"{self.number} {self.thread.name!r}"


class _Carrier:
    """A thread of the system that runs one managed thread after another."""

    def __init__(self):
        self.baton = allocate_lock()
        self.baton.acquire()
        self.work = None
        start_new_thread(self._serve, ())

    def _serve(self):
        while True:
            self.baton.acquire()
            work, self.work = self.work, None
            if work is None:
                return
            work()
            del work


_carriers = []


def end_carriers():
    """Ends the threads that wait for another managed thread to run."""
    while _carriers:
        _carriers.pop().baton.release()


class Scheduler:
    """Runs the threads of one schedule.

    strategy: chooses the next thread: `choose(scheduler, ready)`
    max_points: after which the threads are said to run forever
    tracer: the trace function of each thread, for points between lines
    keeps_log: whether `log` has what each thread did
    fresh_threads: whether each managed thread gets a thread of the system of its own, with thread-locals that are empty
    """

    def __init__(self, strategy, max_points=20_000, tracer=None, keeps_log=False, fresh_threads=False):
        self.strategy = strategy
        self.choose = strategy.choose
        self.now = START
        self.points = 0
        self.log = [] if keeps_log else None
        self.threads = []
        self.ready = []
        self.current = None
        self.fault = None
        self.is_ending = False
        self._is_settling = False
        self._max_points = max_points
        self._tracer = tracer
        self._fresh = fresh_threads
        self._sleeping = 0  # threads with a deadline

    # -- a schedule ---------------------------------------------------------------------------------------------------

    def run(self, body):
        """Calls a function as the first managed thread, on this one, and ends those that it leaves behind."""
        global active
        main = Managed(0, threading.current_thread(), allocate_lock())
        main.baton.acquire()
        main.ident = get_ident()
        self.threads.append(main)
        self.ready.append(main)
        self.current = main
        self.strategy.created(main)
        before = sys.gettrace()
        active = self
        try:
            if self._tracer is not None:
                sys.settrace(self._tracer)
            try:
                result = body()
                self._settle(main)
            finally:
                sys.settrace(before)
        except Ended:
            pass
        except BaseException as error:
            if self.fault is None:
                self.fault = error
        finally:
            self._end_all(main)
            active = self.current = None
        if self.fault is not None:
            raise self.fault
        return result

    def _settle(self, main):
        """Runs the threads that are left until all of them wait; those that are no daemons must end."""
        while any(not t.thread.daemon for t in self.threads[1:] if not t.is_over):
            other = next(t for t in self.threads[1:] if not t.is_over and not t.thread.daemon)
            other.joiners.append(main)
            self.block("ends after", other.thread)
        self._is_settling = True
        if len(self.ready) > 1:
            self.block("settles", None)

    def _end_all(self, main):
        self.is_ending = True
        if self.current is not main:  # an interrupt while another thread runs: it is left alone
            return
        for thread in self.threads[1:]:
            while not thread.is_over:
                self.current = thread
                thread.baton.release()
                self._wait(main)

    def _wait(self, me):
        """Waits for the baton; on the first thread it looks after the others."""
        if me.number:
            me.baton.acquire()
            return
        points = -1
        while not me.baton.acquire(timeout=_STUCK_SECONDS):
            if points == self.points:
                where = stack(self.current.ident)
                self.fault = Fault(f"thread {self.current} waits for something outside of the scheduler:\n{where}")
                raise self.fault
            points = self.points

    # -- points -------------------------------------------------------------------------------------------------------

    def point(self, action, subject=None):
        """Lets another thread run first, if the strategy says so."""
        if self.is_ending:
            return
        me = self.current
        self.points += 1
        if self.log is not None:
            self.log.append((self.now, me.number, action, subject))
        if self.points > self._max_points:
            self._fail(Fault(f"the threads still run after {self._max_points} points"))
        if len(self.ready) > 1 or self._sleeping:
            chosen = self.choose(self, self.ready)
            if chosen is not me:
                self.current = chosen
                chosen.baton.release()
                self._wait(me)
                if self.is_ending:
                    self._raise(me)

    def block(self, action, subject, deadline=None):
        """Makes the current thread wait until it is woken; returns whether it was, or its deadline came."""
        me = self.current
        if self.is_ending:
            self._raise(me)
        if self.log is not None:
            self.log.append((self.now, me.number, action, subject))
        self.ready.remove(me)
        me.waits_for = action, subject
        me.was_woken = False
        if deadline is not None:
            me.deadline = deadline
            self._sleeping += 1
        chosen = self._next()
        if chosen is not me:
            self.current = chosen
            chosen.baton.release()
            self._wait(me)
        me.waits_for = None
        if self.is_ending:
            self._raise(me)
        return me.was_woken

    def wake(self, thread):
        """Makes a thread that waits ready; it was woken."""
        if thread.waits_for is not None and thread not in self.ready:
            thread.was_woken = True
            self._awake(thread)

    def _awake(self, thread):
        if thread.deadline is not None:
            thread.deadline = None
            self._sleeping -= 1
        self.ready.append(thread)

    def elapse(self):
        """Lets the clock pass to the earliest deadline; returns False if there is none."""
        if not self._sleeping:
            return False
        self.now = max(self.now, min(t.deadline for t in self.threads if t.deadline is not None))
        for thread in self.threads:
            if thread.deadline is not None and thread.deadline <= self.now:
                self._awake(thread)
        return True

    def _next(self):
        """Returns the thread that runs when the current one waits or has ended."""
        main = self.threads[0]
        if self.is_ending:
            return main
        if not self.ready and self._is_settling:
            self.ready.append(main)
        elif not self.ready and not self.elapse():
            waiting = [f"  {t} {describe(*t.waits_for)}" for t in self.threads if not t.is_over and t.waits_for]
            self._record(Fault("deadlock: every thread waits\n" + "\n".join(waiting) + "\n" + self.stacks()))
            return main
        return self.choose(self, self.ready) if len(self.ready) > 1 else self.ready[0]

    def _record(self, fault):
        if self.fault is None:
            self.fault = fault
        self.is_ending = True

    def _fail(self, fault):
        self._record(fault)
        self._raise(self.current)

    def _raise(self, me):
        me.raised += 1
        if me.raised > _RAISED:
            sys.settrace(None)
            print(f"thread {me} catches its end", file=sys.stderr)
        raise Ended

    # -- threads ------------------------------------------------------------------------------------------------------

    def start(self, thread):
        """Starts a `threading.Thread` as a managed one."""
        carrier = _carriers.pop() if _carriers and not self._fresh else _Carrier()
        managed = Managed(len(self.threads), thread, carrier.baton)
        carrier.work = lambda: self._carry(managed, carrier)
        thread._started._flag = True
        self.threads.append(managed)
        self.ready.append(managed)
        self.strategy.created(managed)
        self.point("starts", thread)

    def _carry(self, managed, carrier):
        thread, ident = managed.thread, get_ident()
        managed.ident = thread._ident = ident
        threading._active[ident] = thread
        try:
            if not self.is_ending:
                if self._tracer is not None:
                    sys.settrace(self._tracer)
                thread.run()
        except (Ended, SystemExit):
            pass
        except BaseException as error:
            text = "".join(traceback.format_exception(error))
            self._record(Fault(f"thread {managed} raised {type(error).__name__}: {error}\n{text}"))
        finally:
            sys.settrace(None)
            del threading._active[ident]
        managed.is_over = thread._is_stopped = True
        for joiner in managed.joiners:
            self.wake(joiner)
        if managed in self.ready:
            self.ready.remove(managed)
        if self.log is not None:
            self.log.append((self.now, managed.number, "ends", None))
        chosen = self._next()
        self.current = chosen
        if self._fresh:
            carrier.baton.release()  # the carrier has nothing more to do
        else:
            _carriers.append(carrier)
        chosen.baton.release()

    def managed(self, thread):
        """Returns a `threading.Thread` as the scheduler sees it; None if it did not start it."""
        return next((t for t in self.threads if t.thread is thread), None)

    def stacks(self):
        """Returns where the threads are."""
        return "\n".join(f"{t}:\n{stack(t.ident)}" for t in self.threads if not t.is_over)


def describe(action, subject):
    """Returns what a thread does in words."""
    if subject is None:
        return action
    name = subject.name if isinstance(subject, threading.Thread) else str(subject)
    return f"{action} {name}"


def stack(ident):
    """Returns the stack of a managed thread, without the frames of scheduler and `threading`."""
    frame = sys._current_frames().get(ident)
    frames = traceback.extract_stack(frame) if frame is not None else []
    starts = [i for i, f in enumerate(frames) if f.filename == __file__ and f.name in ("run", "_carry")]
    inner = [f for f in frames[starts[-1] + 1 :] if f.filename not in _INNER] if starts else []
    return "".join(traceback.format_list(inner[-12:])) or "    (has not started)\n"
