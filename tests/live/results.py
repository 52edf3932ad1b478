"""What was run and what held, one JSON line a core: scripts/release-table makes a table of it.

    go        the release with its patch level, as "1.24.4"
    arch      of Go, as "amd64"
    program   what it is a core of
    dump      who wrote the core (DUMPS)
    proofs    for each kind of executable that the core was read with ("dwarf", "stripped", "none")
              the names of what was compared (PROOFS)
    passed    whether all of it held
"""

import json
import pathlib

# A letter for the table, and what it means.
PROOFS = {
    "memstats": ("M", "every MemStats field and every number of runtime/metrics is what the process"
                 " read just before"),
    "metrics": ("S", "MemStats agrees with what the server said on `/metrics`, but for what moved"
                " between two scrapes"),
    "pages": ("P", "what is resident is what the kernel says, span by span"),
    "invariants": ("I", "`verify` finds nothing, the classes sum to the mappings and to MemStats"),
    "same": ("=", "`ledger`, `memstats`, `sizeclasses`, `spans`, `gc` and `verify` say in JSON what"
             " they say with DWARF, or with the stripped executable"),
    "verdict": ("V", "a fault of known size has its verdict, with that size"),
    "profile": ("H", "the sum begins with the total of the process's own heap profile"),
}

# Who wrote the core.
DUMPS = {"kernel": "kernel", "gcore": "gcore", "qemu": "qemu-user"}


class Results:
    """A file of results, which is begun anew. No path: nothing is kept."""

    def __init__(self, path):
        self.file = None
        if path:
            pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
            self.file = open(path, "w")

    def add(self, go, arch, program, dump, proofs, passed):
        """go: the release; "" when the analysis did not come so far."""
        if self.file:
            json.dump({"go": go, "arch": arch, "program": program, "dump": dump,
                       "proofs": proofs, "passed": passed}, self.file)
            self.file.write("\n")
            self.file.flush()
