"""The same core without debug information: beside a stripped twin of its executable, and alone.

A twin is the same file after strip; a new build would have its variables elsewhere. What spanscope
says of either must be what it says with DWARF.
"""

import pathlib
import shutil
import struct
import subprocess

COMMANDS = ["ledger", "memstats", "sizeclasses", "spans", "gc", "verify"]

# Whatever says how the answer came about.
APART = ["executable", "diagnostics"]

# What names a row, so that a row which is missing does not shift all others.
ROW_NAMES = ["id", "name", "address"]

# Without a header in the core nothing but the executable says where its parts end.
PARTS = ("go.binary.", "file.exec", "anon", "unattributed")

# Without DWARF these have GOGC from the goal of the heap.
GOGC_DERIVED = ("go1.15", "go1.16")

MAX_DIFFERENCES = 3


X86_64 = 62
# Of an ELF header: the machine; where program headers are, their size and number. Of one of these:
# where its bytes are in the file, and how many.
MACHINE, PHDRS = struct.Struct("<18xH"), struct.Struct("<32xQ14xHH")
SEGMENT = struct.Struct("<8xQ16xQ")


def strip(executable, folder):
    """Makes the twin; returns its path."""
    twin = pathlib.Path(folder) / "twin"
    content = executable.read_bytes()
    if MACHINE.unpack_from(content) == (X86_64,):
        subprocess.run(["strip", "-o", twin, executable], check=True, stdin=subprocess.DEVNULL)
    else:
        twin.write_bytes(without_sections(content))
    return twin


def without_sections(content):
    """What is mapped of an executable for another machine, which strip here does not know."""
    phoff, size, count = PHDRS.unpack_from(content)
    segments = [SEGMENT.unpack_from(content, phoff + i * size) for i in range(count)]
    mapped = bytearray(content[:max(offset + length for offset, length in segments)])
    mapped[40:48] = bytes(8)  # e_shoff
    mapped[58:64] = bytes(6)  # e_shentsize, e_shnum, e_shstrndx
    return mapped


def missing():
    """Says what this machine lacks, if anything."""
    return None if shutil.which("strip") else "no strip"


def check(tool, executable, frozen, headerless=False):
    """Yields what differs between the core with DWARF and without. headerless: the core lacks the
    executable's header."""
    twin = strip(executable, tool.core.parent)
    yield from check_other(tool, "twin", (twin,), frozen)
    yield from check_other(tool, "no-exe", ("--no-exe",), frozen, headerless)
    twin.unlink()


def check_other(tool, label, arguments, frozen, headerless=False):
    """Yields what differs where spanscope gets these arguments. Without any executable nobody can
    name a thread that stood inside the allocator, which a process that was not at rest may have
    had."""
    loose = label == "no-exe" and not frozen
    for command in COMMANDS:
        known = tool.json(command)
        document = tool.run_json(command, after=arguments, statuses=(0, 1) if loose else (0,))
        if loose:
            known, document = map(without_threads, (known, document))
        if tool.json("overview")["go"]["version"].startswith(GOGC_DERIVED) and not frozen:
            known, document = map(without_gogc, (known, document))
        if headerless:
            known, document = map(without_parts, (known, document))
        differences = list(compare(cut(known), cut(document), command))
        for difference in differences[:MAX_DIFFERENCES]:
            yield f"{label}: {difference}"
        if not any(entry["code"] == "found-by-structure" for entry in document["diagnostics"]):
            yield f"{label}: {command} had DWARF"


def cut(document):
    return {key: value for key, value in document.items() if key not in APART}


def without_threads(document):
    """A check that fails, or is explained by a thread, keeps its figures alone."""
    if "checks" not in document:
        return document
    checks = [{key: value for key, value in row.items() if key not in ("ok", "detail")}
              for row in document["checks"]]
    return document | {"checks": checks}


def without_gogc(document):
    """It cannot be derived where the least heap decided the goal."""
    return document | {"gc": document["gc"] | {"gogc": None}} if "gc" in document else document


def without_parts(document):
    """What is the executable's is not told apart from its neighbours."""
    if "classes" not in document:
        return document
    classes = [row for row in document["classes"] if not row["id"].startswith(PARTS)]
    return document | {"classes": classes, "anon": None}


def rows_by_name(rows):
    if rows and isinstance(rows[0], dict):
        for key in ROW_NAMES:
            if len({row[key] for row in rows if key in row}) == len(rows):
                return {row[key]: row for row in rows}
    return None


def compare(a, b, path):
    """Yields the paths at which two documents differ, and how."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in [*a, *(key for key in b if key not in a)]:
            yield from compare(a.get(key), b.get(key), f"{path}.{key}")
    elif isinstance(a, list) and isinstance(b, list):
        named = rows_by_name(a), rows_by_name(b)
        if all(rows is not None for rows in named):
            yield from compare(*named, path)
        elif len(a) != len(b):
            yield f"{path}: {len(a)} and {len(b)} elements"
        else:
            for i, pair in enumerate(zip(a, b)):
                yield from compare(*pair, f"{path}[{i}]")
    elif a != b:
        yield f"{path}: {a}, here {b}"
