"""Compares `spanscope vmas` with what the kernel said of the same pages.

The record that exitwatch made when the core had just been written is the oracle. In a kernel
core a page of anonymous memory is exact, so both must agree to the byte, mapping by mapping.
Of a private file mapping the core has every page. One that the process has made its own and
that is equal to the file all the same (a sync.Pool in .data that a collection has emptied) does
not show in it; these pages, and no others, are unknown, and are taken off here.
"""

import bisect
import dataclasses
import itertools
import json
import re
import shutil
import struct
import subprocess
import tempfile

PAGE = 4096
GO_PAGE = 8 << 10
GO_CHUNK = 4 << 20

HEADER = re.compile(r"([0-9a-f]+)-([0-9a-f]+) ...(.) ([0-9a-f]+) \S+ \d+ *(.*)")
NUMBER = re.compile(r"(\w+): +(\d+) kB")


@dataclasses.dataclass
class Mapping:
    """A mapping of smaps. Its kind is "anon" or "file" when it is private and of one of these,
    else None: shared memory, what the kernel itself maps, and what the process has kept out of its
    dumps (MADV_DONTDUMP; the runtime's random numbers from the vDSO lie so) are not compared."""
    lo: int
    hi: int
    kind: str
    offset: int
    name: str
    bytes: dict
    not_dumped: int = 0  # bytes of anonymous memory, all of which a core cannot tell
    like_file: int = 0  # bytes of own pages that are equal to the file

    @property
    def resident(self):
        """What a core cannot tell apart: anonymous pages in memory and in swap."""
        return self.bytes["Anonymous"] + self.bytes["Swap"]

    def __str__(self):
        return f"{self.lo:x}-{self.hi:x} {self.name}".rstrip()


def kind_of(sharing, name):
    if sharing != "p":
        return None
    if name.startswith("/"):
        return "file"
    return "anon" if name in ("", "[heap]", "[stack]") or name.startswith("[anon:") else None


def read_smaps(path):
    """All mappings of smaps or smaps_rollup."""
    mappings = []
    for line in path.read_text().splitlines():
        if match := HEADER.fullmatch(line):
            lo, hi, sharing, offset, name = match.groups()
            mappings.append(Mapping(int(lo, 16), int(hi, 16), kind_of(sharing, name),
                                    int(offset, 16), name, {}))
        elif match := NUMBER.fullmatch(line):
            mappings[-1].bytes[match[1]] = int(match[2]) * 1024
        elif line.startswith("VmFlags:") and "dd" in line.split() and mappings[-1].kind == "anon":
            mappings[-1].kind, mappings[-1].not_dumped = None, mappings[-1].resident
    return mappings


def read_pages(path):
    """Runs of pages: (from, to, words)."""
    runs = []
    known, *lines = path.read_text().splitlines()
    if known.split()[0] != "known":
        raise ValueError(f"{path} begins with {known}")
    for line in lines:
        addresses, *words = line.split()
        lo, hi = addresses.split("-")
        runs.append((int(lo, 16), int(hi, 16), words))
    return runs


def is_anonymous(words):
    """Whether smaps counts such a page under Anonymous or Swap."""
    return not {"zero", "file", "guard"} & set(words)


def check_pages(mappings, runs):
    """The kernel's two accounts of the same pages must agree."""
    for mapping in mappings:
        size = sum(max(0, min(mapping.hi, hi) - max(mapping.lo, lo))
                   for lo, hi, words in runs if is_anonymous(words))
        if mapping.kind and size != mapping.resident:
            yield f"exitwatch: {mapping}: smaps {mapping.resident}, pages {size}"


def read_loads(core):
    """The loads of a core that has less than 65,535: (address, offset, size in the file)."""
    core.seek(0)
    header = struct.unpack("<16sHHIQQQIHHHHHH", core.read(64))
    core.seek(header[5])
    loads = struct.iter_unpack("<IIQQQQQQ", core.read(56 * header[10]))
    return [(va, offset, size) for kind, _, offset, va, _, size, _, _ in loads if kind == 1]


def find_like_file(mapping, runs, core, loads):
    """Sets how many bytes of own pages are equal to the file."""
    va, offset, size = next(load for load in loads if load[0] <= mapping.lo < load[0] + load[2])
    with open(mapping.name, "rb") as file:
        for lo, hi, words in runs:
            for page in range(max(lo, mapping.lo), min(hi, mapping.hi), PAGE):
                file.seek(mapping.offset + page - mapping.lo)
                core.seek(offset + page - va)
                same = file.read(PAGE).ljust(PAGE, b"\0") == core.read(PAGE)
                if is_anonymous(words) and same:
                    mapping.like_file += PAGE


def rows_of(document):
    """The mappings of spanscope: (from, to, resident)."""
    return [(int(row["lo"], 16), int(row["hi"], 16), row["resident"] or 0)
            for row in document["vmas"]]


def groups(mappings, rows):
    """Mappings and rows in groups that share no byte with each other. Nearly all are pairs; where
    one side splits what the other has as one, a group has more."""
    ends = sorted([(mapping.lo, mapping.hi, mapping, None) for mapping in mappings] +
                  [(row[0], row[1], None, row) for row in rows], key=lambda item: item[:2])
    end, result = 0, []
    for lo, hi, mapping, row in ends:
        if lo >= end:
            result.append(([], []))
        end = max(end, hi)
        if mapping:
            result[-1][0].append(mapping)
        else:
            result[-1][1].append(row)
    return result


def check_group(mappings, rows):
    """Every difference within one group."""
    if not mappings:
        yield f"vmas: {rows[0][0]:x}-{rows[-1][1]:x} is no mapping"
        return
    where = " + ".join(map(str, mappings))
    if sum(m.hi - m.lo for m in mappings) != sum(hi - lo for lo, hi, _ in rows):
        yield f"vmas: {where}: not the same range"
    elif mappings[0].kind:
        kernel = sum(mapping.resident - mapping.like_file for mapping in mappings)
        ours = sum(row[2] for row in rows)
        if ours != kernel:
            yield f"vmas: {where}: resident {ours}, smaps {kernel}"


class Pages:
    """How much of a range was in memory or in swap, as private memory."""

    def __init__(self, runs):
        self.runs = [(lo, hi) for lo, hi, words in runs if is_anonymous(words)]
        self.ends = [hi for _, hi in self.runs]

    def resident(self, lo, hi):
        size = 0
        for run in itertools.islice(self.runs, bisect.bisect_right(self.ends, lo), None):
            if run[0] >= hi:
                break
            size += min(hi, run[1]) - max(lo, run[0])
        return size


def sum_resident(classes, prefix):
    return sum(row["resident"] or 0 for name, row in classes.items() if name.startswith(prefix))


def check_spans(folder, spans, chunks, classes):
    """Every span, every chunk of the heap, and the classes that lie in them have the bytes that
    the kernel says."""
    pages = Pages(read_pages(folder / "pages"))
    heap = {int(chunk["start"], 16) for chunk in chunks["chunks"]}
    idle, states = 0, {"inuse": 0, "manual": 0}
    for chunk in chunks["chunks"]:
        lo = int(chunk["start"], 16)
        kernel = pages.resident(lo, lo + GO_CHUNK)
        idle += kernel
        if chunk["resident"] != kernel:
            yield f"chunk {lo:x}: resident {chunk['resident']}, pages {kernel}"
    for span in spans["spans"]:
        lo = int(span["start"], 16)
        kernel = pages.resident(lo, lo + span["npages"] * GO_PAGE)
        states[span["state"]] += kernel
        if lo // GO_CHUNK * GO_CHUNK in heap:  # user arenas are elsewhere
            idle -= kernel
        if span["resident"] != kernel:
            yield f"span {lo:x}: resident {span['resident']}, pages {kernel}"
    for prefix, kernel in (("go.heap.", states["inuse"]), ("go.idle.", idle)):
        ours = sum_resident(classes, prefix)
        if ours != kernel:
            yield f"{prefix}*: resident {ours}, pages {kernel}"
    # Manual spans hold stacks, and the collector's buffers, some of which are elsewhere.
    stacks, buffers = (sum_resident(classes, name) for name in ("go.stack.", "go.meta.gcwork"))
    if not stacks <= states["manual"] <= stacks + buffers:
        yield f"go.stack.*: resident {stacks}, pages of manual spans {states['manual']}"


def zero_bytes(core, loads, runs, lo, hi):
    """Bytes of pages in a range of private memory that are there, and all zero."""
    size = 0
    for run_lo, run_hi, words in runs:
        if is_anonymous(words) and run_lo < hi and lo < run_hi:
            for page in range(max(lo, run_lo), min(hi, run_hi), PAGE):
                va, offset, _ = next(load for load in loads
                                     if load[0] <= page < load[0] + load[2])
                core.seek(offset + page - va)
                size += PAGE if not any(core.read(PAGE)) else 0
    return size


def check_zero(folder, path, document):
    """Every anonymous mapping has as many pages of zeros as the core has where the kernel says
    that a page is."""
    runs = read_pages(folder / "pages")
    with open(path, "rb") as core:
        loads = read_loads(core)
        for row in document["vmas"]:
            if row["file"] or not row["resident"]:
                continue
            known = zero_bytes(core, loads, runs, int(row["lo"], 16), int(row["hi"], 16))
            if row["zero"] != known:
                yield f"vmas: {row['lo']}: zero {row['zero']}, the core has {known}"


def check(folder, path, document):
    """Every difference between the record in the folder, made when the core at the path had been
    written, and the vmas document."""
    mappings = read_smaps(folder / "smaps")
    rollup, = read_smaps(folder / "smaps_rollup")
    runs = read_pages(folder / "pages")
    yield from check_pages(mappings, runs)
    with open(path, "rb") as core:
        loads = read_loads(core)
        for mapping in mappings:
            if mapping.kind == "file" and mapping.resident:
                find_like_file(mapping, runs, core, loads)
    anonymous = 0
    for group, rows in groups(mappings, rows_of(document)):
        if len({mapping.kind for mapping in group}) > 1:
            yield f"vmas: one mapping for {' + '.join(map(str, group))}"
            continue
        yield from check_group(group, rows)
        if group and group[0].kind == "anon":
            anonymous += sum(row[2] for row in rows)
    elsewhere = sum(mapping.resident for mapping in mappings if mapping.kind == "file")
    elsewhere += sum(mapping.not_dumped for mapping in mappings)
    if anonymous != rollup.resident - elsewhere:
        yield (f"vmas: private anonymous memory: resident {anonymous},"
               f" smaps_rollup {rollup.resident - elsewhere}")


# ---- with what the kernel said

COUNTED = ("VmRSS", "RssAnon", "RssFile", "RssShmem", "VmSwap")


def row_sums(rows, column):
    """Of some rows of vmas; None where one does not know."""
    sizes = [row[column] for row in rows]
    return None if None in sizes else sum(sizes)


def check_mappings(mappings, document, parts):
    """Each mapping has in memory, in swap and in huge pages what smaps says, file or not. (Swap of
    shared memory is smaps's alone: it looks into the file.) parts: as in check_exact."""
    rows = {(int(row["lo"], 16), int(row["hi"], 16)): row for row in document["vmas"]}
    for group, pieces in groups(mappings, [(*key, 0) for key in rows]):
        where = " + ".join(map(str, group)) or f"{pieces[0][0]:x}"
        found = [rows[piece[:2]] for piece in pieces]
        sums = {name: sum(mapping.bytes.get(name, 0) for mapping in group)
                for name in ("Rss", "Swap", "LazyFree", "AnonHugePages", "FilePmdMapped",
                             "ShmemPmdMapped")}
        expected = {"resident": sums["Rss"], "unknown": 0}
        if all(mapping.kind for mapping in group):
            expected["swapped"] = sums["Swap"]
        if row_sums(found, "huge") is not None:
            expected["huge"] = (sums["AnonHugePages"] + sums["FilePmdMapped"]
                                + sums["ShmemPmdMapped"])
        if not parts and row_sums(found, "lazyfree") is not None:  # then it follows from smaps
            expected["lazyfree"] = sums["LazyFree"]
        for column, kernel in expected.items():
            ours = row_sums(found, column)
            if ours != kernel:
                yield f"exact vmas: {where}: {column} {ours}, smaps {kernel}"


def check_exact(tool, folder, parts=True):
    """With the sidecar in the folder all is known, and sums to what the kernel counts. parts:
    whether it tells which pages are huge and lazily freed."""
    options = ("--sidecar", str(folder))
    ledger = tool.run_json("ledger", *options)
    rollup, = read_smaps(folder / "smaps_rollup")
    total = ledger["total"]
    if ledger["evidence"] != "exact" or total["unknown"]:
        yield f"exact ledger: {ledger['evidence']}, unknown {total['unknown']}"
    figures = {row["id"]: row for row in ledger["kernel"]}
    for name in COUNTED:
        if figures[name]["ledger"] != figures[name]["kernel"]:
            yield f"exact ledger: {name}: {figures[name]}"
    if total["resident"] != rollup.bytes["Rss"]:
        yield f"exact ledger: resident {total['resident']}, smaps_rollup {rollup.bytes['Rss']}"
    if parts and (total["huge"] is None or total["lazyfree"] < rollup.bytes["LazyFree"]):
        yield f"exact ledger: {total}, smaps_rollup {rollup.bytes}"
    for row in ledger["classes"]:
        if row["virtual"] != sum(row[s] or 0 for s in ("resident", "swapped", "absent", "unknown")):
            yield f"exact ledger: {row}"
    yield from check_mappings(read_smaps(folder / "smaps"), tool.run_json("vmas", *options), parts)
    overview = tool.run_json("overview", *options)
    end = overview["waterfall"][-1]["cumulative"]
    if end != figures["VmRSS"]["kernel"] or overview["waterfall"][-1]["id"] == "unknown" and \
            overview["waterfall"][-1]["bytes"]:
        yield f"exact overview ends at {end}, VmRSS {figures['VmRSS']}"


def check_forms(tool, folder):
    """What the kernel said reads the same as pagemap and as text; and in the core itself."""
    def sizes(*options):
        rows = tool.run_json("ledger", *options)["classes"]
        return {row["id"]: [row[name] for name in ("resident", "swapped", "absent")]
                for row in rows}
    by_text = sizes("--sidecar", str(folder))
    by_entries = sizes("--smaps", str(folder / "smaps"), "--pagemap", str(folder / "pagemap"))
    for name, row in by_text.items():
        if by_entries[name] != row:
            yield f"{name}: {row} by pages, {by_entries[name]} by pagemap"
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        copy = shutil.copy(tool.core, scratch)
        command = [tool.path, "note", copy, "--from", str(folder), "-q"]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        result = subprocess.run([tool.path, "ledger", "--json", "-q", copy], check=True,
                                capture_output=True, timeout=60)
        noted = {row["id"]: [row[name] for name in ("resident", "swapped", "absent")]
                 for row in json.loads(result.stdout)["classes"]}
        if noted != by_text:
            yield "the note says something else than the folder"


def check_sum(folder, overview):
    """The difference between the end of the overview's sum, made with --smaps, and the RSS."""
    rollup, = read_smaps(folder / "smaps_rollup")
    end = overview["waterfall"][-1]["cumulative"]
    if end != rollup.bytes["Rss"]:
        yield f"overview --smaps ends at {end}, smaps_rollup {rollup.bytes['Rss']}"
