"""Compares what spanscope's commands say of a core with the truth, and with each other."""

TEXT_COLUMNS = 100

EVIDENCE = {"kernel": "populated", "gcore": "nonzero", "qemu": "nonzero"}

# The fields that everything else stands on.
MEMSTATS_MAIN = ["HeapAlloc", "HeapInuse", "HeapIdle", "HeapReleased", "StackInuse", "HeapSys",
                 "HeapObjects"]
# Fields that nothing moves between the program's last reading and its dump.
MEMSTATS_ALSO = ["Alloc", "StackSys", "MSpanInuse", "MSpanSys", "MCacheInuse", "MCacheSys",
                 "BuckHashSys", "GCSys", "OtherSys", "Sys", "NextGC", "NumGC", "NumForcedGC",
                 "Mallocs", "Frees", "TotalAlloc", "BySize", "PauseNs", "PauseEnd",
                 "PauseTotalNs", "LastGC"]

COLUMNS = ["virtual", "resident", "swapped", "absent", "unknown", "zero", "huge", "lazyfree"]
STATES = ["resident", "swapped", "absent", "unknown"]

UNNAMED_MOST = 256 << 10

# Sums of ledger classes (virtual) and the MemStats figure that each must equal.
LEDGER_TWINS = [
    (["go.heap.live", "go.heap.fresh", "go.heap.dead", "go.heap.undecided"],
     "HeapAlloc", lambda t: t["HeapAlloc"]),
    (["go.heap.free", "go.heap.tail"],
     "HeapInuse-HeapAlloc", lambda t: t["HeapInuse"] - t["HeapAlloc"]),
    (["go.idle.retained"],
     "HeapIdle-HeapReleased", lambda t: t["HeapIdle"] - t["HeapReleased"]),
    (["go.idle.released"], "HeapReleased", lambda t: t["HeapReleased"]),
    (["go.stack.used", "go.stack.unused", "go.stack.system", "go.stack.cached"],
     "StackInuse", lambda t: t["StackInuse"]),
]


def memstats(document, verification, truth, frozen):
    """The program that was frozen knew its MemStats; any other has the runtime's own counters,
    and verify must know what makes a figure differ from them."""
    if frozen:
        yield from same_memstats(document["memstats"], truth)
        yield from same_metrics(document["metrics"], truth["metrics"])
    if not document["checks"]:
        yield "memstats: no checks"
    explained = {} if frozen else {
        check["name"]: check["detail"] for check in verification["checks"] if check["ok"]}
    for check in document["checks"]:
        if check["ok"] is not True and not explained.get(check["name"]):
            yield (f"check {check['name']}: walked {check['walked']},"
                   f" counter {check['counter']}")


def verify(document):
    if not document["checks"]:
        yield "verify: no checks"
    for check in document["checks"]:
        if check["ok"] is not True:
            yield f"verify {check['name']}: {check['detail']}"


def same_memstats(stats, truth):
    for name in MEMSTATS_MAIN:
        if stats.get(name) != as_json(truth[name]):
            yield difference(name, truth[name], stats.get(name))
    for name in MEMSTATS_ALSO:
        if name in stats and stats[name] != as_json(truth[name]):
            yield difference(name, truth[name], stats[name])


def as_json(value):
    """In JSON an integer beyond 63 bits (GOGC=off) is the nearest number that a double has."""
    return float(value) if isinstance(value, int) and value >= 1 << 63 else value


def same_metrics(metrics, truth):
    """Every metric that spanscope gives is one of this release, with the value that the process
    read."""
    for name, value in metrics.items():
        if name not in truth:
            yield f"{name}: no metric of this release"
        elif value != as_json(truth[name]):
            yield difference(name, truth[name], value)


def difference(name, truth, tool):
    """Names a field that differs; of an array, the first entry that does."""
    if isinstance(truth, list) and isinstance(tool, list):
        if len(truth) != len(tool):
            return f"{name}: {len(truth)} entries, spanscope has {len(tool)}"
        at = next(i for i, pair in enumerate(zip(truth, tool)) if pair[0] != pair[1])
        return f"{name}[{at}]: truth {truth[at]}, spanscope {tool[at]}"
    return f"{name}: truth {truth}, spanscope {tool}"


def ledger(document, dump):
    classes = {row["id"]: row for row in document["classes"]}
    if len(classes) != len(document["classes"]):
        yield "ledger: a class is listed twice"
    for name, row in classes.items():
        states = sum(row[state] or 0 for state in STATES)
        if row["virtual"] != states:
            yield f"{name}: virtual {row['virtual']}, sum of its states {states}"
    for column in COLUMNS:
        known = [row[column] for row in classes.values() if row[column] is not None]
        total = sum(known) if known else None
        if document["total"][column] != total:
            yield (f"ledger: total {column} {document['total'][column]},"
                   f" sum of the classes {total}")
    if document["evidence"] != EVIDENCE[dump]:
        yield f"ledger: evidence {document['evidence']}, not {EVIDENCE[dump]}"


def coverage(document, with_c):
    """Nearly all resident memory has an owner. In a C program the loader has some that has none."""
    unnamed = sum(row["resident"] or 0 for row in document["classes"]
                  if row["id"] in ("anon", "unattributed"))
    total = document["total"]["resident"]
    if unnamed >= total * (0.02 if with_c else 0.01) or unnamed >= UNNAMED_MOST:
        yield f"ledger: anon and unattributed are {unnamed} of {total} resident bytes"


def ledger_twins(classes, stats):
    """Sums of classes that MemStats has as one figure."""
    for names, twin, figure in LEDGER_TWINS:
        size = sum(classes[name]["virtual"] for name in names)
        if size != figure(stats):
            yield f"{' + '.join(names)}: {size}, {twin} {figure(stats)}"


def process(document, truth):
    """Who it was, as the process said."""
    for name in ("version", "arch"):
        known = truth["release" if name == "version" else name].split()[0].split("-X:")[0]
        if document["go"][name] != known:
            yield f"overview: {name} is {document['go'][name]}, not {known}"


def overview(document):
    total = document["total"]["resident"]
    running = 0
    for step in document["waterfall"]:
        if step["cumulative"] is None:  # unknown, or beside the sum
            continue
        running += step["bytes"]
        if step["cumulative"] != running:
            yield f"waterfall {step['id']}: cumulative {step['cumulative']}, sum {running}"
    if running != total:
        yield f"waterfall: ends at {running}, total resident {total}"
    yield from verdicts(document["verdicts"], document["classes"], total)


def verdicts(found, classes, total):
    """Those that are not part of something else are disjoint."""
    disjoint = [verdict for verdict in found if verdict["part_of"] is None]
    if sum(verdict["bytes"] for verdict in disjoint) > total:
        yield f"verdicts: together more than the total of {total}: {disjoint}"
    for verdict in found:
        if (verdict["gain"] or 0) > total:
            yield f"verdict {verdict['id']}: gives back {verdict['gain']} of {total}"
    objects = sum(row["resident"] for row in classes
                  if row["id"].startswith("go.heap.") and row["id"] != "go.heap.free")
    of_objects = sum(verdict["bytes"] for verdict in disjoint
                     if verdict["id"] in ("garbage", "never-written"))
    if of_objects > objects:
        yield f"verdicts: {of_objects} of the objects, which have {objects}"


def text(output):
    lines = output.splitlines()
    if not lines or not lines[0].strip():
        yield "text: the first line is empty"
    widest = max(map(len, lines), default=0)
    if widest > TEXT_COLUMNS:
        yield f"text: {widest} columns wide"
