#!/usr/bin/env python3
"""Compares spanscope with the truth of real Go processes.

For each Go release, build mode and program below progs/ this builds the program, lets it
write down its truth (see progs/truth), takes a core of it by the kernel and by gcore, and
checks what spanscope says of that core. One line a test:

    ok 1.24 static quiet kernel
    not ok 1.24 static quiet gcore: reason
    skip 1.24 cgo cgo gcore: reason

The toolchains are those of scripts/fetch-toolchains. Cores by the kernel need a core_pattern
that is a plain file name: run this by scripts/with-core-pattern.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import hashlib
import json
import os
import pathlib
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

PROGS = pathlib.Path(__file__).resolve().parent / "progs"
CACHES = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
CACHE = pathlib.Path(os.environ.get("SPANSCOPE_CACHE") or CACHES / "spanscope")

RELEASES = ["1.19", "1.21", "1.22", "1.23", "1.24", "1.25", "1.26", "1.27"]
PROGRAMS = ["quiet", "fragmented", "idle", "cgo"]
DUMPS = ["kernel", "gcore"]
EVIDENCE = {"kernel": "populated", "gcore": "nonzero"}

# Build mode: flags of `go build`, and the programs that are built so.
MODES = {
    "static": (["-buildmode=exe"], ["quiet", "fragmented", "idle"]),
    "pie": (["-buildmode=pie"], ["quiet"]),
    "cgo": (["-buildmode=exe"], ["cgo"]),
}

TEST_SECONDS = 120
BUILD_SECONDS = 600
TEXT_COLUMNS = 100

# What coredump_filter(5) calls the default: anonymous memory, ELF headers, huge pages.
CORE_FILTER = 0x33

# The fields that everything else stands on.
MEMSTATS_MAIN = ["HeapAlloc", "HeapInuse", "HeapIdle", "HeapReleased", "StackInuse", "HeapSys",
                 "HeapObjects"]
# Fields that nothing moves between the program's last reading and its dump.
MEMSTATS_ALSO = ["Alloc", "StackSys", "MSpanInuse", "MSpanSys", "MCacheInuse", "MCacheSys",
                 "BuckHashSys", "GCSys", "OtherSys", "Sys", "NextGC", "NumGC", "NumForcedGC",
                 "Mallocs", "Frees", "TotalAlloc", "BySize", "PauseNs", "PauseEnd",
                 "PauseTotalNs", "LastGC"]

COLUMNS = ["virtual", "resident", "swapped", "absent", "unknown", "zero", "huge", "lazyfree"]
STATES = ["resident", "swapped", "absent", "unknown"]

# Sums of ledger classes (virtual) and the MemStats figure that each must equal.
LEDGER_TWINS = [
    (["go.heap.live", "go.heap.fresh", "go.heap.dead", "go.heap.undecided"],
     "HeapAlloc", lambda t: t["HeapAlloc"]),
    (["go.heap.free", "go.heap.tail"],
     "HeapInuse-HeapAlloc", lambda t: t["HeapInuse"] - t["HeapAlloc"]),
    (["go.idle.retained"],
     "HeapIdle-HeapReleased", lambda t: t["HeapIdle"] - t["HeapReleased"]),
    (["go.idle.released"], "HeapReleased", lambda t: t["HeapReleased"]),
    (["go.stack.used", "go.stack.unused", "go.stack.system", "go.stack.cached"],
     "StackInuse", lambda t: t["StackInuse"]),
]


class Failure(Exception):
    """The test cannot go on."""


@dataclasses.dataclass(frozen=True)
class Target:
    """One executable to be tested."""
    release: str
    mode: str
    program: str

    def __str__(self):
        return f"{self.release} {self.mode} {self.program}"


# ---- processes

def run(command, seconds, **options):
    """Runs a command in a process group of its own, which dies with the time limit."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, encoding="utf-8", errors="replace",
                             start_new_session=True, **options)
    try:
        out, err = child.communicate(timeout=max(seconds, 0.1))
    except subprocess.TimeoutExpired:
        raise Failure(f"time limit: {describe(command)}") from None
    finally:
        end(child)
    return subprocess.CompletedProcess(command, child.returncode, out, err)


def end(child):
    """Kills a child with its process group, unless it has ended by itself."""
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def describe(command):
    return " ".join(pathlib.Path(word).name for word in map(str, command[:3]))


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else "no message"


# ---- executables

def toolchain(release):
    return CACHE / "toolchains" / f"go{release}"


def source_hash(target):
    """Identifies what an executable is made from, so that it is built once."""
    digest = hashlib.sha256(repr((target, MODES[target.mode])).encode())
    digest.update((toolchain(target.release) / "VERSION").read_bytes())
    for path in sorted(PROGS.rglob("*")):
        if path.is_file():
            digest.update(f"{path.relative_to(PROGS)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def go_environment(target):
    keep = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    return keep | {
        "CGO_ENABLED": "1" if target.mode == "cgo" else "0",
        "GO111MODULE": "on",
        "GOCACHE": str(CACHE / "gocache" / f"go{target.release}"),
        "GOENV": "off",
        "GOFLAGS": "-mod=mod",
        "GOPATH": str(CACHE / "gopath"),
        "GOPROXY": "off",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }


BUILDING = collections.defaultdict(threading.Lock)


def executable(target):
    """Returns the path of the executable, which is built unless it is in the cache."""
    exe = CACHE / "live" / source_hash(target) / target.program
    with BUILDING[target]:
        if not exe.exists():
            build(target, exe)
    return exe


def build(target, exe):
    exe.parent.mkdir(parents=True, exist_ok=True)
    fresh = exe.with_name(f"{exe.name}.{os.getpid()}")
    flags, _ = MODES[target.mode]
    result = run([toolchain(target.release) / "bin" / "go", "build", *flags, "-buildvcs=false",
                  "-o", fresh, f"./{target.program}"],
                 BUILD_SECONDS, cwd=PROGS, env=go_environment(target))
    if result.returncode:
        raise Failure(f"go build: {last_line(result.stderr)}")
    fresh.rename(exe)


# ---- the truth

class MemStats:
    """The raw bytes of runtime.MemStats, whose layout is the same in all releases."""
    words = ["Alloc", "TotalAlloc", "Sys", "Lookups", "Mallocs", "Frees", "HeapAlloc", "HeapSys",
             "HeapIdle", "HeapInuse", "HeapReleased", "HeapObjects", "StackInuse", "StackSys",
             "MSpanInuse", "MSpanSys", "MCacheInuse", "MCacheSys", "BuckHashSys", "GCSys",
             "OtherSys", "NextGC", "LastGC", "PauseTotalNs"]
    pauses = 256
    classes = 61
    # words, PauseNs, PauseEnd; NumGC, NumForcedGC, GCCPUFraction, EnableGC, DebugGC, padding
    head = struct.Struct(f"<{len(words) + 2 * pauses}Q2Id2?6x")
    by_size = struct.Struct("<I4x2Q")
    size = head.size + classes * by_size.size

    @classmethod
    def decode(cls, raw):
        values = cls.head.unpack_from(raw)
        count = len(cls.words)
        stats = dict(zip(cls.words, values))
        stats["PauseNs"] = list(values[count:count + cls.pauses])
        stats["PauseEnd"] = list(values[count + cls.pauses:count + 2 * cls.pauses])
        names = ["NumGC", "NumForcedGC", "GCCPUFraction", "EnableGC", "DebugGC"]
        stats.update(zip(names, values[count + 2 * cls.pauses:]))
        stats["BySize"] = [dict(zip(("Size", "Mallocs", "Frees"), entry))
                           for entry in cls.by_size.iter_unpack(raw[cls.head.size:])]
        return stats


def read_truth(folder):
    """Returns what the program wrote down: its notes and MemStats in one dictionary."""
    truth = {}
    for line in (folder / "truth").read_text().splitlines():
        key, _, value = line.partition("=")
        truth[key] = int(value) if value.isdigit() else value
    return truth | MemStats.decode((folder / "truth.memstats").read_bytes())


def check_truth(target, truth):
    """The program must be the case that it is meant to be, whatever spanscope says."""
    if truth["HeapIdle"] + truth["HeapInuse"] != truth["HeapSys"]:
        yield "truth: HeapIdle + HeapInuse is not HeapSys"
    if target.program == "fragmented":
        if truth["HeapInuse"] - truth["HeapAlloc"] <= 0.6 * truth["HeapInuse"]:
            yield "truth: the heap is not fragmented"
    if target.program == "idle":
        if truth["HeapIdle"] - truth["HeapReleased"] <= 0.5 * truth["HeapSys"]:
            yield "truth: the idle heap was not retained"


# ---- cores

def take_core(exe, dump, folder, deadline):
    """Runs the program in the folder until it is dumped; returns the path of the core."""
    argument = {"kernel": "abort", "gcore": "wait"}[dump]
    environment = {"PATH": os.environ.get("PATH", os.defpath), "GOTRACEBACK": "crash"}
    with open(folder / "output", "wb") as output:
        child = subprocess.Popen([exe, "-dump", argument, "-truth", "truth"], cwd=folder,
                                 env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                 stderr=output, start_new_session=True)
    try:
        if dump == "kernel":
            await_abort(child, deadline)
        else:
            await_truth(child, folder / "truth.memstats", deadline)
            gcore(child.pid, folder, deadline)
    finally:
        end(child)
    return find_core(folder).rename(folder / f"{dump}.core")


def await_abort(child, deadline):
    try:
        status = child.wait(max(deadline - time.monotonic(), 0.1))
    except subprocess.TimeoutExpired:
        raise Failure("time limit: the program") from None
    if status != -signal.SIGABRT:
        raise Failure(f"the program ended with status {status}, not by SIGABRT")


def await_truth(child, path, deadline):
    """Waits for the program's last system call before it stands still."""
    while not path.exists() or path.stat().st_size < MemStats.size:
        if child.poll() is not None:
            raise Failure(f"the program ended with status {child.returncode}")
        if time.monotonic() > deadline:
            raise Failure("time limit: the program")
        time.sleep(0.01)
    time.sleep(0.05)


def gcore(pid, folder, deadline):
    result = run(["gcore", "-o", "core", str(pid)], deadline - time.monotonic(), cwd=folder,
                 env=dict(os.environ, DEBUGINFOD_URLS=""))
    if result.returncode:
        raise Failure(f"gcore: {last_line(result.stderr)}")


def find_core(folder):
    """The one ELF file in the folder, whatever core_pattern or gcore called it."""
    for path in folder.iterdir():
        with open(path, "rb") as file:
            if file.read(4) == b"\x7fELF":
                return path
    raise Failure("no core was written")


# ---- spanscope

class Tool:
    """spanscope on one core. Results are kept beside the core."""

    def __init__(self, path, core, deadline):
        self.path, self.core, self.deadline = path, core, deadline

    def output(self, *arguments):
        environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        result = run([self.path, *arguments, self.core.name], self.deadline - time.monotonic(),
                     cwd=self.core.parent, env=environment)
        name = arguments[0] if arguments else "text"
        self.core.with_name(f"{name}.out").write_text(result.stdout)
        if result.returncode:
            raise Failure(f"{name}: exit status {result.returncode}: {last_line(result.stderr)}")
        return result.stdout

    def json(self, command):
        try:
            document = json.loads(self.output(command, "--json"))
        except json.JSONDecodeError as error:
            raise Failure(f"{command}: stdout is not one JSON document: {error}") from None
        schema = f"spanscope/{command}/1"
        if document.get("schema") != schema:
            raise Failure(f"{command}: schema is {document.get('schema')!r}, not {schema!r}")
        return document


def check_memstats(document, truth):
    stats = document["memstats"]
    for name in MEMSTATS_MAIN:
        if stats.get(name) != truth[name]:
            yield difference(name, truth[name], stats.get(name))
    for name in MEMSTATS_ALSO:
        if name in stats and stats[name] != truth[name]:
            yield difference(name, truth[name], stats[name])
    if not document["checks"]:
        yield "memstats: no checks"
    for check in document["checks"]:
        if check["ok"] is not True:
            yield (f"check {check['name']}: walked {check['walked']},"
                   f" counter {check['counter']}")


def difference(name, truth, tool):
    """Names a field that differs; of an array, the first entry that does."""
    if isinstance(truth, list) and isinstance(tool, list):
        if len(truth) != len(tool):
            return f"{name}: {len(truth)} entries, spanscope has {len(tool)}"
        at = next(i for i, pair in enumerate(zip(truth, tool)) if pair[0] != pair[1])
        return f"{name}[{at}]: truth {truth[at]}, spanscope {tool[at]}"
    return f"{name}: truth {truth}, spanscope {tool}"


def check_ledger(document, truth, dump):
    classes = {row["id"]: row for row in document["classes"]}
    if len(classes) != len(document["classes"]):
        yield "ledger: a class is listed twice"
    for name, row in classes.items():
        states = sum(row[state] or 0 for state in STATES)
        if row["virtual"] != states:
            yield f"{name}: virtual {row['virtual']}, sum of its states {states}"
    for column in COLUMNS:
        known = [row[column] for row in classes.values() if row[column] is not None]
        total = sum(known) if known else None
        if document["total"][column] != total:
            yield (f"ledger: total {column} {document['total'][column]},"
                   f" sum of the classes {total}")
    for names, twin, figure in LEDGER_TWINS:
        size = sum(classes[name]["virtual"] for name in names)
        if size != figure(truth):
            yield f"{' + '.join(names)}: {size}, {twin} {figure(truth)}"
    if document["evidence"] != EVIDENCE[dump]:
        yield f"ledger: evidence {document['evidence']}, not {EVIDENCE[dump]}"


def check_overview(document):
    total = document["total"]["resident"]
    running = 0
    for step in document["waterfall"]:
        running += step["bytes"]
        if step["cumulative"] != running:
            yield f"waterfall {step['id']}: cumulative {step['cumulative']}, sum {running}"
    if running != total:
        yield f"waterfall: ends at {running}, total resident {total}"


def check_text(text):
    lines = text.splitlines()
    if not lines or not lines[0].strip():
        yield "text: the first line is empty"
    widest = max(map(len, lines), default=0)
    if widest > TEXT_COLUMNS:
        yield f"text: {widest} columns wide"


def check_program(target, truth, ledger):
    """What the program was made to show."""
    classes = {row["id"]: row for row in ledger["classes"]}
    if target.program == "fragmented":
        free = classes["go.heap.free"]["virtual"]
        if free <= 0.6 * truth["HeapInuse"]:
            yield f"fragmented: go.heap.free {free} of HeapInuse {truth['HeapInuse']}"
    if target.program == "idle":
        idle = classes["go.idle.retained"]
        if idle["virtual"] <= 0.5 * truth["HeapSys"]:
            yield f"idle: go.idle.retained {idle['virtual']} of HeapSys {truth['HeapSys']}"
        if idle["resident"] <= 0.8 * idle["virtual"]:
            yield f"idle: go.idle.retained {idle['virtual']}, resident {idle['resident']}"
    if target.program == "cgo":
        c_memory = [row for name, row in classes.items()
                    if name == "anon" or name.startswith("c.heap.")]
        resident = sum(row["resident"] or 0 for row in c_memory)
        if resident < 0.95 * truth["malloc_bytes"]:
            yield f"cgo: anon resident {resident}, malloc gave {truth['malloc_bytes']}"


def check_spanscope(tool, target, dump, truth):
    """Every problem that the commands show on this core."""
    def ledger():
        document = tool.json("ledger")
        yield from check_ledger(document, truth, dump)
        yield from check_program(target, truth, document)

    yield from guarded(lambda: check_memstats(tool.json("memstats"), truth))
    yield from guarded(ledger)
    yield from guarded(lambda: check_overview(tool.json("overview")))
    yield from guarded(lambda: check_text(tool.output()))


# ---- tests

def guarded(problems):
    """Yields the problems, the last of which may be that there was no going on."""
    try:
        yield from problems()
    except Failure as failure:
        yield str(failure)
    except (KeyError, TypeError, AttributeError, OSError, ValueError, struct.error) as error:
        yield f"unexpected {type(error).__name__}: {error}"


def run_test(target, dump, folder, options):
    """Yields the problems of one test."""
    exe = executable(target)
    deadline = time.monotonic() + TEST_SECONDS
    core = take_core(exe, dump, folder, deadline)
    truth = read_truth(folder)
    yield from check_truth(target, truth)
    if not options.truth_only:
        tool = Tool(options.spanscope, core, deadline)
        yield from check_spanscope(tool, target, dump, truth)


def test_line(target, dump, options):
    """Runs one test in a folder of its own; returns its result and its line."""
    def problems_in(folder):
        return list(guarded(lambda: run_test(target, dump, folder, options)))

    name = f"{target} {dump}"
    if reason := missing(target, dump):
        return "skipped", f"skip {name}: {reason}"
    if options.keep:
        folder = pathlib.Path(options.keep).resolve() / name.replace(" ", "-")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        problems = problems_in(folder)
    else:
        with tempfile.TemporaryDirectory(prefix="run-", dir=CACHE / "live") as folder:
            problems = problems_in(pathlib.Path(folder))
    if problems:
        return "failed", f"not ok {name}: {'; '.join(problems)}"
    return "passed", f"ok {name}"


def missing(target, dump):
    """Says what this machine lacks for a test, if anything."""
    if not (toolchain(target.release) / "bin" / "go").exists():
        return f"no toolchain of Go {target.release}; see scripts/fetch-toolchains"
    if target.mode == "cgo" and not shutil.which("gcc"):
        return "no gcc"
    if dump == "gcore" and not shutil.which("gcore"):
        return "no gcore"
    return None


def kernel_obstacle():
    """Prepares this process and its children for cores by the kernel; says what hinders."""
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if not pattern or "|" in pattern or "/" in pattern:
        return f"core_pattern is '{pattern}', no plain name; see scripts/with-core-pattern"
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        pathlib.Path("/proc/self/coredump_filter").write_text(hex(CORE_FILTER))
    except (ValueError, OSError) as error:
        return f"the limit of core sizes or coredump_filter cannot be set: {error}"
    return None


def select_tests(options):
    """All tests in the order of their lines; the dumps of one executable follow each other."""
    return [(Target(release, mode, program), dump)
            for release in options.releases
            for mode in options.modes
            for program in MODES[mode][1] if program in options.programs
            for dump in options.dumps]


def run_tests(tests, options):
    """Runs the tests, several at a time, and prints their lines in order."""
    counts = dict.fromkeys(("passed", "failed", "skipped"), 0)
    if "kernel" in options.dumps and (reason := kernel_obstacle()):
        hindered = [test for test in tests if test[1] == "kernel"]
        tests = [test for test in tests if test[1] != "kernel"]
        counts["skipped"] = len(hindered)
        print(f"skip kernel ({len(hindered)} tests): {reason}")
    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    try:
        for future in [pool.submit(test_line, *test, options) for test in tests]:
            result, line = future.result()
            counts[result] += 1
            print(line, flush=True)
    finally:
        pool.shutdown(cancel_futures=True)
    return counts


def names(choices):
    """An argument type: names with commas between, each of the choices."""
    def parse(text):
        chosen = text.split(",")
        for name in chosen:
            if name not in choices:
                raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(choices)}")
        return chosen
    return parse


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spanscope", metavar="PATH", help="the program to be tested")
    parser.add_argument("--truth-only", action="store_true",
                        help="build, dump and decode the truth, without spanscope")
    for option, choices in [("--releases", RELEASES), ("--programs", PROGRAMS),
                            ("--dumps", DUMPS), ("--modes", list(MODES))]:
        parser.add_argument(option, metavar="A,B", type=names(choices), default=choices,
                            help=f"some of {','.join(choices)}")
    parser.add_argument("--keep", metavar="DIR", help="keep cores, truth and results here")
    parser.add_argument("-j", dest="jobs", type=int, default=os.cpu_count(),
                        help="tests at a time (default: one a CPU)")
    options = parser.parse_args()
    if not options.truth_only:
        if not options.spanscope or not os.access(options.spanscope, os.X_OK):
            parser.error("--spanscope must name the program")
        options.spanscope = str(pathlib.Path(options.spanscope).resolve())
    return options


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    options = parse_arguments()
    (CACHE / "live").mkdir(parents=True, exist_ok=True)
    counts = run_tests(select_tests(options), options)
    print("live: " + ", ".join(f"{count} {result}" for result, count in counts.items()))
    failed = counts["failed"] or (os.environ.get("CI") and counts["skipped"])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
