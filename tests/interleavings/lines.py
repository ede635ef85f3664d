"""Points between the lines of given modules: finds races on plain attributes, at a tenth of the speed."""

from tests.interleavings import scheduler


def tracer(modules):
    """Returns a trace function that makes each line of some modules a point."""
    files = {module if isinstance(module, str) else module.__file__ for module in modules}

    def trace(frame, event, argument):
        return line if frame.f_code.co_filename in files else None

    def line(frame, event, argument):
        active = scheduler.active
        if event == "line" and active is not None:
            active.point("runs line", frame.f_lineno)
        return line

    return trace
