"""Kernel of CSV record parsing."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import invalid
from thalweg._src.base.formats.objects import object_array
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.decoding import number_tensor, parse_number
from thalweg._src.runtime.kernels.registry import Call, Input, kernel
from thalweg._src.runtime.kernels.strings import as_bytes
from thalweg._src.runtime.resources.devices import Device

Array = np.ndarray[Any, Any]


class _Reader:
    """Splits records into fields as in RFC 4180, one record per string."""

    def __init__(self, delimiter: bytes, quotes: bool, columns: tuple[int, ...]) -> None:
        self._delimiter = delimiter
        self._quotes = quotes
        self._columns = columns
        self._forbidden = re.compile(b'["\r\n]' if quotes else b"[\r\n]")
        # A quoted field ends with a quote before a delimiter or the end; a quote inside is doubled.
        self._quoted = re.compile(b'"((?:[^"]|"")*)"(?:' + re.escape(delimiter) + b"|$)".replace(b"$", rb"\Z"))

    def fields(self, record: bytes) -> list[bytes]:
        """Returns the fields of a record, or those of the selected columns."""
        simple = not self._forbidden.search(record)
        if simple and record:
            fields = record.split(self._delimiter)
        else:
            fields = self._carefully(record)
        if not self._columns:
            return fields
        return [fields[column] for column in self._columns if column < len(fields)]

    def _carefully(self, record: bytes) -> list[bytes]:
        fields: list[bytes] = []
        position = 0
        last = self._columns[-1] + 1 if self._columns else -1
        while len(fields) != last:
            while record[position : position + 1] in (b"\n", b"\r"):
                position += 1  # line breaks before a field are ignored
            if position >= len(record):
                if record.endswith(self._delimiter):
                    fields.append(b"")
                break
            if self._quotes and record[position] == 0x22:
                match = self._quoted.match(record, position)
                if match is None:
                    raise invalid(
                        "a quoted field is not closed: expected a quote before the delimiter or the end, "
                        "and each quote inside doubled"
                    )
                fields.append(match[1].replace(b'""', b'"'))
                position = match.end() + (match.end() == len(record) and not match[0].endswith(self._delimiter))
                continue
            end = record.find(self._delimiter, position)
            end = len(record) if end < 0 else end
            field = record[position:end]
            if self._forbidden.search(field):
                raise invalid("an unquoted field contains a quote or a line break; hint: quote the field")
            fields.append(field)
            position = end + 1
        return fields


@kernel("DecodeCSV", devices=("CPU",))
def bind_decode_csv(node: Node, device: Device) -> Call:
    attrs = node.attrs
    types, missing = attrs["OUT_TYPE"], as_bytes(attrs["na_value"])
    reader = _Reader(as_bytes(attrs["field_delim"]), attrs["use_quote_delim"], attrs["select_cols"])

    def decode(records: Array, defaults: list[Any]) -> Any:
        rows = [reader.fields(record) for record in records.ravel().tolist()]
        for index, row in enumerate(rows):
            if len(row) != len(types):
                raise invalid(f"Expect {len(types)} fields but have {len(row)} in record {index}")
        columns = zip(*rows) if rows else [()] * len(types)
        results = [
            _column(field, list(texts), dtype, _default(field, default), missing, records.shape)
            for field, (texts, dtype, default) in enumerate(zip(columns, types, defaults))
        ]
        return results[0] if len(results) == 1 else results

    return Call(decode, (Input(0), [Input(i) for i in range(1, len(node.inputs))]))


def _default(field: int, default: Any) -> list[Any]:
    values = default.ravel().tolist()
    if default.ndim > 1 or len(values) > 1:
        raise invalid(f"expected at most one default for field {field}, received {len(values)}")
    return values  # type: ignore[no-any-return]


def _column(field: int, texts: list[bytes], dtype: DType, default: list[Any], missing: bytes, shape: Any) -> Any:
    absent = [not text or text == missing for text in texts]
    if not default and any(absent):
        raise invalid(f"record {absent.index(True)} has no value for field {field}, which has no default")
    if dtype is dtypes.string:
        return object_array([default[0] if gone else text for text, gone in zip(texts, absent)], shape)
    numbers = [default[0] if gone else parse_number(text, dtype) for text, gone in zip(texts, absent)]
    if None in numbers:
        record = numbers.index(None)
        shown = texts[record][:200].decode("utf-8", "backslashreplace")
        raise invalid(f"Field {field} in record {record} is not a valid {dtype.name}: {shown}")
    return number_tensor(numbers, dtype, shape)
