"""Reads and changes pprof's heap profiles (profile.proto), as far as the tests need."""

import gzip

SAMPLE_TYPE, SAMPLE, STRING, TIME = 1, 2, 6, 9
VALUE = 2  # of a sample
TYPE = 1   # of a sample type


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def encoded(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def fields(data):
    """Yields number, value and the bytes of each field; a value is an integer or bytes."""
    at = 0
    while at < len(data):
        start = at
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise ValueError(f"field of wire type {key & 7} in a profile")
        yield key >> 3, value, data[start:at]


def numbers(value):
    """A repeated integer, packed or not."""
    if isinstance(value, int):
        return [value]
    out, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        out.append(number)
    return out


def field(message, wanted):
    return [value for number, value, _ in fields(message) if number == wanted]


def inuse_space(path):
    """The sum of a heap profile's inuse_space."""
    data = gzip.decompress(path.read_bytes())
    strings = field(data, STRING)
    names = [strings[field(kind, TYPE)[0]] for kind in field(data, SAMPLE_TYPE)]
    column = names.index(b"inuse_space")
    return sum([number for value in field(sample, VALUE) for number in numbers(value)][column]
               for sample in field(data, SAMPLE))


def time(path):
    """When it was taken, in nanoseconds of Unix time."""
    return field(gzip.decompress(path.read_bytes()), TIME)[0]


def with_time(path, nanoseconds):
    """Writes a copy that claims to be of another time; returns its path."""
    data = gzip.decompress(path.read_bytes())
    parts = [raw for number, _, raw in fields(data) if number != TIME]
    copy = path.with_name(f"profile.{nanoseconds}")
    copy.write_bytes(gzip.compress(b"".join([*parts, encoded(TIME << 3), encoded(nanoseconds)])))
    return copy
