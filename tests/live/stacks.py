"""Compares what spanscope says of goroutines with how the process itself listed them: FILE.stacks
is runtime.Stack of all, FILE.profile pprof.Lookup("goroutine") with debug=1."""

import collections
import json
import pathlib
import re
import subprocess

import twins

HEADER = re.compile(r"goroutine (\d+) (?:gp=\S+ m=\S+ (?:mp=\S+ )?)?\[([^\]]*)\]:$")
PLACE = re.compile(r"\t(.*):(\d+)(?: \+0x[0-9a-f]+)?$")
CREATED = re.compile(r"created by (.*?)(?: in goroutine (\d+))?$")
GROUP = re.compile(r"(\d+) @ ")
LABELS = "# labels: "
FRAME = re.compile(r"#\t0x[0-9a-f]+\t+(.*?)\+0x[0-9a-f]+\s+(.*):(\d+)$")

# The listing calls runtime.gopanic what the program calls it; other calls of the runtime's are
# shown by name only where they are exported.
PANIC = "panic"


def plain(name):
    """A function's name as listings have it: without types that it was made for."""
    return re.sub(r"\[.*\]", "[...]", name)


def is_runtime(name):
    """What a listing leaves out, or spells otherwise: what cgo makes has no dot in its name."""
    return name.startswith("runtime.") or name == PANIC or "." not in name


def read_locked(text):
    """The goroutines of a listing that are locked to their threads."""
    headers = filter(None, map(HEADER.match, text.splitlines()))
    return {int(header[1]) for header in headers if "locked to thread" in header[2]}


def read_stacks(text):
    """{goid: (state, [(function, file, line)], creation)} of a listing."""
    goroutines = {}
    for block in text.strip().split("\n\n"):
        lines = block.splitlines()
        header = HEADER.match(lines[0])
        if not header:
            raise ValueError(f"no header of a goroutine: {lines[0]}")
        frames, created = [], None
        for call, place in zip(lines[1::2], lines[2::2]):
            where = PLACE.match(place)
            if by := CREATED.match(call):
                created = by[1], where[1], int(where[2]), by[2] and int(by[2])
            elif not is_runtime(call[:call.rindex("(")]):
                frames.append((call[:call.rindex("(")], where[1], int(where[2])))
        goroutines[int(header[1])] = header[2].split(",")[0], frames, created
    return goroutines


def read_profile(text):
    """{stack: number} of a profile, the runtime's calls left out."""
    groups, count, frames = collections.Counter(), 0, []
    for line in [*text.splitlines()[1:], ""]:
        if head := GROUP.match(line):
            count, frames = int(head[1]), []
        elif frame := FRAME.match(line):
            if not is_runtime(frame[1]):
                frames.append((plain(frame[1]), frame[2], int(frame[3])))
        elif not line and count:
            groups[tuple(frames)] += count
            count = 0
    return groups


def read_labels(text):
    """{labels: number of goroutines} of a profile."""
    labelled, count = collections.Counter(), 0
    for line in text.splitlines():
        if head := GROUP.match(line):
            count = int(head[1])
        elif line.startswith(LABELS):
            labels = json.loads(line[len(LABELS):])
            labelled[tuple(f"{key}={value}" for key, value in sorted(labels.items()))] += count
    return labelled


def calls(rows):
    """The frames of a group as a listing has them."""
    return [(plain(row["func"]), row["file"], row["line"]) for row in rows
            if not is_runtime(row["func"])]


def check_each(document, known, moving):
    """Goroutine by goroutine. Those that move have no lines that could be compared."""
    seen = {row["goid"]: row for row in document["goroutines"]}
    for goid, (state, frames, created) in known.items():
        row = seen.get(goid)
        if not row:
            yield f"goroutine {goid} is missing"
            continue
        ours = calls(document["groups"][row["group"]]["frames"])
        if goid == 1 or frames and frames[0][0] == "main.spin":
            if [name for name, _, _ in ours][-1:] != [frames[-1][0]]:
                yield f"goroutine {goid}: {ours}, not {frames}"
            continue
        if row["state"] != state and not moving:
            yield f"goroutine {goid}: {row['state']}, not {state}"
        if ours != frames:
            yield f"goroutine {goid}: {ours}, not {frames}"
        by = row["created_by"]
        if created and (by["file"], by["line"]) != created[1:3]:
            yield f"goroutine {goid}: created at {by['file']}:{by['line']}, not {created}"
        if created and created[3] and row["parent"] != created[3]:
            yield f"goroutine {goid}: created by {row['parent']}, not {created[3]}"
    users = {goid for goid, row in seen.items()
             if not document["groups"][row["group"]]["system"]}
    if users != set(known):
        yield f"goroutines {sorted(users ^ set(known))} are in one list only"


def check_groups(document, profile):
    """Group by group; main, which wrote the profile, has moved since."""
    ours = collections.Counter()
    for group in document["groups"]:
        if not group["system"]:
            ours[tuple(calls(group["frames"]))] += group["count"]
    def others(groups):
        return {stack: n for stack, n in groups.items()
                if not any(name in ("main.main", "main.spin") for name, _, _ in stack)}
    ours, known = others(ours), others(profile)
    for stack in ours.keys() | known.keys():
        if ours.get(stack, 0) != known.get(stack, 0):
            yield f"{ours.get(stack, 0)} goroutines, not {known.get(stack, 0)}, in {stack}"


def check_standing(document, before, after):
    """What stood still between two profiles of a server stands in the core. The server's own HTTP
    moves with each question."""
    ours = collections.Counter()
    for group in document["groups"]:
        if not group["system"]:
            ours[tuple(calls(group["frames"]))] += group["count"]
    standing = {stack: n for stack, n in before.items()
                if stack and after.get(stack) == n
                and not any(name.startswith("net/http.") for name, _, _ in stack)}
    if not standing:
        yield f"no group of {len(before)} stood still"
    for stack, n in standing.items():
        if ours.get(stack, 0) != n:
            yield f"{ours.get(stack, 0)} goroutines, not {n}, in {stack}"


def check_stacks(document, moving=False):
    """Sums, and complete stacks. moving: what ran may have stood anywhere, where C begins too."""
    total = collections.Counter()
    for group in document["groups"]:
        for key in ("allocated", "used", "resident"):
            total[key] += group["stack"][key]
        if group["ends"] != "bottom" and not (moving and group["status"] == "running"):
            yield f"a stack ends in '{group['ends']}': {group['frames'][-1]}"
    for key, value in total.items():
        if document["total"]["stack"][key] != value:
            yield f"total {key} {document['total']['stack'][key]}, groups {value}"


def check_labels(document, known):
    """The planted labels, on as many goroutines as have them."""
    seen = collections.Counter()
    for group in document["groups"]:
        if group["labels"]:
            seen[tuple(group["labels"])] += group["count"]
    if not known or seen != known:
        yield f"labels {dict(seen)}, not {dict(known)}"


def check_locked(document, known):
    """Those that locked themselves, and those that C called."""
    seen = {row["goid"] for row in document["goroutines"]
            if row["locked"] and not document["groups"][row["group"]]["system"]}
    if seen != known:
        yield f"goroutines {sorted(seen)} are locked to threads, not {sorted(known)}"


def check_addresses(document, named):
    """Without an executable the same groups are found by frame pointers, as addresses; with names
    where the core has the executable's constants (qemu's, and some position-independent ones)."""
    if any(row["func"] for group in document["groups"] for row in group["frames"]):
        if stacks_of(document) != stacks_of(named):
            yield "no-exe: there are names, but other groups"
        return
    def waiting(groups):
        return sum(group["count"] for group in groups if group["status"] == "waiting")
    if waiting(document["groups"]) != waiting(named["groups"]):
        yield f"no-exe: {waiting(document['groups'])} goroutines wait"
    # What the tables found of a goroutine that waits is found without them too, and wrappers.
    found = [set(addresses(group)) for group in document["groups"]]
    for group in named["groups"]:
        names = [row["func"] for row in group["frames"]]
        if group["status"] == "waiting" and not group["system"] and not through_c(names) and \
                not any(holds(more, addresses(group)) for more in found):
            yield f"no-exe: lost {names}"


def stacks_of(document):
    groups = collections.Counter()
    for group in document["groups"]:
        groups[group["status"], tuple(calls(group["frames"]))] += group["count"]
    return groups


def through_c(names):
    """C keeps frame pointers of its own: what called it cannot be found without tables."""
    return any(name and name.startswith("runtime.cgocallback") for name in names)


def addresses(group):
    """Of the calls that were compiled as such."""
    return [int(row["pc"], 16) for row in group["frames"] if not row["inlined"]]


def holds(found, known):
    """What a signal interrupted stands at its instruction, not behind a call."""
    return all(pc in found or pc - 1 in found for pc in known)


def check_twin(tool, known):
    """A stripped executable has the same table of functions."""
    twin = twins.strip(pathlib.Path(tool.json("overview")["exe"]["path"]), tool.core.parent)
    document = tool.run_json("goroutines", "--all", "--labels", "--threads", after=(twin,))
    twin.unlink()
    for key in ("groups", "goroutines", "threads", "total", "clock_ns"):
        for difference in list(twins.compare(known[key], document[key], key))[:3]:
            yield f"twin: {difference}"


DELVE_READS = "go1.19"  # of Debian 12
DELVE_GOROUTINE = re.compile(r"\*? *Goroutine (\d+) - ")
DELVE_CALL = re.compile(r"\t *\d+ +0x[0-9a-f]+ in (.*)$")
DELVE_PLACE = re.compile(r"\t +at (.*):(\d+)$")
DELVE_FRAMES = 400
# What only calls something else, which the runtime does not list (cmd/internal/objabi/funcid.go).
WRAPPER = re.compile(r"\.func\d+(\.\d+)*$|-fm$|^runtime\.(runOpenDeferFrame|deferCallSave)$")


def read_delve(text):
    """{goid: [(function, file, line)]} of delve's listing."""
    goroutines, frames, name = {}, [], None
    for line in text.removeprefix("(dlv) ").splitlines():
        if header := DELVE_GOROUTINE.match(line):
            frames = goroutines[int(header[1])] = []
        elif call := DELVE_CALL.match(line):
            name = call[1]
        elif place := DELVE_PLACE.match(line):
            frames.append((name, place[1], int(place[2])))
    return goroutines


def ask_delve(tool):
    """Delve's listing of the same core."""
    exe = tool.json("overview")["exe"]["path"]
    command = ["dlv", "core", exe, str(tool.core), "--check-go-version=false",
               "--allow-non-terminal-interactive=true"]
    result = subprocess.run(command, input=f"goroutines -t {DELVE_FRAMES}\nexit\n", text=True,
                            capture_output=True, timeout=120, cwd=tool.core.parent)
    return read_delve(result.stdout)


def check_delve(tool, document):
    """Another reader of the same core finds the same calls, the runtime's own too. It shows
    wrappers, and follows what signals and changes of stacks interrupt in another way."""
    known = ask_delve(tool)
    for row in document["goroutines"]:
        group = document["groups"][row["group"]]
        names = [frame["func"] for frame in group["frames"]]
        if group["status"] != "waiting" or len(names) >= DELVE_FRAMES or through_c(names) or \
                names[0] == "runtime.systemstack_switch":
            continue
        ours = [(plain(frame["func"]), frame["file"], frame["line"]) for frame in group["frames"]]
        theirs = [(plain(name), *place) for name, *place in known.get(row["goid"], ())
                  if (plain(name), *place) in ours
                  or place[0] != "<autogenerated>" and not WRAPPER.search(name)]
        # It takes the place at which the innermost call goes on for that of the call.
        if ours[1:] != theirs[1:] or not theirs or ours[0][:2] != theirs[0][:2]:
            pair = next(filter(lambda pair: pair[0] != pair[1], zip(ours[1:], theirs[1:])), "")
            yield (f"delve: goroutine {row['goid']}: {len(theirs)} calls of {len(ours)};"
                   f" {pair}; innermost {ours[0]}")


def check_plugin(tool, truth, dump):
    """A goroutine that waits in the module which the program has loaded."""
    document = tool.run_json("goroutines")
    names = [[name.rpartition("/")[2] for name, _, _ in calls(group["frames"])]
             for group in document["groups"] if group["wait"] == "chan receive"]
    if not any("module.forEver" in stack[0] or "forEver" in stack[0] for stack in names if stack):
        yield f"no goroutine of the plugin in {names}"


def check(tool, truth, dump):
    """Yields what differs on one core."""
    folder = tool.core.parent
    known = read_stacks((folder / "truth.stacks").read_text())
    profile = read_profile((folder / "truth.profile").read_text())
    document = tool.run_json("goroutines", "--all", "--labels", "--threads")
    yield from check_each(document, known, moving=False)
    yield from check_groups(document, profile)
    yield from check_stacks(document)
    yield from check_labels(document, read_labels((folder / "truth.profile").read_text()))
    yield from check_locked(document, read_locked((folder / "truth.stacks").read_text()))
    if dump != "qemu":
        yield from check_twin(tool, document)
        if truth["release"].startswith(DELVE_READS):
            yield from check_delve(tool, document)
    yield from check_addresses(tool.run_json("goroutines", after=("--no-exe",)), document)
