"""The fixture programs: how each is built and run, and what it was made to show.

To add one: a folder below progs/, and a line in PROGRAMS with a function that yields what is
wrong. It gets the truth, the classes of the ledger by name, and the kind of the dump.
"""

import collections.abc
import dataclasses

KIB, MIB = 1 << 10, 1 << 20


def quiet(truth, classes, dump):
    return ()


def fragmented(truth, classes, dump):
    free = classes["go.heap.free"]["virtual"]
    if free <= 0.6 * truth["HeapInuse"]:
        yield f"go.heap.free {free} of HeapInuse {truth['HeapInuse']}"


def idle(truth, classes, dump):
    retained = classes["go.idle.retained"]
    if retained["virtual"] <= 0.5 * truth["HeapSys"]:
        yield f"go.idle.retained {retained['virtual']} of HeapSys {truth['HeapSys']}"
    if retained["resident"] <= 0.8 * retained["virtual"]:
        yield f"go.idle.retained {retained['virtual']}, resident {retained['resident']}"


def released(truth, classes, dump):
    row = classes["go.idle.released"]
    if row["virtual"] < truth["dropped_bytes"]:
        yield f"go.idle.released {row['virtual']}, dropped {truth['dropped_bytes']}"
    if row["resident"] >= 2 * MIB:
        yield f"go.idle.released: resident {row['resident']}"
    if dump == "kernel" and row["absent"] <= row["virtual"] - 2 * MIB:
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


def midmark(truth, classes, dump):
    for name in ("go.heap.fresh", "go.heap.dead"):
        if classes[name]["virtual"]:
            yield f"{name} {classes[name]['virtual']} during a mark"
    live, undecided = (classes[name]["virtual"] for name in ("go.heap.live", "go.heap.undecided"))
    if live < truth["newcomer_bytes"]:
        yield f"go.heap.live {live}, allocated during the mark {truth['newcomer_bytes']}"
    if live + undecided < truth["chain_bytes"] + truth["newcomer_bytes"]:
        yield f"go.heap.live {live}, go.heap.undecided {undecided}"


def midsweep(truth, classes, dump):
    live, dead = (classes[name]["virtual"] for name in ("go.heap.live", "go.heap.dead"))
    if not 0 <= live - truth["kept_bytes"] <= MIB // 4:
        yield f"go.heap.live {live}, kept {truth['kept_bytes']}"
    if dead > truth["dropped_bytes"] + MIB // 4:
        yield f"go.heap.dead {dead}, dropped {truth['dropped_bytes']}"


def threads(truth, classes, dump):
    # gsignal stacks are in the heap everywhere, those of g0 where there is no C.
    system = classes["go.stack.system"]["virtual"]
    if system < truth["threads"] * 32 * KIB:
        yield f"go.stack.system {system} of {truth['threads']} threads"
    stacks = classes["thread.stack"]["virtual"]
    if stacks < truth["thread_stack_bytes"]:
        yield f"thread.stack {stacks}, threads have {truth['thread_stack_bytes']}"


def dead(truth, classes, dump):
    # The descriptors are heap objects of 400 bytes or more, for ever.
    live, ended = classes["go.heap.live"]["virtual"], truth["peak"] - truth["alive"]
    if live < 400 * truth["peak"]:
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


def is_marking(tool, truth):
    return (tool.json("overview")["go"]["phase"] == "mark"
            and tool.classes()["go.heap.undecided"]["virtual"] > 0)


def is_unswept(tool, truth):
    return tool.classes()["go.heap.dead"]["virtual"] > 0.5 * truth["dropped_bytes"]


@dataclasses.dataclass(frozen=True)
class Program:
    """frozen: the program ends in truth.Freeze. caught: whether the core is of the moment that
    it is to be of, which the program cannot know exactly; it is run again until so. without: the
    releases that it is not for. environment: variables, name and value."""
    check: collections.abc.Callable
    folder: str
    arguments: tuple = ()
    modes: tuple = ("static",)
    dumps: tuple = ("kernel", "gcore")
    frozen: bool = True
    caught: collections.abc.Callable = None
    without: tuple = ()
    environment: tuple = ()


PROGRAMS = {
    "quiet": Program(quiet, "quiet", modes=("static", "pie")),
    "fragmented": Program(fragmented, "fragmented"),
    "idle": Program(idle, "idle"),
    "released": Program(released, "idle", ("-release",)),
    "ballast": Program(ballast, "ballast"),
    "deepstacks": Program(deepstacks, "deepstacks"),
    "deepparked": Program(deepparked, "deepstacks", ("-park",)),
    "busy": Program(busy, "busy", modes=("static", "pie", "cgo"), frozen=False),
    "midmark": Program(midmark, "midmark", dumps=("kernel",), frozen=False, caught=is_marking),
    "midsweep": Program(midsweep, "midsweep", dumps=("kernel",), frozen=False, caught=is_unswept),
    "threads": Program(threads, "threads", modes=("static", "cgo")),
    "threads1000": Program(threads, "threads", ("-threads", "1000"), modes=("static", "cgo"),
                           without=("1.21", "1.23", "1.24", "1.25", "1.26")),
    "dead": Program(dead, "dead", dumps=("kernel",), without=("1.21", "1.22", "1.23", "1.25")),
    "userarena": Program(userarena, "userarena", modes=("arenas",), without=("1.19",)),
    "altstack": Program(altstack, "altstack", modes=("cgo",)),
    "plugin": Program(modules, "plugin", modes=("plugin",)),
    "c-shared": Program(modules, "cshared", modes=("c-shared",)),
    "cgo": Program(cgo, "cgo", modes=("cgo",)),
}
