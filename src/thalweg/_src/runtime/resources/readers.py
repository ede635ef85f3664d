"""Readers: take file names from a queue and return the records of those files to one step after another."""

from __future__ import annotations

import itertools
import os
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

from thalweg._src.base import errors
from thalweg._src.base.formats.gfile import _typed_errors
from thalweg._src.base.formats.record_files import Source, open_source, records_of
from thalweg._src.runtime.resources.queues import Queue
from thalweg._src.runtime.resources.step import Step
from thalweg._src.runtime.resources.waiting import NO_PROGRESS, Attempt, Fail, Finish, Outcome, Resource, notify

Record = tuple[bytes, bytes]  # key and value


class Reader(Resource):
    """Reads files of one format record by record; the step passes the queue that provides file names.

    Steps wait in a queue. When there is no file to read, the first of them dequeues a file name.
    """

    kind = "Reader"
    is_single_record = False  # whether each file is a single record

    def __init__(self, name: str, *settings: Any) -> None:
        super().__init__(name, deque())
        self.settings = settings
        self._names: deque[bytes] = deque()
        self._asking: Attempt | None = None
        self._forget_work()

    def _forget_work(self) -> None:
        self._records: Iterator[Record] | None = None
        self._error: errors.OpError | None = None  # of a file that cannot be read further, until the reader is reset
        self._name = b""
        self.work_started = self.work_finished = self.records_produced = 0

    def records(self, name: bytes) -> Iterator[Record]:
        """Yields the records of a file."""
        raise NotImplementedError

    # -- reading ------------------------------------------------------------------------------------------------------

    def read(self, queue: Queue, count: int | None, step: Step, finish: Finish, fail: Fail) -> None:
        """Calls `finish` with a key and a value, or with lists of up to `count` records from one file."""
        attempt = _Read(self, queue, count, step, finish, fail)
        with self.lock:
            self.wait_queues[0].append(attempt)
        self._go_on()
        if not attempt.is_over:
            attempt.listen(self._withdraw)

    def _go_on(self) -> None:
        """Reads while there are file names, then dequeues another name for the first waiting step."""
        waiting, thread = self.wait_queues[0], threading.get_ident()
        here = [True]
        while True:
            with self.lock:
                ended = self.advance()
                first = waiting[0] if waiting and self._asking is None else None
                self._asking = first or self._asking
            notify(ended)
            if first is None:
                here.clear()
                return
            assert isinstance(first, _Read)
            self._ask(first, here, thread)

    def _ask(self, asking: _Read, here: list[bool], thread: int) -> None:
        def receive(name: Any) -> None:
            with self.lock:
                self._names.append(name.item())
                self._asking = None if self._asking is asking else self._asking
            go_on()

        def end(step: Step, error: errors.OpError) -> None:
            with self.lock:
                self._asking = None if self._asking is asking else self._asking
                mine = not asking.is_over
                if mine:
                    asking.is_over = True
                    self.wait_queues[0].remove(asking)
            if mine:
                asking.end(error)
            go_on()

        def go_on() -> None:
            if not (here and threading.get_ident() == thread):  # otherwise `_go_on` on this thread continues
                self._go_on()

        asking.queue.dequeue(asking.step, receive, end)

    def _withdraw(self, attempt: Attempt) -> None:
        super()._withdraw(attempt)
        with self.lock:
            if self._asking is attempt:
                self._asking = None
        self._go_on()

    def next_record(self) -> Record | errors.OpError | None:
        """Returns the next record, or None at the end of a file or if there is no file; the lock is held."""
        if self._error is not None:
            return self._error
        try:
            if self._records is None:
                if not self._names:
                    return None
                self._name = self._names.popleft()
                self._records = self.records(self._name)
                self.work_started += 1
            with _typed_errors(self._name):
                record = next(self._records, None)
        except errors.OpError as error:
            if isinstance(error, errors.DataLossError) or self.is_single_record:
                self._error = error
            else:
                self._records = None  # the next read continues with another file
                self.work_started -= 1
            return error
        if record is not None:
            self.records_produced += 1
        if record is None or self.is_single_record:
            self._records = None
            self.work_finished = self.work_started
        return record

    @property
    def has_work(self) -> bool:
        return self._records is not None or self._error is not None or bool(self._names)

    # -- state --------------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        with self.lock:
            self._forget_work()

    def forget(self) -> None:
        self._names.clear()
        self._forget_work()

    def serialized(self) -> bytes:
        """Returns the serialized state of the reader between two files."""
        self._require_state("SerializeState")
        with self.lock:
            numbers = (self.work_started, self.work_finished, self.records_produced)
            fields = [bytes([8 * i]) + _varint(number) for i, number in enumerate(numbers, 1) if number]
            if self._name:
                fields.append(b"\x22" + _varint(len(self._name)) + self._name)
            return b"".join(fields)

    def restore(self, state: bytes) -> None:
        """Restores the state of another reader of this type."""
        self._require_state("RestoreState")
        try:
            numbers, name = _parsed(state)
        except (IndexError, ValueError):
            raise self._bad_state(state) from None
        if not 0 <= numbers[1] <= numbers[0] or numbers[2] < 0 or (numbers[1] < numbers[0] and not name):
            raise self._bad_state(state)
        with self.lock:
            self._forget_work()
            self.work_started, self.work_finished, self.records_produced = numbers
            self._name = name
            if self.work_finished < self.work_started:
                self._records = self.records(name)

    def _require_state(self, what: str) -> None:
        if not self.is_single_record:
            raise errors.UnimplementedError(None, None, f"{self.kind} {self.name!r} does not support {what}")

    def _bad_state(self, state: bytes) -> errors.InvalidArgumentError:
        shown = state[:40].decode("utf-8", "backslashreplace")
        return errors.invalid(f"Could not parse state for {self.kind} {self.name!r}: {shown}")

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r}"


class _Read(Attempt):
    """A request for records."""

    __slots__ = ("_count", "_reader", "_records", "queue", "step")

    def __init__(self, reader: Reader, queue: Queue, count: int | None, step: Step, finish: Finish, fail: Fail) -> None:
        super().__init__(step, finish, fail)
        self.step = step
        self.queue = queue
        self._reader = reader
        self._count = count
        self._records: list[Record] = []

    def advance(self) -> Outcome:
        count = 1 if self._count is None else self._count
        while len(self._records) < count:
            if not self._reader.has_work:
                if not self._records:
                    return NO_PROGRESS
                break
            record = self._reader.next_record()
            if isinstance(record, errors.OpError):
                return record
            if record is not None:
                self._records.append(record)
            elif self._records:
                break  # a batch does not cross the end of a file
        if self._count is None:
            return self._records[0]
        return [key for key, _ in self._records], [value for _, value in self._records]


class IdentityReader(Reader):
    """Returns the file names themselves as records."""

    kind = "IdentityReader"
    is_single_record = True

    def records(self, name: bytes) -> Iterator[Record]:
        yield name, name


class WholeFileReader(Reader):
    """Returns each file as one record."""

    kind = "WholeFileReader"
    is_single_record = True

    def records(self, name: bytes) -> Iterator[Record]:
        source, file = open_source(name)
        with file:
            yield name, source.read(-1)


class TextLineReader(Reader):
    """Returns the lines of text files, without line endings."""

    kind = "TextLineReader"

    def records(self, name: bytes) -> Iterator[Record]:
        (skipped,) = self.settings
        _, file = open_source(name)
        with file:
            for number, line in enumerate(file, 1):
                if number > skipped:
                    yield b"%s:%d" % (name, number), line.removesuffix(b"\n").removesuffix(b"\r")


class FixedLengthRecordReader(Reader):
    """Returns records of fixed length, `hop` bytes apart, between a header and a footer."""

    kind = "FixedLengthRecordReader"

    def records(self, name: bytes) -> Iterator[Record]:
        header, length, footer, hop, encoding = self.settings
        source, file = open_source(name, encoding)
        with file:
            if len(source.read(header)) < header:
                return
            window = b""
            for number in itertools.count():
                window += source.read(length + footer - len(window))
                if len(window) < length + footer:
                    return
                yield b"%s:%d" % (name, number), window[:length]
                if hop <= len(window):
                    window = window[hop:]
                else:
                    _skip(source, hop - len(window))
                    window = b""


def _skip(source: Source, size: int) -> None:
    while size > 0:
        skipped = len(source.read(min(size, 1 << 18)))
        if not skipped:
            return
        size -= skipped


class TFRecordReader(Reader):
    """Returns the records of TFRecord files."""

    kind = "TFRecordReader"

    def records(self, name: bytes) -> Iterator[Record]:
        (compression,) = self.settings
        for position, record in records_of(name, compression):
            yield b"%s:%d" % (name, position), record


class LMDBReader(Reader):
    """Returns the keys and values of LMDB databases, each a folder or one file."""

    kind = "LMDBReader"

    def records(self, name: bytes) -> Iterator[Record]:
        try:
            import lmdb
        except ImportError:
            text = f"{self} requires the package lmdb: pip install 'thalweg[lmdb]'"
            raise errors.UnimplementedError(None, None, text) from None
        path = os.fsdecode(name)
        if not os.path.exists(path):
            raise errors.NotFoundError(None, None, f"{path}: no such file or folder")
        try:
            environment = lmdb.open(path, subdir=os.path.isdir(path), readonly=True, lock=False)
        except lmdb.Error as error:
            raise errors.invalid(f"{path} is not an LMDB database: {error}") from None
        with environment, environment.begin() as transaction, transaction.cursor() as cursor:
            for key, value in cursor:
                yield bytes(key), bytes(value)


def _varint(number: int) -> bytes:
    result = bytearray()
    while number > 127:
        result.append(number & 127 | 128)
        number >>= 7
    result.append(number)
    return bytes(result)


def _parsed(state: bytes) -> tuple[list[int], bytes]:
    """Returns the three counters and the file name of a state; raises ValueError or IndexError if it is malformed."""
    numbers, name, position = [0, 0, 0], b"", 0

    def varint() -> int:
        nonlocal position
        result = shift = 0
        while True:
            byte = state[position]
            position += 1
            result |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return result
            if shift > 63:
                raise ValueError

    while position < len(state):
        field, kind = divmod(varint(), 8)
        if kind == 0 and 1 <= field <= 3:
            numbers[field - 1] = varint()
        elif kind == 2 and field == 4:
            length = varint()
            name = state[position : position + length]
            position += length
            if position > len(state):
                raise ValueError
        else:
            raise ValueError
    return numbers, name
