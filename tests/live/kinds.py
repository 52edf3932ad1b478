#!/usr/bin/env python3
"""One process in every kind of snapshot: what each is taken for, and that it says the same.

A program that stands still is dumped by gcore, by a newer gcore that leaves holes, and by dlv;
another by the kernel, whose core is then copied and packed in many ways, and by the kernel with
too little room. Every whole snapshot must give the MemStats that the program read; every copy the
classes of the original; each the evidence that is left in it. Lines are those of live.py.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True

import arguments
import cgroup
import checks
import handlers
import live
import truth

RELEASES = ["1.19", "1.24", "1.27"]

# Bytes that the kernel may write; the program has more in memory.
LIMIT = 8 << 20
# Of the file system that is too small: no round figure, as a limit would be.
DISK = 7_500 << 10

# What became of a core by the kernel: the command, and whether its holes are still the kernel's.
COPIES = [
    ("moved", "ln core moved", True),
    ("tarred", "tar -S --hole-detection=seek -cf t core && mkdir x && tar -xSf t -C x &&"
               " mv x/core tarred", True),
    ("copied", "cp --reflink=never core copied", False),
    ("sparse", "cp --sparse=always core sparse", False),
    ("dd", "dd if=core of=dd bs=4k conv=sparse status=none", False),
    ("dense", "cat core >dense", False),
    ("piped", "cat core | dd of=piped bs=64k status=none", False),
    ("zstd", "zstd -q core -o z && zstd -qd z -o zstd", False),
    ("lz4", "lz4 -q core l && lz4 -dq l lz4", False),
    ("core.zst", "zstd -q core -o core.zst", False),
    ("core.gz", "gzip -1 <core >core.gz", False),
    ("core.tar", "tar -cf core.tar core", False),
    ("core.tar.lz4", "tar -S --hole-detection=seek -cf - core | lz4 -q >core.tar.lz4", True),
    ("pack.tar.zst", "SPANSCOPE pack core -o pack.tar.zst >/dev/null", True),
]


def shell(command, folder, deadline, options):
    command = command.replace("SPANSCOPE", options.spanscope)
    result = live.run(["sh", "-c", command], deadline - time.monotonic(), cwd=folder)
    if result.returncode:
        raise live.Failure(f"{command}: {live.last_line(result.stderr)}")


# ---- what is said of a snapshot

def expect(document, kind, evidence, cut=False):
    core = document["core"]
    if (core["kind"], core["truncated"]) != (kind, cut):
        yield f"core is {core['kind']}, truncated {core['truncated']}"
    if document["evidence"] != evidence:
        yield f"evidence {document['evidence']}, not {evidence}"


def check_whole(tool, known, kind):
    """A snapshot of the process that nothing was lost of."""
    yield from expect(tool.json("overview"), kind, "nonzero")
    yield from checks.memstats(tool.json("memstats"), tool.json("verify"), known, True)
    yield from checks.ledger(tool.json("ledger"), "gcore")
    yield from checks.ledger_twins(tool.classes(), known)
    yield from checks.verify(tool.json("verify"))


def check_copy(tool, original, own_holes):
    yield from expect(tool.json("overview"), "kernel", "populated" if own_holes else "nonzero")
    for name, row in original.items():
        copy = tool.classes()[name]
        if copy["virtual"] != row["virtual"]:
            yield f"{name}: virtual {copy['virtual']}, was {row['virtual']}"
        if own_holes and copy != row:
            yield f"{name}: {copy}, was {row}"
        if (copy["resident"] or 0) > (row["resident"] or 0):
            yield f"{name}: resident {copy['resident']}, more than {row['resident']}"


def check_cut(tool, known, cause):
    """The tables are lost: the cause is said, and what the runtime counted is shown."""
    document = tool.run_json("overview", statuses=(4,))
    yield from expect(document, "kernel", "populated", cut=True)
    if cause not in document["core"]["cut_cause"]:
        yield f"cause: {document['core']['cut_cause']}"
    found = {finding["code"] for finding in document["diagnostics"]}
    if not {"truncated", "tables-lost"} <= found:
        yield f"findings: {found}"
    counters = {row["name"]: row["bytes"] for row in document["counters"]}
    for name, value in counters.items():
        # The objects of the cached spans are counted in lost structures.
        if value > known[name] if name == "HeapAlloc" else value != known[name]:
            yield f"counter {name}: {value}, the program read {known[name]}"
    heap = document["heap"]
    if not known["HeapInuse"] <= int(heap["hi"], 16) - int(heap["lo"], 16):
        yield f"heap: {heap}"
    if heap["resident"] > known["Sys"]:
        yield f"heap: {heap['resident']} resident"


# ---- taking them

def start_waiting(target, folder, deadline):
    with open(folder / "output", "wb") as output:
        child = subprocess.Popen([live.executable(target), *target.program.arguments, "-dump",
                                  "wait", "-truth", "truth"], cwd=folder, stdin=subprocess.DEVNULL,
                                 stdout=output, stderr=output, start_new_session=True)
    live.await_truth(child, folder, True, deadline)
    return child


def newer_gcore():
    return live.CACHE / "gdb" / "gcore"


def dump_newer(child, folder, deadline):
    result = live.run([newer_gcore(), "-o", "newer", str(child.pid)],
                      deadline - time.monotonic(), cwd=folder)
    if result.returncode:
        raise live.Failure(f"the newer gcore: {live.last_line(result.stderr)}")
    return folder / f"newer.{child.pid}"


def dump_gcore(child, folder, deadline):
    live.gcore(child.pid, folder, deadline)
    return folder / f"core.{child.pid}"


def dump_delve(child, folder, deadline):
    (folder / "commands").write_text("dump delve\nexit\n")
    result = live.run(["dlv", "attach", str(child.pid), "--init", "commands",
                       "--allow-non-terminal-interactive", "--check-go-version=false"],
                      deadline - time.monotonic(), cwd=folder,
                      env=dict(os.environ, HOME=str(folder)))
    if not (folder / "delve").exists():
        raise live.Failure(f"dlv: {live.last_line(result.stderr + result.stdout)}")
    return folder / "delve"


# dlv may end the process.
DEBUGGERS = [("newer gcore", dump_newer, "gcore"), ("gcore", dump_gcore, "gcore"),
             ("dlv", dump_delve, "delve")]


def check_debuggers(target, folder, options):
    deadline = live.start(target)
    child = start_waiting(target, folder, deadline)
    known = truth.read(folder)
    try:
        for name, dump, kind in DEBUGGERS:
            for problem in live.guarded(lambda: check_whole(
                    live.Tool(options.spanscope, dump(child, folder, deadline), deadline),
                    known, kind)):
                yield f"{name}: {problem}"
    finally:
        live.end(child)
    newer = next(folder.glob("newer.*"))
    if newer.stat().st_blocks * 512 > newer.stat().st_size / 2:
        yield "the newer gcore left no holes: it is not what is to be tested"


def check_copies(target, folder, options):
    core, _, tool = live.take(target, "kernel", folder, options, live.start(target))
    core = core.rename(folder / "core")
    tool = live.Tool(options.spanscope, core, tool.deadline)
    yield from expect(tool.json("overview"), "kernel", "populated")
    for name, command, own_holes in COPIES:
        shell(command, folder, tool.deadline, options)
        copy = live.Tool(options.spanscope, folder / name, tool.deadline)
        for problem in live.guarded(lambda: check_copy(copy, tool.classes(), own_holes)):
            yield f"{name}: {problem}"
    yield from check_no_room(folder, tool.deadline, options)


def namespace():
    """The beginning of a command whose mounts are its own."""
    return ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])


def check_no_room(folder, deadline, options):
    """There is no room to unpack: one line says so, and nothing is left."""
    (folder / "small").mkdir()
    script = ("mount -t tmpfs -o size=1m none small || exit 1;"
              f" TMPDIR=small {options.spanscope} core.zst; status=$?; ls -A small; exit $status")
    result = live.run([*namespace(), "sh", "-c", script], deadline - time.monotonic(), cwd=folder)
    if (result.returncode != 3 or result.stdout or len(result.stderr.splitlines()) != 1
            or "1.00 MiB are free; set TMPDIR to a folder with room" not in result.stderr):
        yield f"no room: status {result.returncode}: {result.stdout}{result.stderr}"


def crash(command, folder, deadline):
    """Runs a command that ends by SIGABRT, or says that its child did."""
    environment = {"PATH": os.environ.get("PATH", os.defpath), "GOTRACEBACK": "crash"}
    result = live.run(command, deadline - time.monotonic(), cwd=folder, env=environment)
    if result.returncode not in (-signal.SIGABRT, 128 + signal.SIGABRT):
        raise live.Failure(f"the program ended with {result.returncode}:"
                           f" {live.last_line(result.stderr)}")


def program(target):
    return [str(live.executable(target)), *target.program.arguments, "-dump", "abort", "-truth"]


def check_limit(target, folder, options):
    deadline = live.start(target)
    crash(["prlimit", f"--core={LIMIT}", *program(target), "truth"], folder, deadline)
    tool = live.Tool(options.spanscope, live.find_core(folder), deadline)
    yield from check_cut(tool, truth.read(folder), "RLIMIT_CORE (ulimit -c): 8.00 MiB")


def check_full_disk(target, folder, options):
    """The core goes to a small file system, which is there for the program alone: the core leaves
    it in a tar, which keeps its holes."""
    deadline = live.start(target)
    disk = folder / "disk"
    disk.mkdir()
    script = (f"mount -t tmpfs -o size={DISK} none disk || exit 1; (cd disk && exec \"$@\" ../truth);"
              " status=$?; cd disk && tar -S --hole-detection=seek -cf ../core.tar core* &&"
              " exit $status")
    crash([*namespace(), "sh", "-c", script, "sh", *program(target)], folder, deadline)
    tool = live.Tool(options.spanscope, folder / "core.tar", deadline)
    yield from check_cut(tool, truth.read(folder), "disk was full when the kernel wrote it")


def cpu_seconds(pid):
    user, system = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def check_late(target, folder, options):
    """Copies of /proc from before the process ran on are told, those from when it stood still
    are not."""
    deadline = live.start(target)
    child = subprocess.Popen(["sh", "-c", "while :; do :; done"], cwd=folder,
                             start_new_session=True)
    try:
        live.keep_sidecar(child.pid, folder, deadline)
        child.send_signal(signal.SIGCONT)
        while cpu_seconds(child.pid) < 2.5 and time.monotonic() < deadline:
            time.sleep(0.1)
        (folder / "process").rename(folder / "early")
        live.keep_sidecar(child.pid, folder, deadline)
        child.send_signal(signal.SIGABRT)
        child.send_signal(signal.SIGCONT)
        child.wait()
    finally:
        live.end(child)
    tool = live.Tool(options.spanscope, live.find_core(folder).rename(folder / "core"), deadline)
    for name, late in (("early", True), ("process", False)):
        (folder / name).rename(folder / "core.d")
        document = tool.run_json("overview", statuses=(4,))  # there is no Go in it
        if document["evidence"] != "exact":
            yield f"{name}: evidence {document['evidence']}"
        found = {finding["code"] for finding in document["diagnostics"]}
        if ("sidecar-time" in found) != late:
            yield f"{name}: findings {found}"
        (folder / "core.d").rename(folder / name)


PARTS = {
    "gcore": [check_debuggers],
    "kernel": [check_copies, check_limit, check_full_disk, check_late],
    "cgroup": [cgroup.check],
    "systemd": [handlers.check_systemd],
    "handler": [handlers.check_handler],
}


def run_test(target, dump, folder, options):
    for part in PARTS[dump]:
        place = folder / part.__name__
        place.mkdir()
        for problem in live.guarded(lambda: part(target, place, options)):
            yield f"{part.__name__}: {problem}"
        if not options.keep:
            shutil.rmtree(place)


def missing_programs(*names):
    lacks = [name for name in names if not shutil.which(name)]
    return f"no {', no '.join(lacks)}" if lacks else None


def missing_debuggers():
    if not newer_gcore().exists():
        return "no newer gdb; see scripts/fetch-gdb"
    return missing_programs("dlv")


# What a sort of test needs that this machine may lack, and the dumps on the command line that it
# belongs to. Handlers come last, and one by one: no other core may be written meanwhile.
SORTS = [
    ("kernel", "kernel", lambda: missing_programs("lz4", "zstd", "unshare", "prlimit")),
    ("gcore", "gcore", missing_debuggers),
    ("cgroup", "gcore", cgroup.missing),
    ("systemd", "kernel", handlers.missing_systemd),
    ("handler", "kernel", handlers.missing),
]


def run_sorts(options, sorts):
    """Runs the tests of some sorts, as far as they can be; returns the counts."""
    tests, skipped = [], 0
    for sort, dump, missing in SORTS:
        if sort not in sorts or dump not in options.dumps:
            continue
        chosen = [(live.Target(release, "static", "quiet"), sort) for release in options.releases]
        if reason := missing():
            print(f"skip {sort} ({len(chosen)} tests): {reason}")
            skipped += len(chosen)
        else:
            tests += chosen
    counts = live.run_tests(tests, options, run_test, lambda target, dump: {})
    counts["skipped"] += skipped
    return counts


def main():
    options = live.prepare(__doc__, ["quiet"], RELEASES)
    options.results = None  # they are about files, and show nothing of a release that the table has
    counts = run_sorts(options, ["kernel", "gcore", "cgroup", "systemd"])
    options.jobs = 1
    for result, count in run_sorts(options, ["handler"]).items():
        counts[result] += count
    return arguments.conclude("kinds", counts)


if __name__ == "__main__":
    sys.exit(main())
