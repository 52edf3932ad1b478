"""What a fixture program knew about itself: see progs/truth/truth.go."""

import struct


# What ends the last reading: see maxMetrics in truth.go.
METRICS = struct.Struct("<128Q")


class MemStats:
    """The raw bytes of runtime.MemStats, whose layout is the same in all releases."""
    words = ["Alloc", "TotalAlloc", "Sys", "Lookups", "Mallocs", "Frees", "HeapAlloc", "HeapSys",
             "HeapIdle", "HeapInuse", "HeapReleased", "HeapObjects", "StackInuse", "StackSys",
             "MSpanInuse", "MSpanSys", "MCacheInuse", "MCacheSys", "BuckHashSys", "GCSys",
             "OtherSys", "NextGC", "LastGC", "PauseTotalNs"]
    pauses = 256
    classes = 61
    # words, PauseNs, PauseEnd; NumGC, NumForcedGC, GCCPUFraction, EnableGC, DebugGC, padding
    head = struct.Struct(f"<{len(words) + 2 * pauses}Q2Id2?6x")
    by_size = struct.Struct("<I4x2Q")
    size = head.size + classes * by_size.size

    @classmethod
    def decode(cls, raw):
        values = cls.head.unpack_from(raw)
        count = len(cls.words)
        stats = dict(zip(cls.words, values))
        stats["PauseNs"] = list(values[count:count + cls.pauses])
        stats["PauseEnd"] = list(values[count + cls.pauses:count + 2 * cls.pauses])
        names = ["NumGC", "NumForcedGC", "GCCPUFraction", "EnableGC", "DebugGC"]
        stats.update(zip(names, values[count + 2 * cls.pauses:]))
        stats["BySize"] = [dict(zip(("Size", "Mallocs", "Frees"), entry))
                           for entry in cls.by_size.iter_unpack(raw[cls.head.size:cls.size])]
        return stats


LAST_BYTES = MemStats.size + METRICS.size


def read(folder):
    """Returns what the program wrote down, its notes and MemStats, in one dictionary. A program
    that was caught at its work has no MemStats."""
    truth = {}
    for line in (folder / "truth").read_text().splitlines():
        key, _, value = line.partition("=")
        truth[key] = int(value) if value.isdigit() else value
    memstats = folder / "truth.memstats"
    if not memstats.exists():
        return truth
    raw = memstats.read_bytes()
    values = METRICS.unpack_from(raw, MemStats.size)
    metrics = dict(zip(truth.get("metrics", "").split(), values))
    return truth | MemStats.decode(raw) | {"metrics": metrics}


def check(truth):
    """What holds in every process, whatever spanscope says."""
    if "HeapSys" in truth and truth["HeapIdle"] + truth["HeapInuse"] != truth["HeapSys"]:
        yield "truth: HeapIdle + HeapInuse is not HeapSys"
