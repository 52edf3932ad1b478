"""Profiles that spanscope makes, beside those that the process wrote itself."""

import gzip
import pathlib
import sys

from heap_profile import field, fields, numbers
from tool import Failure


class Profile:
    """A decoded profile.proto. Names stand in place of indices; a stack is a tuple of locations,
    each an address, the number of its mapping, and its calls: function, file, line, first line."""

    def __init__(self, path):
        self.data = gzip.decompress(pathlib.Path(path).read_bytes())
        self.names = [name.decode() for name in field(self.data, 6)]
        self.types = [self.value_type(each) for each in field(self.data, 1)]
        self.period_type = [self.value_type(each) for each in field(self.data, 11)]
        self.period = self.number(self.data, 12)
        self.comments = [self.names[n] for value in field(self.data, 13) for n in numbers(value)]
        self.default_type = self.name(self.data, 14)
        self.mappings = [self.mapping(each) for each in field(self.data, 3)]
        functions = {self.number(each, 1): each for each in field(self.data, 5)}
        self.locations = {self.number(each, 1): self.location(each, functions)
                          for each in field(self.data, 4)}
        self.samples = [self.sample(each) for each in field(self.data, 2)]

    @staticmethod
    def number(message, wanted):
        return (field(message, wanted) or [0])[0]

    def name(self, message, wanted):
        return self.names[self.number(message, wanted)]

    def value_type(self, message):
        return self.name(message, 1), self.name(message, 2)

    def mapping(self, message):
        return (*(self.number(message, n) for n in (2, 3, 4)), self.name(message, 5),
                self.name(message, 6), self.number(message, 7))

    def location(self, message, functions):
        calls = []
        for line in field(message, 4):
            function = functions[self.number(line, 1)]
            calls.append((self.name(function, 2), self.name(function, 4), self.number(line, 2),
                          self.number(function, 5)))
        return self.number(message, 3), self.number(message, 2), tuple(calls)

    def sample(self, message):
        """Its values, labels and stack."""
        values, stack = ([n for value in field(message, number) for n in numbers(value)]
                         for number in (2, 1))
        labels = tuple((self.name(label, 1), self.number(label, 3)) for label in field(message, 3))
        signed = tuple(n - (1 << 64) if n >> 63 else n for n in values)
        return signed, labels, tuple(self.locations[n] for n in stack)

    def total(self, kind):
        """The sum of the values of a type."""
        column = [each[0] for each in self.types].index(kind)
        return sum(values[column] for values, _, _ in self.samples)


def made(tool, kind, *more):
    """The profile that spanscope makes of the core."""
    path = tool.core.with_name(f"made.{kind}")
    result = tool.run("profile", kind, *more, "-o", path.name)
    if result.returncode:
        raise Failure(f"profile {kind}: exit status {result.returncode}: {result.stderr}")
    return Profile(path)


def shown(sample):
    values, labels, stack = sample
    return f"{values} {labels} {[(hex(a), m, c) for a, m, c in stack]}"


def differences(name, own, ours):
    """What is not as in the profile that the process wrote. Writing it was sampled too, at sites
    that nothing is known of yet: these are in the core alone."""
    for what in ("types", "period_type", "period", "default_type", "mappings"):
        if getattr(own, what) != getattr(ours, what):
            yield f"{name}: {what}: {getattr(ours, what)}, the process has {getattr(own, what)}"
    known = iter(own.samples)
    wanted = next(known, None)
    for sample in ours.samples:
        if sample == wanted:
            wanted = next(known, None)
        elif any(sample[0]):
            yield f"{name}: {shown(sample)} where the process has {wanted and shown(wanted)}"
            return
    if wanted:
        yield f"{name}: {shown(wanted)} is missing"


def heap(tool, truth, dump):
    """Sample by sample the heap profile that the process wrote before it ended."""
    own = Profile(tool.core.with_name("profile"))
    ours = made(tool, "heap")
    yield from differences("heap", own, ours)
    if not own.samples:
        yield "heap: the process wrote an empty profile"


if __name__ == "__main__":
    for problem in differences("profile", Profile(sys.argv[1]), Profile(sys.argv[2])):
        print(problem)
