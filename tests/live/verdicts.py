#!/usr/bin/env python3
"""Compares spanscope's verdicts with faults of known size.

A program (progs/verdicts) plants a fault, measures by itself how large it is, and dies. The
verdict on the fault must be there and have as many bytes, at three sizes; the same program
without the fault must not show it. See live.py for how cores are taken, and for the lines.
"""

import dataclasses
import sys

import live
from programs import Program

RELEASES = ["1.19", "1.22", "1.24", "1.27"]
SCALES = [1, 4, 16]
TOLERANCE = 0.02


@dataclasses.dataclass(frozen=True)
class Fault:
    """verdict: its id. mib: the size to plant, in MiB, the smallest of three. dumps: those of the
    smallest size; larger ones are left to the kernel. only: the releases that have the fault; in
    others it must not show. environment, calm: variables of the program and of its control.
    check: yields what else is wrong, given the verdict and the truth."""
    verdict: str
    mib: int
    dumps: tuple = ("kernel",)
    only: tuple = tuple(RELEASES)
    environment: tuple = ()
    calm: tuple = ()
    check: callable = lambda verdict, truth: ()


def slots_of_64(verdict, truth):
    evidence = verdict["evidence"]
    if evidence["slot_bytes"] != 64:
        yield f"slots of {evidence['slot_bytes']} bytes, planted 64"
    yield from near("reclaimable", evidence["reclaimable"], truth["gap_bytes"])


FAULTS = {
    "idle": Fault("idle-retained", 16),
    "released": Fault("released-resident", 16, environment=(("GODEBUG", "madvdontneed=0"),),
                      calm=(("GODEBUG", "madvdontneed=1"),)),
    "sparse": Fault("fragmentation", 16, dumps=("kernel", "gcore"), check=slots_of_64),
    "garbage": Fault("garbage", 16, dumps=("kernel", "gcore")),
    "limit": Fault("memory-limit", 16),
    "stacks": Fault("goroutine-stacks", 12),
    "ended": Fault("dead-goroutines", 4),
    "buckets": Fault("profile-buckets", 4),
    "spans": Fault("old-metadata", 2),
    "ballast": Fault("in-use-absent", 64),
    "cleared": Fault("never-written", 16, only=("1.24",)),
    "mapped": Fault("anonymous", 16),
}


@dataclasses.dataclass(frozen=True)
class Planted(live.Target):
    """One program with one fault; scale 0: the control of the smallest."""
    scale: int = 1

    @property
    def fault(self):
        return FAULTS[self.name]

    @property
    def program(self):
        fault = self.fault
        arguments = ("-case", self.name, "-size", str(fault.mib * max(self.scale, 1)))
        return Program(None, "verdicts", arguments if self.scale else (*arguments, "-control"),
                       frozen=False, environment=fault.environment if self.scale else fault.calm)

    def __str__(self):
        return f"{self.release} {self.name} {f'x{self.scale}' if self.scale else 'control'}"


def near(what, bytes_, planted):
    if abs(bytes_ - planted) > TOLERANCE * planted:
        yield f"{what} {bytes_}, planted {planted}"


def check(target, overview, known):
    """What is wrong with the verdicts."""
    fault = target.fault
    found = {verdict["id"]: verdict for verdict in overview["verdicts"]}
    verdict = found.get(fault.verdict)
    if not target.scale or target.release not in fault.only:
        if verdict:
            yield f"{fault.verdict} without its cause: {verdict['bytes']}"
    elif not verdict:
        yield f"no {fault.verdict}, planted {known['planted_bytes']}; there is {list(found)}"
    else:
        yield from near(fault.verdict, verdict["bytes"], known["planted_bytes"])
        yield from fault.check(verdict, known)


def run_test(target, dump, folder, options):
    _, known, tool = live.take(target, dump, folder, options, live.start(target))
    if tool:
        yield from check(target, tool.json("overview"), known)
        yield from live.check_overview(tool)


def select(options):
    for release in options.releases:
        for name in options.programs:
            fault = FAULTS[name]
            for scale in [0, *SCALES] if release in fault.only else [SCALES[0]]:
                dumps = fault.dumps if scale == SCALES[0] else ("kernel",)
                for dump in dumps:
                    if dump in options.dumps:
                        yield Planted(release, "static", name, scale), dump


def main():
    options = live.prepare(__doc__, FAULTS, RELEASES)
    return live.conclude("verdicts", live.run_tests(list(select(options)), options, run_test))


if __name__ == "__main__":
    sys.exit(main())
