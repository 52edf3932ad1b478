"""Compares memstats of a core with what the process told on /metrics just before it was stopped.

A scrape is an answer that itself takes memory, so nothing is quite as it was told. Several scrapes
show how much each figure moves from one to the next; between the last one and the stop no figure
may move more than that.
"""

import re

LINE = re.compile(r"^(go_\w+)(?:\{version=\"(.*)\"\})? (\S+)$", re.MULTILINE)

# Names of the client library that nearly all servers use, and of runtime.MemStats.
FIELDS = {
    "alloc_bytes": "Alloc", "alloc_bytes_total": "TotalAlloc", "sys_bytes": "Sys",
    "mallocs_total": "Mallocs", "frees_total": "Frees", "heap_alloc_bytes": "HeapAlloc",
    "heap_sys_bytes": "HeapSys", "heap_idle_bytes": "HeapIdle", "heap_inuse_bytes": "HeapInuse",
    "heap_released_bytes": "HeapReleased", "heap_objects": "HeapObjects",
    "stack_inuse_bytes": "StackInuse", "stack_sys_bytes": "StackSys",
    "mspan_inuse_bytes": "MSpanInuse", "mspan_sys_bytes": "MSpanSys",
    "mcache_inuse_bytes": "MCacheInuse", "mcache_sys_bytes": "MCacheSys",
    "buck_hash_sys_bytes": "BuckHashSys", "gc_sys_bytes": "GCSys", "other_sys_bytes": "OtherSys",
    "next_gc_bytes": "NextGC",
}

# The library's 1.12 and later take these from runtime/metrics, which does not count what was
# allocated from the spans that a P holds. ReadMemStats, of which earlier ones make use, does; they
# have one name more (prometheus/client_golang, go_collector_latest.go).
WITH_READMEMSTATS = "go_memstats_gc_cpu_fraction"
HEAP, GC = "/memory/classes/heap/", "/gc/heap/"
LAGGING = {
    "Alloc": [HEAP + "objects:bytes"], "HeapAlloc": [HEAP + "objects:bytes"],
    "TotalAlloc": [GC + "allocs:bytes"], "HeapObjects": [GC + "objects:objects"],
    "Mallocs": [GC + "allocs:objects", GC + "tiny/allocs:objects"],
    "Frees": [GC + "frees:objects", GC + "tiny/allocs:objects"],
    "HeapInuse": [HEAP + "objects:bytes", HEAP + "unused:bytes"],
}

# What only grows.
COUNTERS = ("TotalAlloc", "Mallocs", "Frees")

# Where a figure moves it may do so in larger steps than were seen.
TIMES = 2


def parse(text):
    """The MemStats of one answer, and the release."""
    stats, release = {}, None
    for name, version, value in LINE.findall(text):
        field = FIELDS.get(name.removeprefix("go_memstats_"))
        if name == "go_info":
            release = version
        elif name == "go_gc_duration_seconds_count":
            stats["NumGC"] = int(float(value))
        elif field and name.startswith("go_memstats_"):
            stats[field] = int(float(value))
    return stats, release


def as_told(document, scrape):
    """The MemStats of a core by the way that this server has of reading them."""
    stats = dict(document["memstats"])
    if WITH_READMEMSTATS not in scrape:
        for field, names in LAGGING.items():
            stats[field] = sum(document["metrics"][name] for name in names)
    return stats


def compare(scrapes, document, release):
    """Yields every figure of a core's memstats that the scrapes do not explain."""
    told = [parse(text)[0] for text in scrapes]
    last, named = parse(scrapes[-1])
    if len(last) <= len(FIELDS):
        yield f"/metrics has {len(last)} figures only: {sorted(last)}"
        return
    if named != release:
        yield f"release {release}, go_info {named}"
    stats = as_told(document, scrapes[-1])
    for field in last:
        steps = [abs(b[field] - a[field]) for a, b in zip(told, told[1:])]
        moved = stats[field] - last[field]
        if abs(moved) > TIMES * max(steps) or (field in COUNTERS and moved < 0):
            yield (f"{field} {stats[field]}, /metrics {last[field]},"
                   f" the largest step between scrapes {max(steps)}")
