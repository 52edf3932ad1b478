#!/usr/bin/env python3
"""Compares spanscope's verdicts with faults of known size.

A program (progs/verdicts) plants a fault, measures by itself how large it is, and dies. The
verdict on the fault must be there and have as many bytes, at three sizes; the same program
without the fault must not show it. Where the program can follow the advice, that must give back
what the verdict says.

Another program (progs/profiled) writes its own heap profile: the table of the overview must begin
with the same figure, whether it comes from the core or from the profile. See live.py for how
cores are taken, and for the lines.
"""

import dataclasses
import re
import shutil
import sys

sys.dont_write_bytecode = True

import arguments
import heap_profile
import live
import swap
from programs import Program

RELEASES = ["1.19", "1.22", "1.24", "1.27"]
SCALES = [1, 4, 16]
TOLERANCE = 0.02
BOTH = ("kernel", "gcore")


@dataclasses.dataclass(frozen=True)
class Fault:
    """verdict: its id. mib: the size to plant, in MiB, the smallest of three. dumps: those of the
    smallest size; larger ones are left to the kernel. only: the releases that have the fault; in
    others it must not show. scales: times its size. releases: those that are tried. mends: whether
    the program can follow the advice, which must give back what the verdict says. environment,
    calm: variables of the program and of its control. options: of the overview. of: the part of the
    evidence that is the planted one. swap: it needs some; the kernel is asked before the dump, which
    brings the pages back in. check: yields what else is wrong, given the verdict and the truth."""
    verdict: str
    mib: int
    dumps: tuple = ("kernel",)
    only: tuple = tuple(RELEASES)
    mends: bool = False
    environment: tuple = ()
    calm: tuple = ()
    scales: tuple = tuple(SCALES)
    releases: tuple = tuple(RELEASES)
    options: tuple = ()
    of: str = None
    swap: bool = False
    check: callable = lambda verdict, truth: ()


def near(what, bytes_, planted):
    if abs(bytes_ - planted) > TOLERANCE * planted:
        yield f"{what} {bytes_}, planted {planted}"


def slots_of_64(verdict, truth):
    evidence = verdict["evidence"]
    if evidence["slot_bytes"] != 64:
        yield f"slots of {evidence['slot_bytes']} bytes, planted 64"
    yield from near("reclaimable", evidence["reclaimable"], truth["gap_bytes"])


def named_leak(verdict, truth):
    """Who waits, and who started it."""
    for name in ("main.descend", "chan receive"):
        if name not in verdict["summary"]:
            yield f"{name} is not in '{verdict['summary']}'"
    if "main.stacks" not in verdict["remedy"]:
        yield f"main.stacks is not in '{verdict['remedy']}'"


def all_of(part):
    """The evidence says that nearly all of it is of this sort, where that is known."""
    def check(verdict, truth):
        known = verdict["evidence"].get(part)
        if known is not None:
            yield from near(part, known, truth["planted_bytes"])
    return check


def none_of(part):
    def check(verdict, truth):
        if verdict["evidence"].get(part):
            yield f"{part} {verdict['evidence'][part]}"
    return check


FAULTS = {
    "idle": Fault("idle-retained", 8, BOTH, mends=True),
    "released": Fault("released-resident", 8, BOTH, environment=(("GODEBUG", "madvdontneed=0"),),
                      calm=(("GODEBUG", "madvdontneed=1"),), check=all_of("lazyfree")),
    "refilled": Fault("released-resident", 8, check=none_of("lazyfree")),
    "collapsed": Fault("released-resident", 8, check=all_of("huge")),
    "unwritten": Fault("idle-absent", 8),
    "zeros": Fault("zero-resident", 32, options=("--zero",), of="largest_class"),
    "swapped": Fault("swapped-heap", 8, ("gcore",), swap=True),
    "sparse": Fault("fragmentation", 16, BOTH, mends=True, check=slots_of_64),
    "garbage": Fault("garbage", 8, BOTH, mends=True),
    "limit": Fault("memory-limit", 8, BOTH),
    "stacks": Fault("goroutine-stacks", 8, BOTH),
    "leaked": Fault("goroutine-leak", 8, scales=(1,), releases=("1.19", "1.27"),
                    check=named_leak),
    "returned": Fault("goroutine-stacks", 8, mends=True),
    "ended": Fault("dead-goroutines", 4, BOTH),
    "threads": Fault("idle-threads", 8, BOTH, scales=(1, 4), of="idle"),
    "buckets": Fault("profile-buckets", 4, BOTH),
    "spans": Fault("old-metadata", 2, BOTH),
    "ballast": Fault("in-use-absent", 64),
    "cleared": Fault("never-written", 8, only=("1.24",)),
    "mapped": Fault("anonymous", 8, BOTH),
}


@dataclasses.dataclass(frozen=True)
class Planted(live.Target):
    """One program with one fault; scale 0: the control of the smallest. mend: with the advice
    followed."""
    scale: int = 1
    mend: bool = False

    @property
    def fault(self):
        return FAULTS[self.name]

    @property
    def program(self):
        fault = self.fault
        arguments = ("-case", self.name, "-size", str(fault.mib * max(self.scale, 1)))
        arguments += ("-control",) * (not self.scale) + ("-mend",) * self.mend
        return Program(None, "verdicts", arguments, frozen=False,
                       environment=fault.environment if self.scale else fault.calm,
                       exact=(self.release,) if fault.swap else ())

    def __str__(self):
        return f"{self.release} {self.name} {f'x{self.scale}' if self.scale else 'control'}"


def check_verdicts(target, overview, known):
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
        found = verdict["evidence"][fault.of] if fault.of else verdict["bytes"]
        yield from near(fault.verdict, found, known["planted_bytes"])
        yield from fault.check(verdict, known)


def check_gain(target, dump, overview, folder, options):
    """Follows the advice in another process: it must give back what the verdict says."""
    other = folder / "mended"
    other.mkdir()
    mended = dataclasses.replace(target, mend=True)
    _, known, _ = live.take(mended, dump, other, options, live.start(mended))
    shutil.rmtree(other)
    for verdict in overview["verdicts"]:
        if verdict["id"] == target.fault.verdict:
            yield from near(f"{verdict['id']} gives back", verdict["gain"], known["freed_bytes"])


# ---- heap profiles

# Arguments of progs/profiled.
PROFILED = {
    "profile": (),
    "profile-all": ("-rate", "1"),
    "profile-early": ("-collections", "0"),
}

HOUR = 3600 * 10**9
ANOTHER_BUILD, ANOTHER_TIME = "profile-of-another-build", "profile-of-another-time"


@dataclasses.dataclass(frozen=True)
class Profiled(live.Target):
    """One program that writes its heap profile."""

    @property
    def program(self):
        return Program(None, "profiled", PROFILED[self.name], frozen=False)


def pprof_total(profile):
    """What pprof itself prints as the total, or None where no release has it ready to run."""
    for release in live.RELEASES:
        for pprof in live.toolchain(release).glob("pkg/tool/*/pprof"):
            result = live.run([pprof, "-top", "-sample_index=inuse_space", "-unit=B", profile], 60)
            return int(re.search(r" of (\d+)B total", result.stdout)[1])
    return None


def overview_with(tool, profile):
    """The first step of the table, and the codes of what there is to say of the profile."""
    overview = tool.json("overview", "--heap-profile", str(profile.absolute()))
    return overview["waterfall"][0], {finding["code"] for finding in overview["diagnostics"]}


def check_profile(target, tool, folder, options):
    path = folder / "profile"
    total = heap_profile.inuse_space(path)
    expected = {"id": "pprof", "bytes": total, "cumulative": total}
    own = tool.json("overview")["waterfall"][0]
    if own != expected:
        yield f"the table begins with {own}, the profile has {total}"
    if pprof_total(path) not in (None, total):
        yield f"pprof shows {pprof_total(path)}, not {total}"
    written = heap_profile.time(path)
    others = [(path, set())]
    others += [(heap_profile.with_time(path, written + hours * HOUR // 2),
                {ANOTHER_TIME} if abs(hours) > 2 else set()) for hours in (-3, -1, 1, 3)]
    others += [(folder / "another", {ANOTHER_BUILD})]
    write_another(target, folder, options)
    for profile, doubts in others:
        first, found = overview_with(tool, profile)
        if first["bytes"] != heap_profile.inuse_space(profile):
            yield f"with {profile.name} the table begins with {first}"
        if found != doubts:
            yield f"of {profile.name} it says {found or 'nothing'}, not {doubts or 'nothing'}"


def write_another(target, folder, options):
    """Has another build of the program write its profile, beside the first."""
    release = RELEASES[RELEASES.index(target.release) - 1]
    other = folder / "other"
    other.mkdir()
    another = dataclasses.replace(target, release=release)
    live.take(another, "kernel", other, options, live.start(another))
    (other / "profile").rename(folder / "another")
    shutil.rmtree(other)


# ---- tests

def overview_of(target, tool):
    """With what the kernel said, where it was asked: the figures must be the same."""
    exact = ("--sidecar", str(tool.sidecar)) if tool.sidecar else ()
    if not exact and not target.fault.options:
        return tool.json("overview")
    return tool.run_json("overview", *target.fault.options, *exact)


def run_test(target, dump, folder, options):
    _, known, tool = live.take(target, dump, folder, options, live.start(target))
    if not tool:
        return
    if target.name in PROFILED:
        yield from check_profile(target, tool, folder, options)
    else:
        overview = overview_of(target, tool)
        yield from check_verdicts(target, overview, known)
        if target.fault.mends and target.scale:
            yield from check_gain(target, dump, overview, folder, options)
    yield from live.check_overview(tool)


def select(options):
    for release in options.releases:
        for name in options.programs:
            if name in PROFILED:
                yield Profiled(release, "static", name), "kernel"
                yield Profiled(release, "pie", name), "kernel"
                continue
            fault = FAULTS[name]
            if release not in fault.releases:
                continue
            for scale in [0, *fault.scales] if release in fault.only else [SCALES[0]]:
                dumps = fault.dumps if scale == SCALES[0] or fault.swap else ("kernel",)
                for dump in dumps:
                    if dump in options.dumps:
                        yield Planted(release, "static", name, scale), dump


def proofs(target, dump):
    return {"dwarf": ["profile" if target.name in PROFILED else "verdict"]}


def main():
    options = live.prepare(__doc__, [*FAULTS, *PROFILED], RELEASES)
    wanted = any(name in FAULTS and FAULTS[name].swap for name in options.programs)
    with swap.enabled(live.CACHE / "swap.lock", wanted) as possible:
        tests = [test for test in select(options)
                 if possible or test[0].name in PROFILED or not test[0].fault.swap]
        return arguments.conclude("verdicts", live.run_tests(tests, options, run_test, proofs))


if __name__ == "__main__":
    sys.exit(main())
