#!/usr/bin/env python3
"""Measures spanscope on large real cores.

    bench.py --spanscope PATH [--cases A,B]

    heap    2.4 GB of small live objects, beside a plain read of a dense copy of the same core
    spans   a heap of 64 GiB in 4 million spans, hardly a page of it resident
    holes   a heap of 16 GiB in a million spans, of which every second page is resident
    binary  a small heap, whose executable has 100 MB and compressed DWARF
    data    a small heap, 100 MB of variables, and a stripped executable
    stacks  a million goroutines in sixteen groups

Programs are built with Go 1.26, and dumped by the kernel, once; their cores stay in the cache
folder (holes: 8.5 GB on disk, and as much memory while the program runs). Prints a table a case:
the least and the median of several warm runs on one CPU, memory. viewcore
(golang.org/x/debug) is measured too when it is installed.
"""

import argparse
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
CACHES = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
CACHE = pathlib.Path(os.environ.get("SPANSCOPE_CACHE") or CACHES / "spanscope")
RELEASE = "1.26"
RUNS = 7
MIB = 1 << 20

PROGRAMS = {
    "heap": ["bigheap"],
    "spans": ["manyspans", "-blocks", "4000000"],
    "holes": ["manyspans", "-blocks", "1000000", "-write", "2"],
    "binary": ["bigbinary"],
    "data": ["bigdata"],
    "stacks": ["leak", "-count", "1000000", "-kinds", "16"],
}

# The executable of 100 MB: so many packages of so many functions.
PACKAGES, FUNCTIONS = 110, 300


# ---- programs and cores

def write_functions(folder):
    """Writes a module whose executable is large: code, line tables, types, local variables."""
    shutil.copytree(TOP / "tests/live/progs/truth", folder / "truth")
    shutil.copy(TOP / "tests/live/progs/go.mod", folder)
    for p in range(PACKAGES):
        source = [f"package part{p}", "", 'import "fmt"', ""]
        for f in range(FUNCTIONS):
            source += [
                f"type record{f} struct {{ a, b, c int; name string; next *record{f} }}",
                f"func F{f}(n int) int {{",
                f"\tvar r record{f}",
                "\tm := map[string]int{}",
            ] + [f"\tif n > {k} {{ s{k} := fmt.Sprint(n, r.a, {k}); m[s{k}] += len(s{k}) }}"
                 for k in range(12)] + [
                f"\tr.next = &record{f}{{a: n, name: fmt.Sprintf(\"%v\", m)}}",
                "\treturn r.next.a + len(r.next.name)",
                "}",
                "",
            ]
        source += ["var All = []func(int) int{",
                   *(f"\tF{f}," for f in range(FUNCTIONS)), "}", ""]
        part = folder / f"part{p}"
        part.mkdir()
        (part / "part.go").write_text("\n".join(source))
    imports = [f'\t"spanscope.test/progs/part{p}"' for p in range(PACKAGES)]
    uses = [f"\tall = append(all, part{p}.All...)" for p in range(PACKAGES)]
    main = folder / "bigbinary"
    main.mkdir()
    (main / "main.go").write_text("\n".join([
        "package main", "", "import (", *imports, '\t"spanscope.test/progs/truth"', ")", "",
        "var all []func(int) int", "", "func main() {", "\ttruth.Start()", *uses,
        "\ttruth.Note(\"sum\", all[0](1))", "\ttruth.Freeze()", "}", ""]))


def write_variables(folder):
    """Writes a module with 100 MB of variables that the linker puts into the data segment."""
    shutil.copytree(TOP / "tests/live/progs/truth", folder / "truth")
    shutil.copy(TOP / "tests/live/progs/go.mod", folder)
    main = folder / "bigdata"
    main.mkdir()
    (main / "main.go").write_text("\n".join([
        "package main", "", 'import "spanscope.test/progs/truth"', "",
        "var words = [100 << 20 / 8]uint64{1, 2, 3}", "", "func main() {", "\ttruth.Start()",
        "\tfor i := range words {", "\t\twords[i] = uint64(i) * 0x9e3779b97f4a7c15", "\t}",
        "\ttruth.Freeze()", "}", ""]))


WRITERS = {"bigbinary": write_functions, "bigdata": write_variables}


def build_program(name, folder):
    subprocess.run([TOP / "scripts/fetch-toolchains", RELEASE], check=True)
    go = CACHE / "toolchains" / f"go{RELEASE}" / "bin" / "go"
    env = dict(os.environ, GOENV="off", GOTOOLCHAIN="local", CGO_ENABLED="0", GOPROXY="off",
               GOFLAGS="-mod=mod", GOWORK="off", GOCACHE=str(CACHE / "gocache" / f"go{RELEASE}"))
    sources = TOP / "tests/live/progs"
    if name in WRITERS:
        sources = folder / "source"
        sources.mkdir()
        WRITERS[name](sources)
    flags = ["-ldflags=-s -w"] if name == "bigdata" else []
    subprocess.run([go, "build", "-buildvcs=false", *flags, "-o", folder / name, f"./{name}"],
                   cwd=sources, env=env, check=True)


def take_core(case):
    """The kernel core of a case, made when it is not there."""
    folder = CACHE / "bench" / case
    core = folder / "core"
    if core.exists():
        return core
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    name, *arguments = PROGRAMS[case]
    build_program(name, folder)

    def no_limit():
        resource.setrlimit(resource.RLIMIT_CORE, (-1, -1))

    subprocess.run([f"./{name}", *arguments, "-dump", "abort", "-truth", "truth"], cwd=folder,
                   env={"GOTRACEBACK": "crash", "PATH": os.environ["PATH"]},
                   preexec_fn=no_limit, stderr=subprocess.DEVNULL, check=False)
    for found in folder.glob("core.*"):
        found.rename(core)
    return core


def dense_copy(core):
    dense = core.with_name("dense")
    if not dense.exists():
        with open(core, "rb") as source, open(dense, "wb") as copy:
            shutil.copyfileobj(source, copy, MIB)
    return dense


# ---- measuring

def run(command):
    """Seconds and peak resident KiB of one run on one CPU."""
    start = time.monotonic()
    child = subprocess.Popen(["taskset", "-c", "0", *map(str, command)],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    if status != 0:
        raise SystemExit(f"bench: {command[0]} failed with status {status}")
    return time.monotonic() - start, usage.ru_maxrss


def measure(name, command, reference=None):
    run(command)  # warm
    runs = [run(command) for _ in range(RUNS)]
    least, median = min(r[0] for r in runs), statistics.median(r[0] for r in runs)
    ratio = f"{reference / median:.2f}" if reference else "-"
    print(f"| {name} | {least:.3f} s | {median:.3f} s | {max(r[1] for r in runs) >> 10} MiB "
          f"| {ratio} |", flush=True)
    return median


def headline(spanscope, core):
    size = core.stat()
    spans = subprocess.run([spanscope, "spans", "--class", "0", core], capture_output=True,
                           text=True, check=True).stdout.split(" spans")[0].split()[-1]
    print(f"\ncore: {size.st_size / 1e9:.2f} GB, {size.st_blocks * 512 / 1e9:.2f} GB on disk, "
          f"{spans} spans; {RUNS} warm runs on one CPU\n")
    print("| command | least | median | peak RSS | cat's time / median |")
    print("|---|---|---|---|---|")


def bench_heap(spanscope, core):
    dense = dense_copy(core)
    plain = measure("`cat core >/dev/null`", ["cat", dense])
    measure("`spanscope core`, kernel core", [spanscope, core], plain)
    measure("`spanscope core`, dense copy (zero test)", [spanscope, dense, core.parent / "bigheap"],
            plain)
    measure("`spanscope verify core`", [spanscope, "verify", core], plain)
    if shutil.which("viewcore"):
        measure("`viewcore core breakdown`", ["viewcore", core, "breakdown"], plain)


def bench_overview(spanscope, core):
    measure("`spanscope core`", [spanscope, core])
    measure("`spanscope ledger core`", [spanscope, "ledger", core])


def bench_binary(spanscope, core):
    size = (core.parent / "bigbinary").stat().st_size
    measure(f"`spanscope core`, executable of {size / 1e6:.0f} MB", [spanscope, core])


def bench_data(spanscope, core):
    size = (core.parent / "bigdata").stat().st_size
    measure(f"`spanscope core`, stripped executable of {size / 1e6:.0f} MB", [spanscope, core])
    measure("`spanscope --no-exe core`", [spanscope, "--no-exe", core])


def bench_stacks(spanscope, core):
    measure("`spanscope core`", [spanscope, core])
    measure("`spanscope goroutines core`", [spanscope, "goroutines", core])


BENCHES = {"heap": bench_heap, "spans": bench_overview, "holes": bench_overview,
           "binary": bench_binary, "data": bench_data, "stacks": bench_stacks}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spanscope", type=pathlib.Path, required=True)
    parser.add_argument("--cases", default=",".join(BENCHES),
                        help=f"some of {','.join(BENCHES)} (default: all)")
    options = parser.parse_args()
    spanscope = options.spanscope.resolve()
    for case in options.cases.split(","):
        if case not in BENCHES:
            parser.error(f"{case!r} is none of {', '.join(BENCHES)}")
        core = take_core(case)
        headline(spanscope, core)
        BENCHES[case](spanscope, core)


if __name__ == "__main__":
    main()
