#!/usr/bin/env python3
"""Looks at programs that nobody here wrote: Debian's servers and npm's esbuild, all stripped.

Each is started on loopback ports, given work, and stopped and dumped at some moments of its life
(daemons.py): by gcore, and in another run by the kernel in the middle of its work. spanscope reads
each core with the executable and without. What it says must hold by itself, with both the same;
after the scrapes of a quiet server it must agree with its /metrics, and for cores by the kernel
with the kernel's own word on every page. One line a core:

    ok prometheus-trixie quiet gcore: go1.24.4

The programs are those of scripts/fetch-servers. All of them, and this, run in a network, process
table and mount table of their own, so that nothing gets out or stays. Cores by the kernel need a
core_pattern that is a plain file name: run this by scripts/with-core-pattern.
"""

import argparse
import concurrent.futures
import contextlib
import fcntl
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

import arguments
import checks
import daemons
import live
import metrics
import results
import stacks
import twins
from live import CACHE, Failure

# Set in the process that runs in namespaces of its own.
INSIDE = "SPANSCOPE_SERVERS_INSIDE"

LIFE_SECONDS = 240
ANALYSIS_SECONDS = 120


# ---- namespaces

def isolate():
    """Goes on in namespaces of its own; says what hinders, if anything."""
    if os.environ.get(INSIDE):
        bring_up_loopback()
        return None
    command = ["unshare", "--net", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc"]
    if os.getuid():
        command.insert(1, "--map-root-user")
    try:
        subprocess.run([*command, "true"], check=True, capture_output=True, timeout=30)
    except (OSError, subprocess.SubprocessError) as error:
        return f"no namespaces of its own: {error}"
    os.environ[INSIDE] = "1"
    os.execvp(command[0], [*command, sys.executable, *sys.argv])


def bring_up_loopback():
    siocsifflags, iff_up_running = 0x8914, 0x41
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, siocsifflags, struct.pack("16sH14x", b"lo", iff_up_running))


# ---- processes

class Process:
    """A daemon that runs. It is never waited for without a time limit."""

    def __init__(self, name, folder, watch=()):
        self.folder = folder
        self.deadline = time.monotonic() + LIFE_SECONDS
        environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder),
                       "GOTRACEBACK": "crash"}
        self.daemon = daemons.SOURCES[name].daemon(root_of(name), folder, environment)
        command = [*watch, *self.daemon.command()]
        with open(folder / "output", "wb") as output:
            # A builder that watches files does so until its standard input ends.
            self.child = subprocess.Popen(
                command, cwd=folder, env=self.daemon.environment, stdin=subprocess.PIPE,
                stdout=output, stderr=output, start_new_session=True)

    def said(self):
        return (self.folder / "output").stat().st_size

    def await_output(self):
        self.await_true(self.said, pause=0.001)

    def await_true(self, condition, pause=0.02):
        while not condition():
            if self.child.poll() is not None:
                raise Failure(f"the program ended with status {self.child.returncode}:"
                              f" {live.last_line((self.folder / 'output').read_text())}")
            if time.monotonic() > self.deadline:
                raise Failure("time limit: the program")
            time.sleep(pause)


@contextlib.contextmanager
def running(name, folder, watch=()):
    process = Process(name, folder, watch)
    try:
        yield process
    finally:
        live.end(process.child)
        process.child.stdin.close()
        unmount(folder)


def unmount(folder):
    """Takes away what a daemon has mounted below the folder."""
    mounts = [line.split()[1] for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()]
    for mount in reversed(mounts):
        if folder in pathlib.Path(mount).parents:
            subprocess.run(["umount", "--lazy", mount], check=True, capture_output=True, timeout=30)


# ---- cores

def take_cores(name, folder, options):
    """Yields the moments of one life, each with its core and the daemon."""
    with running(name, folder) as process:
        for moment in process.daemon.life(process):
            process.child.send_signal(signal.SIGSTOP)
            place = folder / moment
            place.mkdir()
            live.gcore(process.child.pid, place, process.deadline)
            process.child.send_signal(signal.SIGCONT)
            yield moment, live.find_core(place), process.daemon


def take_kernel_core(name, folder, options):
    """One core, of a process in the middle of its work."""
    with running(name, folder, [options.exitwatch, "process"]) as process:
        for moment in process.daemon.life(process):
            if moment == process.daemon.moment_at_work:
                break
        process.child.send_signal(signal.SIGABRT)
        live.await_abort(process.child, False, process.deadline)
    yield moment, live.find_core(folder), process.daemon


TAKE = {"gcore": take_cores, "kernel": take_kernel_core}


def check_core(tool, dump):
    """Yields what is wrong in what spanscope says of one core."""
    guarded = live.guarded
    yield from guarded(lambda: live.check_overview(tool))
    yield from guarded(lambda: check_executable(tool))
    yield from guarded(lambda: checks.ledger(tool.json("ledger"), dump))
    yield from guarded(lambda: checks.memstats(
        tool.json("memstats"), tool.json("verify"), {}, False))
    yield from guarded(lambda: checks.ledger_twins(
        tool.classes(), tool.json("memstats")["memstats"]))
    yield from guarded(lambda: checks.verify(tool.json("verify")))
    yield from guarded(lambda: stacks.check_stacks(tool.run_json("goroutines"), moving=True))
    yield from guarded(lambda: stacks.check_addresses(
        tool.run_json("goroutines", after=("--no-exe",)), tool.run_json("goroutines")))
    yield from guarded(lambda: twins.check_other(tool, "no-exe", ("--no-exe",), False))
    if dump == "kernel":
        yield from live.check_pages(tool)


def check_executable(tool):
    """It was found where it is, and told by its build id."""
    if not tool.json("overview")["exe"]["match"].endswith("-build-id"):
        yield f"overview: executable {tool.json('overview')['exe']}"


def check_told(tool, daemon, last):
    """Yields where the core differs from what the daemon told before, unless there will be another
    look at it."""
    differences = []
    if daemon.scrapes:
        differences += live.guarded(lambda: metrics.compare(
            daemon.scrapes, tool.json("memstats"), tool.json("overview")["go"]["version"]))
    if daemon.profiles:
        differences += live.guarded(lambda: stacks.check_standing(
            tool.run_json("goroutines"), *map(stacks.read_profile, daemon.profiles)))
    daemon.moved = bool(differences)
    if last:
        yield from differences


def look(name, moment, dump, core, daemon, options):
    """Returns the result, the line and the record of one core."""
    tool = live.Tool(options.spanscope, core, time.monotonic() + ANALYSIS_SECONDS)
    problems = list(check_core(tool, dump))
    shown = ["pages", "invariants"] if dump == "kernel" else ["invariants"]
    if daemon.scrapes or daemon.profiles:
        problems += check_told(tool, daemon, moment == daemons.LAST_LOOK)
        shown += ["metrics"] if daemon.scrapes and not daemon.moved else []
    go = tool.documents.get(("overview",), {"go": {}})["go"]
    version = (go.get("version") or "").removeprefix("go")
    record = (version, go.get("arch"), name, dump, {"stripped": shown, "none": ["same"]},
              not problems)
    remark = ", moved since it was asked" if daemon.moved else ""
    if problems:
        return "failed", f"not ok {name} {moment} {dump}: {'; '.join(problems)}", record
    return "passed", f"ok {name} {moment} {dump}: go{version}{remark}", record


# ---- tests

def root_of(name):
    return CACHE / "servers" / name


def missing(name, dump):
    """Says what this machine lacks for a test, if anything."""
    if not root_of(name).exists():
        return "not fetched; see scripts/fetch-servers"
    if dump == "gcore" and not shutil.which("gcore"):
        return "no gcore"
    return None


def run_life(name, dump, folder, options):
    """Yields the result, the line and the record of each core of one life."""
    try:
        for moment, core, daemon in TAKE[dump](name, folder, options):
            yield look(name, moment, dump, core, daemon, options)
            if not options.keep:
                core.unlink()
    except (Failure, daemons.Refused, OSError, subprocess.SubprocessError) as error:
        yield "failed", f"not ok {name} {dump}: {error}", None


def test(name, dump, options):
    """All results of one life."""
    if reason := missing(name, dump):
        return [("skipped", f"skip {name} {dump}: {reason}", None)]
    if options.keep:
        folder = pathlib.Path(options.keep).resolve() / f"{name}-{dump}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return list(run_life(name, dump, folder, options))
    with tempfile.TemporaryDirectory(prefix="run-", dir=CACHE / "servers") as folder:
        return list(run_life(name, dump, pathlib.Path(folder), options))


def run(options):
    counts = dict.fromkeys(("passed", "failed", "skipped"), 0)
    dumps = list(options.dumps)
    if "kernel" in dumps and (reason := live.kernel_obstacle()):
        dumps.remove("kernel")
        counts["skipped"] += len(options.programs)
        print(f"skip kernel ({len(options.programs)} tests): {reason}")
    record = results.Results(options.results)
    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    try:
        tests = [pool.submit(test, name, dump, options)
                 for name in options.programs for dump in dumps]
        for future in tests:
            for result, line, row in future.result():
                counts[result] += 1
                print(line, flush=True)
                if row:
                    record.add(*row)
    finally:
        pool.shutdown(cancel_futures=True)
    return counts


def print_sources():
    """What scripts/fetch-servers has to fetch: a line each."""
    for name, source in daemons.SOURCES.items():
        print(name, "npm" if source.npm else "deb", *source.packages)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sources", action="store_true", help="print what is to be fetched")
    arguments.add_common(parser)
    arguments.add_choice(parser, "--programs", list(daemons.SOURCES))
    arguments.add_choice(parser, "--dumps", list(TAKE))
    options = parser.parse_args()
    if options.sources:
        print_sources()
        return 0
    arguments.check_common(parser, options)
    if reason := isolate():
        print(f"skip servers: {reason}")
        return arguments.conclude("servers", {"passed": 0, "failed": 0, "skipped": 1})
    (CACHE / "servers").mkdir(parents=True, exist_ok=True)
    return arguments.conclude("servers", run(options))


if __name__ == "__main__":
    sys.exit(main())
