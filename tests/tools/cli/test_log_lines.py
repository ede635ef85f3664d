"""Lines of the merged log of a cluster."""

import os

import pytest

from thalweg._src.tools.cli.log_lines import LogLines


def connected():
    """Returns the lines of a pipe, the end to write to, and the list that receives the lines."""
    reader, writer = os.pipe()
    found = []
    return LogLines(os.fdopen(reader, "rb", buffering=0), found.extend), writer, found


def copied(pieces):
    """Returns the lines that are copied from a pipe into which pieces are written one after another."""
    lines, writer, found = connected()
    for piece in pieces:
        os.write(writer, piece)
        lines.copy()
    os.close(writer)
    lines.finish()
    assert lines.source.closed
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_lines_are_whole_however_they_arrive(size):
    text = b"a\nbc\n\n\xff\x00 x\ny\r\n" + b"longer than others\n" * 5
    pieces = [text[i : i + size] for i in range(0, len(text), size)]
    assert copied(pieces) == text.splitlines()


def test_carriage_returns_end_lines_once():
    assert copied([b"\r 1%", b"\r 2%\r", b"\n", b"\n", b"end\r\nwithout an end"]) == [
        *(b" 1%", b" 2%", b"", b"end", b"without an end")
    ]


def test_a_line_that_never_ends_is_shown_in_parts():
    parts = copied([b"x" * 50_000] * 3)
    assert b"".join(parts) == b"x" * 150_000 and len(parts) == 2


def test_what_outlives_a_process_does_not_hold_its_log():
    lines, writer, found = connected()
    os.write(writer, b"last")
    lines.finish()
    os.close(writer)
    assert found == [b"last"]
