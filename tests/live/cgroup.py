"""The memory of a process's cgroup: a group is made for the test, below the one that it runs in, with
file cache and another process beside the one that is dumped. Works with both versions."""

import contextlib
import os
import pathlib
import subprocess
import sys
import time

import live
from tool import Failure, Tool, end

ROOT = pathlib.Path("/sys/fs/cgroup")
FILE_MIB = 32
OTHER_MIB = 64
LIMIT = 1 << 30
# What the kernel has charged ahead for each CPU, and of others in the group: a shell, page tables.
AHEAD = (256 << 10) * (os.cpu_count() or 1) + (2 << 20)


def own_group():
    """The folder of the group that we are in, and its controller's version."""
    lines = pathlib.Path("/proc/self/cgroup").read_text().splitlines()
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            return ROOT / "memory" / path.lstrip("/"), 1
    for line in lines:
        if line.startswith("0::"):
            return ROOT / line[3:].lstrip("/"), 2
    return None, 0


def make(name):
    """A new group, with a limit that is far; its folder."""
    parent, version = own_group()
    if not parent or not parent.is_dir():
        raise OSError("no cgroup of ours is mounted")
    if version == 2 and "memory" not in (parent / "cgroup.subtree_control").read_text():
        # A group with processes may not have groups below; there is only this way around.
        parent = ROOT
        (parent / "cgroup.subtree_control").write_text("+memory")
    folder = parent / name
    folder.mkdir()
    (folder / ("memory.limit_in_bytes" if version == 1 else "memory.max")).write_text(str(LIMIT))
    return folder


@contextlib.contextmanager
def group(name):
    folder = make(name)
    try:
        yield folder
    finally:
        for _ in range(100):  # until all processes are gone
            with contextlib.suppress(OSError):
                folder.rmdir()
                break
            time.sleep(0.1)


def missing():
    try:
        with group(f"spanscope-{os.getpid()}-try"):
            return None
    except OSError as error:
        return f"no cgroup can be made: {error}"


def start(folder, command, **options):
    """Starts a command whose memory is the group's from its beginning."""
    return subprocess.Popen(["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', folder, *command],
                            stdin=subprocess.DEVNULL, start_new_session=True, **options)


OTHER = f"""
import sys, time
memory = bytearray(b"x" * ({OTHER_MIB} << 20))
print("there", flush=True)
time.sleep(600)
"""


def start_other(folder):
    """Another process of the group, with memory of its own; returns when it has it."""
    other = start(folder, [sys.executable, "-c", OTHER], stdout=subprocess.PIPE)
    if other.stdout.readline() != b"there\n":
        raise Failure("the other process did not start")
    return other


def fill_cache(folder, file):
    """File cache that is the group's: of a file that one of its processes writes."""
    writer = start(folder, ["dd", "if=/dev/zero", f"of={file}", "bs=1M", f"count={FILE_MIB}",
                            "conv=fsync", "status=none"])
    if writer.wait(60):
        raise Failure("dd in the group failed")


def private_bytes(pid):
    """Of a process, with its page tables."""
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    figures = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    return sum(int(figures[name].split()[0]) << 10 for name in ("RssAnon", "VmPTE"))


def verdict(tool):
    found = [each for each in tool.json("overview")["verdicts"] if each["id"] == "cgroup"]
    return found[0] if found else None


def near(what, bytes_, known, slack):
    if not known - slack <= bytes_ <= known * 1.02 + slack:
        yield f"{what}: {bytes_}, was {known}"


def dump(target, cgroup, folder, options, deadline, beside):
    """A core with its sidecar of the program in the group; beside: with the cache and the other
    process there. Returns the tool, and what the other process had."""
    folder.mkdir()
    with open(folder / "output", "wb") as output:
        child = start(cgroup, [live.executable(target), *target.program.arguments, "-dump", "wait",
                               "-truth", "truth"], cwd=folder, stdout=output, stderr=output)
    other = None
    try:
        if beside:
            other = start_other(cgroup)
            fill_cache(cgroup, folder / "file")
        live.await_truth(child, folder, True, deadline)
        live.keep_sidecar(child.pid, folder, deadline)
        live.gcore(child.pid, folder, deadline)
        others = private_bytes(other.pid) if other else 0
    finally:
        end(child)
        if other:
            end(other)
            other.stdout.close()
    core = live.find_core(folder)
    (folder / "process").rename(folder / f"{core.name}.d")
    return Tool(options.spanscope, core, deadline), others


def check_full(tool, others):
    """Each part is what was put there."""
    found = verdict(tool)
    if not found:
        yield "the verdict is not there"
        return
    parts = found["evidence"]
    rows = {row["id"]: row["bytes"] for row in tool.json("ledger")["cgroup"]}
    if rows.pop("usage") != sum(rows.values()):
        yield f"the parts do not sum to the usage: {rows}"
    rss_file = next(row["kernel"] for row in tool.json("ledger")["kernel"] if row["id"] == "RssFile")
    yield from near("file", parts["file"], FILE_MIB << 20, AHEAD + rss_file)
    yield from near("others", parts["others"], others, AHEAD + rss_file)
    if parts.get("limit") != LIMIT:
        yield f"limit {parts.get('limit')}"


def check(target, folder, options):
    deadline = live.start(target)
    with group(f"spanscope-{os.getpid()}-{target.release}") as cgroup:
        tool, others = dump(target, cgroup, folder / "full", options, deadline, True)
        yield from check_full(tool, others)
    # The same process alone: the group is charged for nothing else.
    with group(f"spanscope-{os.getpid()}-{target.release}") as cgroup:
        tool, _ = dump(target, cgroup, folder / "alone", options, deadline, False)
        if found := verdict(tool):
            yield f"alone: {found}"
