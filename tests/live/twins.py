"""The same core without debug information: beside a stripped twin of its executable, and alone.

A twin is the same file after strip; a new build would have its variables elsewhere. What spanscope
says of either must be what it says with DWARF.
"""

import pathlib
import shutil
import subprocess

COMMANDS = ["ledger", "memstats", "sizeclasses", "spans", "gc", "verify"]

# Whatever says how the answer came about.
APART = ["executable", "diagnostics"]

# What names a row, so that a row which is missing does not shift all others.
ROW_NAMES = ["id", "name", "address"]

MAX_DIFFERENCES = 3


def strip(executable, folder):
    """Makes the twin; returns its path."""
    twin = pathlib.Path(folder) / "twin"
    subprocess.run(["strip", "-o", twin, executable], check=True, stdin=subprocess.DEVNULL)
    return twin


def missing():
    """Says what this machine lacks, if anything."""
    return None if shutil.which("strip") else "no strip"


def check(tool, executable, frozen):
    """Yields what differs. Without any executable nobody can name a thread that stood inside the
    allocator, which a process that was not at rest may have had."""
    twin = strip(executable, tool.core.parent)
    for command in COMMANDS:
        known = tool.json(command)
        for label, arguments in (("twin", (twin,)), ("no-exe", ("--no-exe",))):
            loose = label == "no-exe" and not frozen
            document = tool.run_json(command, after=arguments, statuses=(0, 1) if loose else (0,))
            if loose:
                known, document = map(without_threads, (known, document))
            differences = list(compare(cut(known), cut(document), command))
            for difference in differences[:MAX_DIFFERENCES]:
                yield f"{label}: {difference}"
            if not any(entry["code"] == "found-by-structure" for entry in document["diagnostics"]):
                yield f"{label}: {command} had DWARF"
    twin.unlink()


def cut(document):
    return {key: value for key, value in document.items() if key not in APART}


def without_threads(document):
    """A check that fails, or is explained by a thread, keeps its figures alone."""
    if "checks" not in document:
        return document
    checks = [{key: value for key, value in row.items() if key not in ("ok", "detail")}
              for row in document["checks"]]
    return document | {"checks": checks}


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
        yield f"{path}: {a} with DWARF, {b} without"
