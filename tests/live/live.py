#!/usr/bin/env python3
"""Compares spanscope with the truth of real Go processes.

For each Go release, build mode and program (see programs.py) this builds the program, lets it
write down its truth (see progs/truth), takes a core of it by the kernel and by gcore, and
checks what spanscope says of that core (checks.py). The residency of cores by the kernel is
compared with what the kernel said right after the dump (exitwatch.c, residency.py). One line
a test:

    ok 1.24 static quiet kernel
    not ok 1.24 static quiet gcore: reason
    skip 1.24 cgo cgo gcore: reason

The toolchains are those of scripts/fetch-toolchains. Cores by the kernel need a core_pattern
that is a plain file name: run this by scripts/with-core-pattern. Programs for arm64 run in
qemu-user, which writes their cores itself; nobody says what was resident then.
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

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

import arguments
import checks
import residency
import results
import swap
import truth
import twins
from programs import ENVIRONMENT, PROGRAMS
from tool import Failure, Tool, describe, end, last_line, run

SIDECAR = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "spanscope-sidecar"
PROGS = pathlib.Path(__file__).resolve().parent / "progs"
CACHES = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
CACHE = pathlib.Path(os.environ.get("SPANSCOPE_CACHE") or CACHES / "spanscope")

RELEASES = ["1.15", "1.19", "1.21", "1.22", "1.23", "1.24", "1.25", "1.26", "1.27"]
DUMPS = ["kernel", "gcore", "qemu"]

# Flags of `go build`. A plugin is built beside the program that loads it, and a shared library
# beside the C program that does.
MODES = {
    "static": ["-buildmode=exe"],
    "pie": ["-buildmode=pie"],
    "cgo": ["-buildmode=exe"],
    "arenas": ["-buildmode=exe"],
    "greentea": ["-buildmode=exe"],
    "nogreentea": ["-buildmode=exe"],
    "plugin": ["-buildmode=exe"],
    "c-shared": ["-buildmode=c-shared"],
    "two": ["-buildmode=exe"],
    "arm64": ["-buildmode=exe"],
    "arm64-stripped": ["-buildmode=exe", "-ldflags=-s -w"],
    "arm64-64k": ["-buildmode=exe"],
    "arm64-pie": ["-buildmode=pie"],
}
WITH_C = ["cgo", "plugin", "c-shared", "two"]
# Flags of qemu-user. A PIE has a loader, which is Debian's libc6-arm64-cross.
EMULATED = {"arm64": [], "arm64-stripped": [], "arm64-64k": ["-p", "65536"],
            "arm64-pie": ["-L", "/usr/aarch64-linux-gnu"]}
EXPERIMENTS = {"arenas": "arenas", "greentea": "greenteagc", "nogreentea": "nogreenteagc"}

# Modes that are not for all releases: Green Tea came with 1.25, and is the default from 1.26 on. The
# size of pages and a PIE's place are no matter of the release.
ONLY = {"greentea": ["1.25"], "nogreentea": ["1.26", "1.27"], "arm64-64k": ["1.19", "1.27"],
        "arm64-pie": ["1.19", "1.27"]}

TEST_SECONDS = 120
BUILD_SECONDS = 600

# What coredump_filter(5) calls the default: anonymous memory, ELF headers, huge pages.
CORE_FILTER = 0x33


@dataclasses.dataclass(frozen=True)
class Target:
    """One program to be tested."""
    release: str
    mode: str
    name: str

    @property
    def program(self):
        return PROGRAMS[self.name]

    @property
    def arch(self):
        return "arm64" if self.mode in EMULATED else "amd64"

    @property
    def dumps(self):
        return ("qemu",) if self.mode in EMULATED else self.program.dumps

    def __str__(self):
        return f"{self.release} {self.mode} {self.name}"


# ---- executables

def toolchain(release):
    return CACHE / "toolchains" / f"go{release}"


def source_hash(target):
    """Identifies what an executable is made from, so that it is built once."""
    digest = hashlib.sha256(repr((target.release, target.mode, MODES[target.mode])).encode())
    digest.update((toolchain(target.release) / "VERSION").read_bytes())
    sources = [PROGS / "go.mod", *sorted((PROGS / "truth").iterdir()),
               *sorted((PROGS / target.program.folder).rglob("*"))]
    for path in filter(pathlib.Path.is_file, sources):
        digest.update(f"{path.relative_to(PROGS)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def go_environment(target):
    keep = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    return keep | {
        "CGO_ENABLED": "1" if target.mode in WITH_C else "0",
        "GO111MODULE": "on",
        "GOARCH": target.arch,
        "GOCACHE": str(CACHE / "gocache" / f"go{target.release}"),
        "GOENV": "off",
        "GOEXPERIMENT": EXPERIMENTS.get(target.mode, ""),
        "GOFLAGS": "-mod=mod",
        "GOPATH": str(CACHE / "gopath"),
        "GOPROXY": "off",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }


def go_file(target):
    """The file of the executable that has the Go runtime in it."""
    exe = executable(target)
    return exe.with_name("library.so") if target.mode == "c-shared" else exe


BUILDING = collections.defaultdict(threading.Lock)


def executable(target):
    """Returns the path of the executable, which is built unless it is in the cache."""
    exe = CACHE / "live" / source_hash(target) / target.program.folder
    with BUILDING[exe]:
        if not exe.exists():
            build(target, exe)
    return exe


def build(target, exe):
    exe.parent.mkdir(parents=True, exist_ok=True)
    fresh = exe.with_name(f"{exe.name}.{os.getpid()}")
    folder = f"./{target.program.folder}"
    if target.mode == "c-shared":
        go_build(target, MODES["c-shared"], exe.with_name("library.so"), folder)
        build_command(["gcc", "-o", fresh, f"{folder}/host/main.c", "-ldl"], cwd=PROGS)
    else:
        if target.mode == "plugin":
            go_build(target, ["-buildmode=plugin"], exe.with_name("module.so"), f"{folder}/module")
        if target.mode == "two":
            go_build(target, MODES["c-shared"], exe.with_name("library.so"), "./cshared")
        go_build(target, MODES[target.mode], fresh, folder)
    fresh.rename(exe)


def version_control(target):
    """Old toolchains ask no version control system, and do not know the flag."""
    return [] if target.release == "1.15" else ["-buildvcs=false"]


def go_build(target, flags, output, folder):
    build_command([toolchain(target.release) / "bin" / "go", "build", *flags, *version_control(target),
                   "-o", output, folder], cwd=PROGS, env=go_environment(target))


def build_command(command, **options):
    result = run(command, BUILD_SECONDS, **options)
    if result.returncode:
        raise Failure(f"{describe(command)}: {last_line(result.stderr)}")


# ---- cores

# The emulator writes the program's core, within the limit of cores, and dies by the same signal
# then: of its own memory nothing is worth a core.
EMULATOR = ["sh", "-c", "ulimit -S -c $(ulimit -H -c); echo 0 >/proc/self/coredump_filter;"
            " exec qemu-aarch64 \"$@\"", "sh"]
CORE_NAMES = {"qemu": "qemu_*.core"}


def take_core(target, dump, folder, exitwatch, deadline):
    """Runs the program in the folder until it is dumped; returns the path of the core."""
    argument = {"kernel": "abort", "gcore": "wait", "qemu": "abort"}[dump]
    watch = [exitwatch, "process"] if exitwatch and dump == "kernel" else []
    if dump == "qemu":
        watch = [*EMULATOR, *EMULATED[target.mode]]
    environment = {"PATH": os.environ.get("PATH", os.defpath), "GOTRACEBACK": "crash",
                   "SECRET": ENVIRONMENT, **dict(target.program.environment)}
    with open(folder / "output", "wb") as output:
        child = subprocess.Popen([*watch, executable(target), *target.program.arguments,
                                  "-dump", argument, "-truth", "truth"], cwd=folder,
                                 env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                 stderr=output, start_new_session=True)
    try:
        if dump != "gcore":
            await_abort(child, target.program.frozen, deadline)
        else:
            await_truth(child, folder, target.program.frozen, deadline)
            child.send_signal(signal.SIGSTOP)
            if target.release in target.program.exact:
                keep_sidecar(child.pid, folder, deadline)
            gcore(child.pid, folder, deadline)
        core = find_core(folder, of=CORE_NAMES.get(dump, "*")).rename(folder / f"{dump}.core")
        if dump == "gcore" and target.program.pair:
            take_another(child, folder, deadline)
    finally:
        end(child)
    return core


def take_another(child, folder, deadline):
    """Has the kernel write a core of the process that gcore has looked at."""
    before = set(folder.iterdir())
    child.send_signal(signal.SIGABRT)
    child.send_signal(signal.SIGCONT)
    await_abort(child, True, deadline)
    find_core(folder, before).rename(folder / "another.core")


def await_abort(child, frozen, deadline):
    """The runtime that dies looks at stacks of threads that go on; a fault there ends it too."""
    deaths = [-signal.SIGABRT] if frozen else [-signal.SIGABRT, -signal.SIGSEGV]
    try:
        status = child.wait(max(deadline - time.monotonic(), 0.1))
    except subprocess.TimeoutExpired:
        raise Failure("time limit: the program") from None
    if status not in deaths:
        raise Failure(f"the program ended with status {status}, not by SIGABRT")


def await_truth(child, folder, frozen, deadline):
    """Waits until the program has written what it has to write."""
    path, size = (folder / "truth.memstats", truth.LAST_BYTES) if frozen else (
        folder / "truth", 1)
    while not path.exists() or path.stat().st_size < size:
        if child.poll() is not None:
            raise Failure(f"the program ended with status {child.returncode}")
        if time.monotonic() > deadline:
            raise Failure("time limit: the program")
        time.sleep(0.01)
    time.sleep(0.05)


def keep_sidecar(pid, folder, deadline):
    """What /proc says, before gcore looks at the memory."""
    result = run([SIDECAR, "-s", str(pid), folder / "process"], deadline - time.monotonic())
    if result.returncode:
        raise Failure(f"spanscope-sidecar: {last_line(result.stderr)}")


def gcore(pid, folder, deadline):
    result = run(["gcore", "-o", "core", str(pid)], deadline - time.monotonic(), cwd=folder,
                 env=dict(os.environ, DEBUGINFOD_URLS=""))
    if result.returncode:
        raise Failure(f"gcore: {last_line(result.stderr)}")


def find_core(folder, but=(), of="*"):
    """The one ELF file in the folder, whatever core_pattern or gcore called it."""
    for path in filter(pathlib.Path.is_file, set(folder.glob(of)) - set(but)):
        with open(path, "rb") as file:
            if file.read(4) == b"\x7fELF":
                return path
    raise Failure("no core was written")


# ---- spanscope

def check_spanscope(tool, target, dump, known):
    """Every problem that the commands show on this core."""
    program = target.program

    def ledger_twins():
        stats = known if program.frozen else tool.json("memstats")["memstats"]
        return checks.ledger_twins(tool.classes(), stats)

    yield from guarded(lambda: checks.memstats(
        tool.json("memstats"), tool.json("verify"), known, program.frozen))
    yield from guarded(lambda: checks.ledger(tool.json("ledger"), dump))
    yield from guarded(ledger_twins)
    with_c = target.mode in WITH_C
    if not (with_c and program.c_heap) and not program.maps:
        yield from guarded(lambda: checks.coverage(tool.json("ledger"), with_c))
    yield from guarded(lambda: program.check(known, tool.classes(), dump))
    if program.tables:
        yield from guarded(lambda: program.tables(tool, known, dump))
    yield from guarded(lambda: check_overview(tool))
    yield from guarded(lambda: checks.process(tool.json("overview"), known))
    yield from guarded(lambda: checks.verify(tool.json("verify")))
    if program.twins:
        # As many runs again as there were before.
        tool.deadline = time.monotonic() + TEST_SECONDS
        yield from guarded(lambda: twins.check(tool, go_file(target), program.frozen,
                                                 headerless=dump == "qemu"))
    if dump == "gcore" and program.pair:
        yield from guarded(lambda: check_another(tool))
    if target.release in program.exact and tool.sidecar:
        yield from guarded(lambda: residency.check_exact(tool, tool.sidecar, dump == "kernel"))
        yield from guarded(lambda: residency.check_forms(tool, tool.sidecar))
    if dump == "kernel":
        yield from check_pages(tool, program.maps)


def check_pages(tool, maps=False):
    """What is resident is what the kernel said right after it had written the core. maps: the
    program has mappings of its own, which other checks look at."""
    record = tool.core.with_name("process")
    if not maps:
        yield from guarded(lambda: residency.check(record, tool.core, tool.json("vmas")))
    yield from guarded(lambda: residency.check_spans(
        record, tool.json("spans"), tool.run_json("spans", "--map"), tool.classes()))
    yield from guarded(lambda: residency.check_sum(
        record, tool.run_json("overview", "--smaps", str(record / "smaps"))))


def check_refused(tool, reason):
    """The mappings are shown, and the reason why there is no more."""
    for command in ("overview", "ledger", "memstats", "verify"):
        result = tool.run(command, "--json")
        if result.returncode != 4:
            yield f"{command}: exit status {result.returncode}"
        if len(result.stderr.splitlines()) != 1 or reason not in result.stderr:
            yield f"{command}: {result.stderr!r}"
        json.loads(result.stdout)


# What the runtime has of its heap is the same in both cores of one process: its way to the second,
# which prints the goroutines, allocates nothing and takes no stack. The signal may find the one
# goroutine that runs some frames deeper than gcore did.
SAME_IN_BOTH = ("go.heap.", "go.idle.", "go.stack.")
STACK_PARTS = ("go.stack.used", "go.stack.unused")
FRAMES = 8 << 10


def check_another(tool):
    first = tool.classes()
    another = Tool(tool.path, tool.core.with_name("another.core"), tool.deadline).classes()
    moved = {name: another[name]["virtual"] - row["virtual"] for name, row in first.items()
             if name.startswith(SAME_IN_BOTH)}
    for name, bytes_ in moved.items():
        if abs(bytes_) > (FRAMES if name in STACK_PARTS else 0):
            yield f"{name}: virtual moved by {bytes_} from gcore to the core by the kernel"
    if sum(moved[name] for name in STACK_PARTS):
        yield f"{', '.join(STACK_PARTS)}: moved by {[moved[name] for name in STACK_PARTS]}"


def check_overview(tool):
    yield from checks.overview(tool.json("overview"))
    yield from checks.text(tool.output())


# ---- tests

def guarded(problems):
    """Yields the problems, the last of which may be that there was no going on."""
    try:
        yield from problems()
    except Failure as failure:
        yield str(failure)
    except (KeyError, TypeError, AttributeError, OSError, ValueError, struct.error) as error:
        yield f"unexpected {type(error).__name__}: {error}"


def start(target):
    """Builds the program; returns the time by which its test has to end."""
    executable(target)
    return time.monotonic() + TEST_SECONDS


def take(target, dump, folder, options, deadline):
    """Takes one core; returns it, the truth, and the tool on it unless only the truth is asked
    for."""
    core = take_core(target, dump, folder, options.exitwatch, deadline)
    named = executable(target) if dump == "qemu" else None
    tool = None if options.truth_only else Tool(options.spanscope, core, deadline, named)
    return core, truth.read(folder), tool


def run_test(target, dump, folder, options):
    """Yields the problems of one test."""
    deadline = start(target)
    _, known, tool = take(target, dump, folder, options, deadline)
    yield from truth.check(known)
    if tool and target.program.refused:
        yield from guarded(lambda: check_refused(tool, target.program.refused))
    elif tool:
        yield from check_spanscope(tool, target, dump, known)


def test_line(target, dump, options, test):
    """Runs one test in a folder of its own; returns its result and its line."""
    def problems_in(folder):
        return list(guarded(lambda: test(target, dump, folder, options)))

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
    if target.mode in WITH_C and not shutil.which("gcc"):
        return "no gcc"
    for name, program in (("gcore", "gcore"), ("qemu", "qemu-aarch64")):
        if dump == name and not shutil.which(program):
            return f"no {program}"
    if dump == "qemu" and not resource.getrlimit(resource.RLIMIT_CORE)[1]:
        return "the limit of core sizes cannot be raised"
    return twins.missing()


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
    """The tests in the order of their lines; the dumps of one executable follow each other."""
    every = options.all or options.dumps is not DUMPS
    return [(target, dump)
            for release in options.releases
            for mode in options.modes
            for name in options.programs
            if mode in PROGRAMS[name].modes and release not in PROGRAMS[name].without
            and release in ONLY.get(mode, RELEASES)
            for target in [Target(release, mode, name)]
            for dump in (target.dumps if every else in_turn(target))
            if dump in options.dumps]


def in_turn(target):
    """Unless all, or some, are asked for: both dumps of a program on the oldest and the newest release, and of
    the one that is there in pairs; on the others the one and the other in turn."""
    if target.program.pair or target.release in (RELEASES[0], RELEASES[-1]):
        return target.dumps
    turn = RELEASES.index(target.release) + list(PROGRAMS).index(target.name) + \
        list(MODES).index(target.mode)
    return [target.dumps[turn % len(target.dumps)]]


def go_version(target):
    """The release with its patch level."""
    return (toolchain(target.release) / "VERSION").read_text().split()[0].removeprefix("go")


def proofs(target, dump):
    """What is compared in a test that ends well: see results.py."""
    program = target.program
    if program.refused:
        return {}
    shown = ["memstats"] if program.frozen else []
    shown += ["pages"] if dump == "kernel" else []
    without = {"stripped": ["same"], "none": ["same"]} if program.twins else {}
    own = "stripped" if target.mode.endswith("-stripped") else "dwarf"
    return {**without, own: [*shown, "invariants"]}


def needs_kernel(test):
    target, dump = test
    return dump in ("kernel", "systemd") or (dump == "gcore" and target.program.pair)


def run_tests(tests, options, test=run_test, proofs=proofs):
    """Runs the tests, several at a time, and prints their lines in order. Each is a call of test,
    which yields the problems; proofs says what has been shown if there are none."""
    counts = dict.fromkeys(("passed", "failed", "skipped"), 0)
    if any(map(needs_kernel, tests)) and (reason := kernel_obstacle()):
        hindered = [each for each in tests if needs_kernel(each)]
        tests = [each for each in tests if not needs_kernel(each)]
        counts["skipped"] = len(hindered)
        print(f"skip kernel ({len(hindered)} tests): {reason}")
    record = results.Results(options.results)
    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    try:
        futures = [pool.submit(test_line, *each, options, test) for each in tests]
        for (target, dump), future in zip(tests, futures):
            result, line = future.result()
            counts[result] += 1
            print(line, flush=True)
            if result != "skipped" and not options.truth_only:
                record.add(go_version(target), target.arch, target.name, dump, proofs(target, dump),
                           result == "passed")
    finally:
        pool.shutdown(cancel_futures=True)
    return counts


def parse_arguments(description, programs, releases):
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    arguments.add_common(parser)
    parser.add_argument("--all", action="store_true",
                        help="dump each program in each way on each release")
    parser.add_argument("--truth-only", action="store_true",
                        help="build, dump and decode the truth, without spanscope")
    for option, choices in [("--releases", releases), ("--programs", list(programs)),
                            ("--dumps", DUMPS), ("--modes", list(MODES))]:
        arguments.add_choice(parser, option, choices)
    options = parser.parse_args()
    arguments.check_common(parser, options,
                           () if options.truth_only else ("spanscope", "exitwatch"))
    return options


def prepare(description, programs, releases):
    """What a program that runs such tests does first; returns the options."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    options = parse_arguments(description, programs, releases)
    (CACHE / "live").mkdir(parents=True, exist_ok=True)
    return options


def main():
    options = prepare(__doc__, PROGRAMS, RELEASES)
    with swap.enabled(CACHE / "swap.lock", "regions" in options.programs):
        return arguments.conclude("live", run_tests(select_tests(options), options))


if __name__ == "__main__":
    sys.exit(main())
