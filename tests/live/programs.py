"""The fixture programs: how each is built and run, and what it was made to show.

To add one: a folder below progs/, and a line in PROGRAMS with a function that yields what is
wrong. It gets the truth, the classes of the ledger by name, and the kind of the dump.
"""

import collections.abc
import dataclasses
import functools
import mmap

import profiles
import residency
import stacks
import variants

KIB, MIB = 1 << 10, 1 << 20


def quiet(truth, classes, dump):
    return ()


def fragmented(truth, classes, dump):
    free = classes["go.heap.free"]["virtual"]
    if free <= 0.6 * truth["HeapInuse"]:
        yield f"go.heap.free {free} of HeapInuse {truth['HeapInuse']}"


def idle(truth, classes, dump):
    retained = classes["go.idle.retained"]
    # Go 1.15 counts all of an arena that it has begun.
    if retained["virtual"] <= 0.5 * (truth["HeapSys"] - truth["HeapReleased"]):
        yield f"go.idle.retained {retained['virtual']} of HeapSys {truth['HeapSys']}"
    if retained["virtual"] < truth["dropped_bytes"]:
        yield f"go.idle.retained {retained['virtual']}, dropped {truth['dropped_bytes']}"
    if retained["resident"] <= 0.8 * retained["virtual"]:
        yield f"go.idle.retained {retained['virtual']}, resident {retained['resident']}"


def released(truth, classes, dump):
    row = classes["go.idle.released"]
    if row["virtual"] < truth["dropped_bytes"]:
        yield f"go.idle.released {row['virtual']}, dropped {truth['dropped_bytes']}"
    # Go 1.15 gives back by MADV_FREE: the kernel has taken nothing yet.
    kept = truth["dropped_bytes"] if truth["release"].startswith("go1.15") else 0
    if row["resident"] >= kept + 2 * MIB:
        yield f"go.idle.released: resident {row['resident']}"
    if dump == "kernel" and row["resident"] < kept - MIB:
        yield f"go.idle.released: resident {row['resident']}, MADV_FREE had {kept}"
    if dump == "kernel" and row["absent"] <= row["virtual"] - kept - 2 * MIB:
        yield f"go.idle.released {row['virtual']}, absent {row['absent']}"


def ballast(truth, classes, dump):
    live = classes["go.heap.live"]
    rest = live["virtual"] - truth["planted_bytes"]
    if rest < 0:
        yield f"go.heap.live {live['virtual']}, planted {truth['planted_bytes']}"
    if dump == "kernel" and abs(live["resident"] - truth["touched_bytes"] - rest) > MIB:
        yield (f"go.heap.live: resident {live['resident']}, touched {truth['touched_bytes']},"
               f" {rest} of other objects")


def deepstacks(truth, classes, dump):
    used = classes["go.stack.used"]["virtual"]
    if used > truth["deep_bytes"] / 4:
        yield f"go.stack.used {used}, though {truth['deep_bytes']} is left"
    if classes["go.stack.unused"]["virtual"] < used:
        yield f"go.stack.unused {classes['go.stack.unused']['virtual']}, used {used}"


def deepparked(truth, classes, dump):
    used = classes["go.stack.used"]["virtual"]
    if not truth["deep_bytes"] <= used <= 2 * truth["deep_bytes"]:
        yield f"go.stack.used {used}, frames {truth['deep_bytes']}"


def busy(truth, classes, dump):
    for name in ("go.stack.used", "go.meta.mspan", "go.heap.free"):
        if not classes[name]["virtual"]:
            yield f"{name} is empty"
    if not classes["go.heap.live"]["virtual"] + classes["go.heap.undecided"]["virtual"]:
        yield "the heap is empty"


SPLIT_OTHERS = 16  # objects of one kind that are the runtime's own


def split(moment, tool, truth, dump):
    """For each size, with and without pointers: what the last mark kept, what it left, what came
    since, and what is not decided yet."""
    phase = tool.json("overview")["go"]["phase"]
    if phase != ("mark" if moment == "marking" else "off"):
        yield f"overview: phase {phase}"
    for size in (288, 1152, 40960):
        rows = [row for row in tool.json("sizeclasses")["sizeclasses"]
                if row["size"] == size or (not row["class"] and size > 32 * KIB)]
        if sorted(row["noscan"] for row in rows) != [False, True]:
            yield f"sizeclasses: {len(rows)} rows of size {size}"
            continue
        for row in rows:
            for state, count in split_expected(moment, truth, size, row["noscan"]).items():
                if abs(row[state] / size - count) > SPLIT_OTHERS:
                    yield (f"sizeclasses: {size} {'noscan' if row['noscan'] else 'scan'}: {state}"
                           f" {row[state] / size:.1f} objects, not {count}")
        if moment == "sweeping" and size <= 32 * KIB:
            freed, = (entry["Frees"] for entry in truth["BySize"] if entry["Size"] == size)
            left = 2 * truth[f"dropped {size}"] - (freed - truth[f"frees {size}"])
            dead = sum(row["dead"] for row in rows) // size
            if abs(dead - left) > SPLIT_OTHERS:
                yield f"sizeclasses: {size}: dead {dead} objects, not {left}"


def split_expected(moment, truth, size, noscan):
    """How many objects of one kind are in each state."""
    kept, dropped, fresh = (truth[f"{what} {size}"] for what in ("kept", "dropped", "fresh"))
    if noscan:
        kept += truth[f"shields {size}"]
    none = dict.fromkeys(("live", "fresh", "dead", "undecided"), 0)
    if moment == "marked":
        return none | {"live": kept, "dead": dropped}
    if moment == "marking":
        return none | {"live": kept + fresh, "undecided": dropped}
    split = none | {"live": kept, "fresh": fresh}
    if moment == "sweeping" and size <= 32 * KIB:
        del split["dead"]  # known for both kinds together only
    return split


def threads(truth, classes, dump):
    # gsignal stacks are in the heap everywhere, those of g0 where there is no C.
    system = classes["go.stack.system"]["virtual"]
    if system < truth["threads"] * 32 * KIB:
        yield f"go.stack.system {system} of {truth['threads']} threads"
    stacks = classes["thread.stack"]["virtual"]
    if stacks < truth["thread_stack_bytes"]:
        yield f"thread.stack {stacks}, threads have {truth['thread_stack_bytes']}"


def dead(truth, classes, dump):
    # The descriptors are heap objects of 376 bytes or more, for ever.
    live, ended = classes["go.heap.live"]["virtual"], truth["peak"] - truth["alive"]
    if live < 376 * truth["peak"]:
        yield f"go.heap.live {live}, goroutines had been {truth['peak']}"
    stacks = sum(classes[f"go.stack.{kind}"]["virtual"] for kind in ("used", "unused"))
    if not 2 * KIB * truth["alive"] <= stacks < 2 * KIB * ended / 10:
        yield f"stacks {stacks}, {truth['alive']} goroutines are left of {truth['peak']}"
    if classes["go.idle.released"]["virtual"] < 1 * KIB * ended:
        yield f"go.idle.released {classes['go.idle.released']['virtual']}, {ended} stacks are free"


def userarena(truth, classes, dump):
    # Of a chunk in use nearly all is one object.
    live = classes["go.heap.live"]["virtual"]
    if abs(live - truth["chunk_bytes"]) > 2 * MIB:
        yield f"go.heap.live {live}, chunks in use {truth['chunk_bytes']}"


def altstack(truth, classes, dump):
    stacks, anon = classes["thread.stack"]["virtual"], classes["anon"]["virtual"]
    if stacks < truth["signal_stack_bytes"] + truth["thread_stack_bytes"]:
        yield f"thread.stack {stacks}, of it for signals {truth['signal_stack_bytes']}"
    if anon >= truth["signal_stack_bytes"] / 4:
        yield f"anon {anon}, signal stacks have {truth['signal_stack_bytes']}"


def modules(truth, classes, dump):
    for name in ("data", "bss"):
        bytes_ = classes[f"go.binary.{name}"]["virtual"]
        if bytes_ < truth[f"module_{name}_bytes"]:
            yield f"go.binary.{name} {bytes_}, the module's {truth[f'module_{name}_bytes']}"


def cgo(truth, classes, dump):
    resident = sum(row["resident"] or 0 for name, row in classes.items()
                   if name == "anon" or name.startswith("c.heap."))
    if resident < 0.95 * truth["malloc_bytes"]:
        yield f"anon resident {resident}, malloc gave {truth['malloc_bytes']}"


@dataclasses.dataclass(frozen=True)
class Program:
    """tables: checks more of spanscope's results. frozen: the program ends in truth.Freeze or
    truth.Stop. without: the releases that it is not for. c_heap: where there is C, it has memory
    of C's malloc, or threads do. twins: it is looked at without DWARF too. pair: after gcore it is
    dumped by the kernel too. refused: why its heap is not read. exact: the releases with which the
    kernel is asked for all pages. maps: it has much memory outside Go, some of which is not in a
    core that the kernel writes. environment: variables, name and value."""
    check: collections.abc.Callable
    folder: str
    arguments: tuple = ()
    modes: tuple = ("static",)
    dumps: tuple = ("kernel", "gcore")
    frozen: bool = True
    without: tuple = ()
    tables: collections.abc.Callable = None
    c_heap: bool = False
    twins: bool = False
    pair: bool = False
    refused: str = None
    exact: tuple = ()
    maps: bool = False
    environment: tuple = ()


def pages(tool, truth, dump):
    """Each block is a span of its own, and has in memory what the process saw; a dense core shows
    of it what has content."""
    rows = {int(row["start"], 16): row for row in tool.json("spans")["spans"]}
    for name in ("untouched", "half", "full", "zeroed", "dontneed", "lazyfree"):
        row = rows.get(truth[f"{name}_address"])
        known = truth[f"{name}_resident" if dump == "kernel" else f"{name}_content"]
        if not row or row["marked"] != 1:
            yield f"spans: {name}: {row}"
        elif row["resident"] != known:
            yield f"spans: {name}: resident {row['resident']}, the process saw {known}"
    if dump == "kernel":
        yield from residency.check_zero(tool.core.with_name("process"), tool.core,
                                        tool.run_json("vmas", "--zero"))
    row = rows.get(truth["dropped_address"])  # another span may be there by now
    if row and row["npages"] * 8 * KIB >= truth["full_resident"]:
        yield f"spans: dropped: {row}"


def lazy(tool, truth, dump):
    """What was given back by MADV_FREE is there all the same, and known as that."""
    if tool.sidecar is None:
        return
    rows = tool.run_json("ledger", "--sidecar", str(tool.sidecar))["classes"]
    row, = (row for row in rows if row["id"] == "go.idle.released")
    if row["resident"] < 0.95 * truth["dropped_bytes"]:
        yield f"go.idle.released {row}, dropped {truth['dropped_bytes']}"
    if row["lazyfree"] is not None and row["lazyfree"] < 0.95 * row["resident"]:
        yield f"go.idle.released {row}"


# Regions whose pages the writing of the core brings in, or makes: the kernel has dumped them when
# it is asked.
CHANGED_BY_DUMP = ("swapped", "shared", "sharedhalf", "memfd", "fileread", "filecopied",
                   "fileshared")


def regions(tool, truth, dump):
    """Each region has in each state what the process knew, if what the kernel says is there."""
    if tool.sidecar is None:
        return
    rows = tool.run_json("vmas", "--sidecar", str(tool.sidecar))["vmas"]
    by_address = {int(row["lo"], 16): row for row in rows}
    for key, address in truth.items():
        if not key.endswith("_address"):
            continue
        name = key.removesuffix("_address")
        if dump == "kernel" and name in CHANGED_BY_DUMP:
            continue
        row = by_address.get(address)
        if not row or int(row["hi"], 16) - address != truth[f"{name}_bytes"]:
            yield f"vmas: {name}: {row}"
            continue
        for column in ("resident", "swapped", "huge", "lazyfree"):
            known = truth[f"{name}_{column}"]
            if row[column] not in (None, known):
                yield f"vmas: {name}: {column} {row[column]}, the process knew {known}"
        rest = truth[f"{name}_bytes"] - truth[f"{name}_resident"] - truth[f"{name}_swapped"]
        if row["absent"] != rest or row["unknown"]:
            yield f"vmas: {name}: absent {row['absent']}, not {rest}"


# The arguments of a program, its environment and its heap have a string each that nobody is to see
# who did not ask for it; the heap's is the argument in capital letters.
ARGUMENT, ENVIRONMENT = "planted-argument", "planted-environment"


def private(tool, truth, dump):
    """What the process said or had to itself is in the core, but in no result. It makes no
    difference who wrote the core."""
    if dump != "gcore":
        return
    secrets = [ARGUMENT, ENVIRONMENT, ARGUMENT.upper()]
    with open(tool.core, "rb") as file, \
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as core:
        for secret in secrets:
            if core.find(secret.encode()) < 0:
                yield f"private: {secret} is not in the core"
    for arguments in variants.every(tool.path):
        said = tool.said(*arguments, "-v")
        for secret in secrets:
            if secret in said:
                yield f"{' '.join(arguments)} says {secret}"


def limits(tool, truth, dump):
    """Where --max-memory is too little that is one line and status 3, else it changes nothing. A
    tenth more is never taken, and 4 MiB for the variables of libraries: with the kernel's own limit
    there nothing changes."""
    for arguments in variants.every(tool.path):
        plain = tool.run(*arguments)
        for mib in (2, 5, 8, 16, 64):
            command = [*arguments, "--max-memory", f"{mib}M"]
            free = tool.run(*command)
            bound = tool.run(*command, data_bytes=mib * MIB * 11 // 10 + 4 * MIB)
            lines = free.stderr.splitlines()
            refused = (free.returncode == 3 and len(lines) == 1
                       and lines[0].endswith("; raise --max-memory"))
            if not refused and (mib == 2 or (free.returncode, free.stdout, free.stderr) != (
                    plain.returncode, plain.stdout, plain.stderr)):
                yield f"{' '.join(command)}: status {free.returncode}, {free.stderr}"
            if (free.returncode, free.stdout, free.stderr) != (
                    bound.returncode, bound.stdout, bound.stderr):
                yield f"{' '.join(command)} takes more"


BRIDGE = ("1.19", "1.22", "1.24", "1.26", "1.27")


def split_program(moment, *modes):
    return Program(quiet, "split", ("-moment", moment),
                   modes=("static", "greentea", "nogreentea", *modes),
                   tables=functools.partial(split, moment), twins=moment == "marking",
                   without=("1.15",))  # it has neither generics nor /gc/pauses


PROGRAMS = {
    "quiet": Program(quiet, "quiet", ("-secret", ARGUMENT), tables=private, twins=True, pair=True,
                     modes=("static", "pie", "cgo", "greentea", "nogreentea", "arm64",
                            "arm64-stripped", "arm64-64k", "arm64-pie")),
    "fragmented": Program(fragmented, "fragmented"),
    "idle": Program(idle, "idle", exact=BRIDGE),
    "released": Program(released, "idle", ("-release",), exact=BRIDGE),
    "lazy": Program(quiet, "idle", ("-release",), exact=BRIDGE, tables=lazy,
                    environment=(("GODEBUG", "madvdontneed=0"),),
                    without=("1.21", "1.23", "1.25")),
    "regions": Program(quiet, "regions", exact=BRIDGE, tables=regions, maps=True,
                       without=("1.21", "1.23", "1.25")),
    "ballast": Program(ballast, "ballast"),
    "goroutines": Program(quiet, "goroutines", modes=("static", "pie", "cgo", "arm64"), frozen=False,
                          tables=stacks.check, c_heap=True),
    "profiled": Program(quiet, "profiled", ("-shapes", "-contention"), frozen=False, c_heap=True,
                        modes=("static", "pie", "cgo", "arm64"), tables=profiles.contention),
    "profiled-all": Program(quiet, "profiled", ("-shapes", "-rate", "1"), frozen=False,
                            tables=profiles.heap),
    "profiled-early": Program(quiet, "profiled", ("-shapes", "-collections", "0", "-rate", "8192"),
                              frozen=False, tables=profiles.heap),
    "profiled-off": Program(quiet, "profiled", ("-rate", "0"), frozen=False, tables=profiles.off,
                            without=("1.21", "1.22", "1.23", "1.25", "1.26")),
    # In 1.15 half of the samples are missing from time to time, in runtime.MemProfile too.
    "pinned": Program(quiet, "pinned", tables=profiles.pinned, without=("1.15",)),
    "pages": Program(quiet, "pages", tables=pages, exact=BRIDGE),
    "limits": Program(quiet, "manyspans", ("-blocks", "100000"), dumps=("kernel",), tables=limits,
                      without=("1.21", "1.22", "1.23", "1.24", "1.25", "1.26")),
    "deepstacks": Program(deepstacks, "deepstacks"),
    "deepparked": Program(deepparked, "deepstacks", ("-park",)),
    "busy": Program(busy, "busy", twins=True, modes=("static", "pie", "cgo", "arm64"), frozen=False,
                    exact=BRIDGE),
    "marked": split_program("marked"),
    "swept": split_program("swept"),
    "marking": split_program("marking", "arm64"),
    "sweeping": split_program("sweeping", "arm64"),
    "threads": Program(threads, "threads", twins=True, modes=("static", "cgo", "arm64"),
                       c_heap=True),
    "threads1000": Program(threads, "threads", ("-threads", "1000"), modes=("static", "cgo"),
                           c_heap=True, without=("1.21", "1.23", "1.24", "1.25", "1.26")),
    "dead": Program(dead, "dead", dumps=("kernel",), without=("1.21", "1.22", "1.23", "1.25")),
    "userarena": Program(userarena, "userarena", twins=True, modes=("arenas",), without=("1.15", "1.19")),
    "altstack": Program(altstack, "altstack", modes=("cgo",), c_heap=True),
    "plugin": Program(modules, "plugin", tables=stacks.check_plugin, twins=True, modes=("plugin",), c_heap=True),
    "c-shared": Program(modules, "cshared", twins=True, modes=("c-shared",), c_heap=True),
    "two": Program(None, "tworuntimes", modes=("two",), dumps=("gcore",),
                   refused="several Go runtimes are in this process"),
    "cgo": Program(cgo, "cgo", twins=True, modes=("cgo",), c_heap=True, exact=BRIDGE),
}
