#!/usr/bin/env python3
"""Compares and follows snapshots of real processes whose memory changes in a known way.

A program (progs/grow) leaks step by step: objects, gaps between objects, C's memory, goroutines,
or nothing, beside some noise. Of each there are twelve snapshots: cores by the kernel of twelve
processes, and cores by gcore with a sidecar of one. diff of the first and the last must name what
leaks first, and the history must show it rise each time. Then there is a batch of many snapshots:
killed in the middle and resumed it must end with the same result, and its memory must not depend on
how many they are. See live.py for how cores are taken, and for the lines.
"""

import argparse
import dataclasses
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

import live
from programs import Program

STEPS = 12
SECONDS = 300


@dataclasses.dataclass(frozen=True)
class Growth:
    """What must be said: a class that grew most, as a pattern, and of each level named the row that
    did. fires: rules of soak.yaml with their rows. mode: how it is built."""
    classes: str
    rows: tuple = ()
    said: tuple = ()
    fires: tuple = ()
    mode: str = "static"


GROWTHS = {
    "heap": Growth(r"go\.heap\.live", (("sizeclasses", r"320"), ("sites", r"main\.leak\b.*")),
                   ("size class 320", "allocated at main.leak"),
                   (("live objects grow", r"go\.heap\.live"),
                    ("allocation site grows", r"site:main\.leak\b.*"))),
    "gaps": Growth(r"go\.heap\.free", (("gaps", r"1024 noscan"),), ("size class 1024 noscan",),
                   (("fragmentation grows", r"go\.heap\.free"),)),
    "c": Growth(r"anon|c\.heap\.used", (("mappings", r"(anon|\[heap\]).*"),), (),
                (("anonymous memory grows", "anon"),), "cgo"),
    "goroutines": Growth(r"go\.stack\.(un)?used",
                         (("goroutines", r"chan receive: main\.\(?\*?request\)?\.await < .*"),),
                         ("goroutines in chan receive: main.",),
                         (("goroutines grow",
                           r"goroutines:chan receive: main\.\(?\*?request\)?\.await < .*"),)),
    "steady": Growth(None),
}


@dataclasses.dataclass(frozen=True)
class Target(live.Target):
    steps: int = STEPS

    @property
    def program(self):
        return Program(None, "grow", ("-kind", self.name, "-steps", str(self.steps)), frozen=False)


class Store:
    """spanscope in a folder."""

    def __init__(self, path, folder):
        self.path, self.folder = path, folder

    def run(self, *arguments, statuses=(0,)):
        result = live.run([self.path, *arguments], SECONDS, cwd=self.folder)
        if result.returncode not in statuses:
            raise live.Failure(f"{arguments[0]}: exit status {result.returncode}: "
                               f"{live.last_line(result.stderr)}")
        return result.stdout

    def json(self, *arguments, **options):
        return json.loads(self.run(*arguments, "--json", **options))


# ---- snapshots

def kernel_cores(target, folder):
    """A core of each of as many processes, each of which goes a step further."""
    for step in range(1, STEPS + 1):
        work = folder / f"work{step}"
        work.mkdir()
        one = dataclasses.replace(target, steps=step)
        core = live.take_core(one, "kernel", work, None, time.monotonic() + SECONDS)
        core.rename(folder / f"core.{step}")
        shutil.rmtree(work)


def gcore_cores(target, folder):
    """Cores of one process, with what the kernel said of it."""
    deadline = time.monotonic() + SECONDS
    child = subprocess.Popen([live.executable(target), *target.program.arguments,
                              "-dump", "wait", "-truth", "truth"], cwd=folder,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             start_new_session=True)
    try:
        for step in range(1, STEPS + 1):
            if child.stdout.readline() != f"step {step}\n".encode():
                raise live.Failure(f"the program did not come to step {step}")
            time.sleep(0.1)
            work = folder / f"work{step}"
            work.mkdir()
            live.keep_sidecar(child.pid, work, deadline)
            live.gcore(child.pid, work, deadline)
            child.send_signal(signal.SIGCONT)
            live.find_core(work).rename(folder / f"core.{step}")
            (work / "process").rename(folder / f"core.{step}.d")
            shutil.rmtree(work)
            child.stdin.write(b"x")
            child.stdin.flush()
    finally:
        live.end(child)


TAKE = {"kernel": kernel_cores, "gcore": gcore_cores}


# ---- what is said of them

def check_diff(store, growth, dump):
    document = store.json("diff", "core.1", f"core.{STEPS}")
    sentence = store.run("diff", "core.1", f"core.{STEPS}").splitlines()[0]
    if document["same_process"] != (dump == "gcore"):
        yield f"diff: same_process {document['same_process']}"
    yield from check_survivors(document)
    if not growth.classes:
        if "is steady" not in sentence or "no class changed" not in sentence:
            yield f"diff of what is steady: {sentence}"
        return
    first = document["classes"][0]
    if not re.fullmatch(growth.classes, first["id"]):
        yield f"diff: most grown class {first['id']}, not {growth.classes}"
    if not re.search(growth.classes, sentence.partition(": ")[2] or sentence):
        yield f"diff: {sentence}"
    for level, pattern in growth.rows:
        row = document[level][0]
        if not re.fullmatch(pattern, row["id"]):
            yield f"diff: most grown of {level}: {row['id']}, not {pattern}"
    for words in growth.said:
        if words not in sentence:
            yield f"diff does not say '{words}': {sentence}"


def check_survivors(document):
    """The program lets go of nothing that it had in the beginning, but for some noise."""
    if document["same_process"] != bool(document["survivors"]):
        yield f"diff: survivors {document['survivors']}"
        return
    for row in document["survivors"] or ():
        if row["id"] != "manual" and row["both"] < 3 * row["gone"]:
            yield f"diff: survivors {row}"


def check_documents(store):
    """Of documents diff says what it says of the cores."""
    documents = {json.loads(path.read_text())["snapshot"]["path"]: path
                 for path in (store.folder / "documents").iterdir()}
    of_cores = store.run("diff", "core.1", f"core.{STEPS}")
    of_documents = store.run("diff", documents["core.1"], documents[f"core.{STEPS}"])
    if of_cores.partition("\nWhat was there before")[0].rstrip() != of_documents.rstrip():
        yield "diff of documents is another than of their cores"


def check_history(store, growth):
    cores = [f"core.{step}" for step in range(1, STEPS + 1)]
    batch = store.json("batch", *cores, "--db", "h.db", "--documents", "documents")
    if batch["analysed"] != STEPS or batch["partial"]:
        yield f"batch: {batch}"
    listed = [row["path"] for row in store.json("history", "list", "--db", "h.db")["snapshots"]]
    if listed != cores:
        yield f"history list: {listed}"
    if not growth.classes:
        return
    name = store.json("diff", "core.1", f"core.{STEPS}")["classes"][0]["id"]
    trend = store.json("history", "trend", name, "--db", "h.db")
    if trend["known"] != STEPS or trend["rises"] < STEPS - 2 or trend["fit"] < 0.95:
        yield f"trend of {name}: {trend['rises']} rises, {trend['falls']} falls, {trend['fit']:.3f}"


RULES = pathlib.Path(__file__).resolve().parents[2] / "src" / "rules" / "soak.yaml"


def check_rules(store, growth):
    """The rules that come with the program fire for what grows, and say what it is."""
    document = store.json("check", "--rules", RULES, "--db", "h.db",
                          statuses=(1,) if growth.fires else (0,))
    if document["unknown"]:
        yield f"check: {document['unknown']} findings cannot be told"
    fired = [(row["name"], row["row"]) for row in document["checks"] if row["result"] == "fired"]
    for rule, row in growth.fires:
        if not any(name == rule and re.fullmatch(row, found) for name, found in fired):
            yield f"check: {rule} does not fire for {row}: {fired}"
    if fired and not growth.fires:
        yield f"check of what is steady: {fired}"


def check_growth(store, growth, dump):
    yield from check_diff(store, growth, dump)
    yield from check_history(store, growth)
    yield from check_documents(store)
    yield from check_rules(store, growth)


# ---- many of them

MANY = 500
KIB_A_FILE = 3  # as spanscope(1) has it


def contents(store, database):
    """All that a database has, without what depends on the order of adding."""
    listed = store.json("history", "list", "--db", database, "--order", "name")
    return listed, [store.json("history", "show", str(row["n"]), "--db", database, "--order", "name")
                    for row in listed["snapshots"][:: len(listed["snapshots"]) // 20]]


def peak_memory(pid, before):
    """The most memory that a process has had, in KiB; what it was when it has ended."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        return int(re.search(r"^VmHWM:\s+(\d+) kB", status, re.M)[1])
    except (OSError, TypeError):
        return before


def batch(store, count, database):
    """Runs a batch; returns the seconds, and the most memory that it had without its workers, and
    that any worker had, in KiB."""
    begin = time.monotonic()
    child = subprocess.Popen([store.path, "batch", f"many{count}", "--db", database, "--jobs", "2",
                              "--json", "-o", f"{database}.json"], cwd=store.folder)
    own = pid = 0
    while not pid:
        own = peak_memory(child.pid, own)
        time.sleep(0.05)
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise live.Failure(f"batch: exit status {child.returncode}")
    return time.monotonic() - begin, own, usage.ru_maxrss


def kill_and_resume(store, count, database, seconds):
    """Kills a batch with all its workers, again and again, until one comes to its end."""
    kills = 0
    while True:
        child = subprocess.Popen([store.path, "batch", f"many{count}", "--db", database, "-j2",
                                  "-q"], cwd=store.folder, stdout=subprocess.DEVNULL,
                                 start_new_session=True)
        try:
            child.wait(seconds / 4 * random.uniform(0.5, 1.5))
            return kills
        except subprocess.TimeoutExpired:
            os.kill(child.pid, signal.SIGKILL)
            child.wait()
            kills += 1


def check_many(store, count):
    for few in (count // 2, count):
        folder = store.folder / f"many{few}"
        folder.mkdir()
        for i in range(few):
            os.link(store.folder / f"core.{i % STEPS + 1}", folder / f"core.{i}")
    seconds, memory, workers = batch(store, count, "whole.db")
    _, less, _ = batch(store, count // 2, "few.db")
    print(f"  batch of {count}: {seconds:.1f} s, {count / seconds:.0f} snapshots a second by 2 "
          f"workers of at most {workers} KiB; it had {memory} KiB itself, with {count // 2} "
          f"snapshots {less} KiB", flush=True)
    # What became of each file is kept for the summary; SQLite's cache is full with either.
    if not 0 < memory <= less + KIB_A_FILE * (count - count // 2):
        yield f"a batch of {count} took {memory} KiB, one of {count // 2} {less} KiB"
    kills = kill_and_resume(store, count, "resumed.db", seconds)
    print(f"  killed {kills} times", flush=True)
    if not kills:
        yield "the batch was not killed"
    if contents(store, "whole.db") != contents(store, "resumed.db"):
        yield "a batch that was killed and resumed ended with another result"


# ---- all

def problems(name, dump, release, options):
    growth = GROWTHS[name]
    target = Target(release, growth.mode, name)
    with tempfile.TemporaryDirectory(prefix="spanscope-store.") as scratch:
        folder = pathlib.Path(scratch)
        store = Store(options.spanscope.resolve(), folder)
        TAKE[dump](target, folder)
        yield from check_growth(store, growth, dump)
        if name == options.many and dump == "kernel":
            yield from check_many(store, options.count)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spanscope", type=pathlib.Path, required=True)
    parser.add_argument("--releases", default="1.19,1.27")
    parser.add_argument("--kinds", default=",".join(GROWTHS))
    parser.add_argument("--dumps", default="kernel,gcore")
    parser.add_argument("--all", action="store_true",
                        help="each release by each dump, not one by one")
    parser.add_argument("--many", default="goroutines",
                        help="whose cores make the large batch (its memory is measured: "
                        "without sanitizers)")
    parser.add_argument("--count", type=int, default=MANY)
    return parser.parse_args()


def main():
    options = parse()
    hindered = live.kernel_obstacle()
    if hindered:
        sys.exit(f"store: {hindered}")
    counts = {"ok": 0, "not ok": 0}
    releases, dumps = options.releases.split(","), options.dumps.split(",")
    for release, dump in (itertools.product if options.all else zip)(releases, dumps):
        for name in options.kinds.split(","):
            try:
                wrong = list(problems(name, dump, release, options))
            except live.Failure as failure:
                wrong = [str(failure)]
            counts["not ok" if wrong else "ok"] += 1
            print("not ok" if wrong else "ok", release, name, dump,
                  *(f": {text}" for text in wrong), flush=True)
        if dump == "kernel":
            options.many = None  # once is enough
    print(f"store: {counts['ok']} passed, {counts['not ok']} failed, 0 skipped")
    sys.exit(counts["not ok"] > 0)


if __name__ == "__main__":
    main()
