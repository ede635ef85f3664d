"""Malformed messages: changes of bytes, of fields, and of protocol messages."""

import json
import struct

NUMBERS = (0, 1, 2, 7, 255, 256, 1 << 16, 1 << 24, 1 << 31, (1 << 32) - 1, 1 << 40, 1 << 62, 1 << 63, (1 << 64) - 1)


def bytes_like(chance, content):
    """Returns bytes with random changes."""
    mutant = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        _CHANGES[chance.randrange(len(_CHANGES))](chance, mutant)
    return bytes(mutant)


def _flip(chance, mutant):
    if mutant:
        mutant[chance.randrange(len(mutant))] ^= 1 << chance.randrange(8)


def _replace(chance, mutant):
    if mutant:
        mutant[chance.randrange(len(mutant))] = chance.randrange(256)


def _set_number(chance, mutant):
    width, form = chance.choice(((1, "<B"), (2, "<H"), (4, "<I"), (8, "<Q")))
    if len(mutant) >= width:
        place = chance.randrange(len(mutant) - width + 1)
        struct.pack_into(form, mutant, place, chance.choice(NUMBERS) & (1 << 8 * width) - 1)


def _cut(chance, mutant):
    del mutant[chance.randrange(len(mutant) + 1) :]


def _remove(chance, mutant):
    start = chance.randrange(len(mutant) + 1)
    del mutant[start : start + chance.choice((1, 4, 8, 16))]


def _insert(chance, mutant):
    place = chance.randrange(len(mutant) + 1)
    mutant[place:place] = chance.randbytes(chance.choice((1, 4, 8, 100)))


def _repeat(chance, mutant):
    start = chance.randrange(len(mutant) + 1)
    mutant[start:start] = mutant[start : start + chance.choice((8, 16, 32))]


_CHANGES = (_flip, _flip, _replace, _set_number, _set_number, _set_number, _cut, _remove, _insert, _repeat)


def fields_like(chance, value):
    """Returns fields of a message with one value of them replaced by another, of any type."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        name = chance.choice(list(value))
        return {**value, name: fields_like(chance, value[name])}
    if isinstance(value, list) and value and chance.random() < 0.7:
        place = chance.randrange(len(value))
        return [*value[:place], fields_like(chance, value[place]), *value[place + 1 :]]
    return _other(chance)


def _other(chance):
    numbers = chance.choice(NUMBERS), -chance.choice(NUMBERS)
    texts = "", "x" * 100_000, "\0", "\ud800", "/job:ps/task:0", "localhost:1"
    return chance.choice((None, True, -1, 1.5, float("nan"), [], {}, {"unknown": 1}, [1, "2"], _DEEP, *texts, *numbers))


def change_field(chance, message):
    """Sets a field of a protocol message to another value of its type; text in JSON is changed like fields."""
    field = chance.choice(message.DESCRIPTOR.fields) if message.DESCRIPTOR.fields else None
    if field is None:
        return
    if field.name.endswith("_json"):
        text = as_json(fields_like(chance, json.loads(getattr(message, field.name) or "{}")))
        setattr(message, field.name, chance.choice((text.decode(), text.decode()[:-1], "[]", "1", "x")))
    elif field.message_type is not None and field.message_type.GetOptions().map_entry:
        key, value = (_of_type(chance, each) for each in field.message_type.fields)
        getattr(message, field.name)[key] = value
    elif field.message_type is not None:
        nested = getattr(message, field.name)
        change_field(chance, nested.add() if hasattr(nested, "add") else nested)
    elif isinstance(getattr(message, field.name), str | bytes | bool | int | float):
        setattr(message, field.name, _of_type(chance, field))
    else:
        getattr(message, field.name).extend([_of_type(chance, field)] * chance.choice((1, 2, 1000)))


def _of_type(chance, field):
    if field.type == field.TYPE_STRING:
        return chance.choice(
            ("", "x" * 100_000, "\0", "a;b;c", "/job:ps/task:0", "/job:ps/replica:0/task:0", "localhost:1")
        )
    if field.type == field.TYPE_BYTES:
        return chance.randbytes(chance.choice((0, 1, 8, 1000)))
    if field.type == field.TYPE_BOOL:
        return chance.random() < 0.5
    bits = 31 if field.type == field.TYPE_INT32 else 63
    number = chance.choice(NUMBERS) & ((1 << bits) - 1)
    return number if field.type == field.TYPE_UINT64 or chance.random() < 0.5 else -number


_DEEP = "many lists in lists"


def as_json(fields):
    """Returns fields as text, with more lists in lists than Python itself can write."""
    depth = 20_000
    return json.dumps(fields).replace(f'"{_DEEP}"', "[" * depth + "]" * depth).encode()
