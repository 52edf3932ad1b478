"""Profiles that spanscope makes, beside those that the process wrote itself."""

import gzip
import os
import pathlib
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

from heap_profile import field, numbers
from tool import Failure, end, run

# The one whose pprof is built already; later ones build theirs when it is first asked for.
CACHES = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
CACHE = pathlib.Path(os.environ.get("SPANSCOPE_CACHE") or CACHES / "spanscope")
PPROF = CACHE / "toolchains" / "go1.24" / "bin" / "go"
TOOLS = {"GOENV": "off", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod", "GOPROXY": "off"}


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


def pprof(*arguments):
    """What Go's own tool prints of a profile."""
    environment = dict(os.environ, **TOOLS)
    result = run([PPROF, "tool", "pprof", *arguments], 60, env=environment)
    if result.returncode:
        raise Failure(f"pprof {arguments[0]}: {result.stderr}")
    return result.stdout


def accepted(tool, kind, *more):
    """pprof takes the file, and shows its total."""
    path = tool.core.with_name(f"made.{kind}")
    ours = Profile(path)
    kinds = [each for each, unit in ours.types if unit == "bytes"]
    for value in kinds:
        top = pprof("-top", f"-sample_index={value}", "-unit=B", path)
        total = re.search(r" of ([0-9]+)B total|, ([0-9]+)B total", top)
        if ours.total(value) and (not total or int(total[1] or total[2]) != ours.total(value)):
            yield f"pprof -top {kind} {value}: {top.splitlines()[:4]}, not {ours.total(value)}"
    if len(pprof("-raw", path).splitlines()) < len(ours.samples):
        yield f"pprof -raw {kind} is too short"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def shown_by_http(path, text):
    """The flame graph's page, which pprof serves on this machine, has the text."""
    address = f"127.0.0.1:{free_port()}"
    server = subprocess.Popen([PPROF, "tool", "pprof", "-no_browser", f"-http={address}", path],
                              env=dict(os.environ, **TOOLS), stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              start_new_session=True)
    limit = time.monotonic() + 30
    try:
        while time.monotonic() < limit:
            try:
                with urllib.request.urlopen(f"http://{address}/ui/flamegraph", timeout=30) as page:
                    return text in page.read().decode()
            except urllib.error.URLError:
                time.sleep(0.1)
        return False
    finally:
        end(server)


def heap(tool, truth, dump):
    """Sample by sample the heap profile that the process wrote before it ended."""
    own = Profile(tool.core.with_name("profile"))
    ours = made(tool, "heap")
    yield from differences("heap", own, ours)
    if not own.samples:
        yield "heap: the process wrote an empty profile"
    yield from accepted(tool, "heap")
    difference = pprof("-top", "-unit=B", "-sample_index=alloc_space", "-diff_base",
                       tool.core.with_name("profile"), tool.core.with_name("made.heap"))
    if re.search(r"^ +-?[1-9]", difference, re.M):
        yield f"pprof -diff_base: {difference}"
    yield from memory(tool, truth, dump)


def contention(tool, truth, dump):
    """What the process wrote of contentions; where it went on to wait, ours has more."""
    for kind in ("block", "mutex"):
        own, ours = Profile(tool.core.with_name(kind)), made(tool, kind)
        for what in ("types", "period_type", "period", "mappings"):
            if getattr(own, what) != getattr(ours, what):
                yield f"{kind}: {what}: {getattr(ours, what)}, the process has {getattr(own, what)}"
        known = {}
        for values, labels, stack in ours.samples:
            known.setdefault((labels, stack), []).append(values)
        for values, labels, stack in own.samples:
            found = known.get((labels, stack), [])
            program = any("main.contend" in call[0] for _, _, calls in stack for call in calls)
            if not any(each == values or (not program and each >= values) for each in found):
                yield f"{kind}: {shown((values, labels, stack))}, ours has {found}"
        if not own.samples:
            yield f"{kind}: the process wrote an empty profile"
    yield from heap(tool, truth, dump)


def folded_total(tool, kind, value):
    """The sum of a profile's folded lines."""
    lines = tool.output("profile", kind, "--format", "folded", "--sample", value).splitlines()
    return sum(int(line.rsplit(" ", 1)[1]) for line in lines)


def memory(tool, truth, dump):
    """All sums are those of the ledger, to the byte; each class that goes by sites or stacks has
    its own again."""
    ledger, classes = tool.json("ledger")["total"], tool.classes()
    ours, stacks = made(tool, "memory"), made(tool, "stacks")
    sums = {}
    for values, _, stack in ours.samples:
        names = [calls[0][0] for address, _, calls in stack[-2:] if not address]
        if "[claimed twice]" in names:
            yield f"memory: {values} are claimed twice"
        group = names[0] if names[0].startswith("[go.heap") else names[-1]
        before = sums.get(group, (0, 0))
        sums[group] = before[0] + values[0], before[1] + values[1]
    for column, value in (("virtual", "virtual"), ("resident", "resident")):
        if ours.total(value) != ledger[column]:
            yield f"memory: {value} {ours.total(value)}, the ledger has {ledger[column]}"
        of_stacks = sum(classes[f"go.stack.{each}"][column]
                        for each in ("used", "unused", "system", "cached"))
        if stacks.total(value) != of_stacks:
            yield f"stacks: {value} {stacks.total(value)}, the ledger has {of_stacks}"
        for each in ("live", "fresh", "dead", "free", "tail"):
            found = sums.get(f"[go.heap.{each}]", (0, 0))[column == "resident"]
            if found != (classes[f"go.heap.{each}"][column] or 0):
                yield f"memory: {each} {value} {found}, not {classes[f'go.heap.{each}'][column]}"
    if ours.total("pinned") != classes["go.heap.free"]["virtual"]:
        yield f"memory: pinned {ours.total('pinned')}, not {classes['go.heap.free']['virtual']}"
    goroutines = tool.json("goroutines")["total"]["count"]
    if stacks.total("goroutines") != goroutines:
        yield f"stacks: goroutines {stacks.total('goroutines')}, not {goroutines}"
    for kind, value in (("memory", "resident"), ("stacks", "virtual")):
        profile = ours if kind == "memory" else stacks
        if folded_total(tool, kind, value) != profile.total(value):
            yield f"{kind}: folded {value} is not {profile.total(value)}"
        yield from accepted(tool, kind)


def off(tool, truth, dump):
    """Without samples that is said, and all else is there."""
    result = tool.run("profile", "heap", "--format", "text")
    if result.returncode or "MemProfileRate was 0" not in result.stdout:
        yield f"heap: {result.stdout}{result.stderr}"
    yield from memory(tool, truth, dump)


def pinned(tool, truth, dump):
    """The site whose objects keep the free slots is named; one that fills its spans is not."""
    document = tool.json("sizeclasses", "--pinned")
    rows = {}
    for row in document["pinned"]:
        name = row["site"].split(" ")[0]
        rows[name] = rows.get(name, 0) + row["pinned"]
    first, known = document["pinned"][0], truth["pinned_bytes"]
    if not first["site"].startswith("main.scatter ") or first["size"] != 64:
        yield f"sizeclasses: {first}"
    if not 0.7 * known <= rows["main.scatter"] <= 1.3 * known:
        yield f"sizeclasses: main.scatter {rows['main.scatter']}, not {known}"
    if rows.get("main.pack", 0) > 0.05 * known:
        yield f"sizeclasses: main.pack {rows['main.pack']}"
    profile = made(tool, "memory")
    for name, least, most in (("main.scatter", 0.7 * known, 1.3 * known),
                              ("main.pack", 0, 0.05 * known)):
        sums = [sum(values[column] for values, _, stack in profile.samples
                    if any(call[0] == name for _, _, calls in stack for call in calls))
                for column in (0, 2)]
        if not least <= sums[1] <= most:
            yield f"memory: {name} pins {sums[1]}, not {known}"
        if not 0.6 * truth["kept_bytes"] <= sums[0] <= 1.5 * truth["kept_bytes"]:
            yield f"memory: {name} has {sums[0]}, not {truth['kept_bytes']}"
    if truth["release"].startswith("go1.24") and not shown_by_http(
            tool.core.with_name("made.memory"), "main.scatter"):
        yield "pprof -http: no flame graph"
    yield from memory(tool, truth, dump)


if __name__ == "__main__":
    for problem in differences("profile", Profile(sys.argv[1]), Profile(sys.argv[2])):
        print(problem)
