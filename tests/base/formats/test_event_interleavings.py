"""Event files written by several threads, one of which closes the writer."""

import pytest

from tests.interleavings.explore import explore
from tests.interleavings.threads import nothing_is_left, run_all
from thalweg._src.base.formats.events import EventFileWriter, summary_iterator


@pytest.fixture
def event():
    from tensorboard.compat.proto.event_pb2 import Event

    return Event


def test_events_are_written_in_order_until_the_writer_is_closed(tmp_path, event):
    def body():
        writer = EventFileWriter(str(tmp_path), max_queue=2)
        flushed = []

        def write():
            for step in range(1, 6):
                writer.add_event(event(step=step))
                if step == 2:
                    writer.flush()
                    flushed.append(step)

        def end():
            writer.flush()
            writer.close()

        run_all(write, end, writer.flush)
        nothing_is_left()
        steps = [found.step for found in summary_iterator(writer.path)]
        assert steps == list(range(len(steps))) and flushed == [2]

    explore(body, 150)


def test_a_writer_that_is_opened_again_writes_another_file(tmp_path, event):
    def body():
        writer = EventFileWriter(str(tmp_path), max_queue=2)
        paths = [writer.path]

        def again():
            writer.close()
            writer.reopen()
            paths.append(writer.path)
            writer.add_event(event(step=100))

        run_all(again, lambda: [writer.add_event(event(step=step)) for step in range(1, 4)], writer.flush)
        writer.close()
        steps = [found.step for path in paths for found in summary_iterator(path)]
        assert steps[0] == 0 and 100 in steps
        steps = [step for step in steps if 0 < step < 100]
        assert steps == sorted(set(steps))
        nothing_is_left()

    explore(body, 150)
