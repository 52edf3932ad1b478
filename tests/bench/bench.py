#!/usr/bin/env python3
"""Measures spanscope on a large real core, beside a plain read of the same file.

    bench.py --spanscope PATH

Takes (once; kept in the cache folder) a kernel core of progs/bigheap, built with Go 1.26, and a
dense copy of it. Prints a table: the least and the median of several warm runs on one CPU, memory,
and the ratio to `cat`. viewcore (golang.org/x/debug) is measured too when it is installed.
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


def build_program(folder):
    subprocess.run([TOP / "scripts/fetch-toolchains", RELEASE], check=True)
    go = CACHE / "toolchains" / f"go{RELEASE}" / "bin" / "go"
    env = dict(os.environ, GOENV="off", GOTOOLCHAIN="local", CGO_ENABLED="0",
               GOCACHE=str(CACHE / "gocache" / f"go{RELEASE}"))
    subprocess.run([go, "build", "-o", folder / "bigheap", "./bigheap"],
                   cwd=TOP / "tests/live/progs", env=env, check=True)


def take_core(folder):
    """The kernel core and its dense copy, made when they are not there."""
    core, dense = folder / "core", folder / "dense"
    if not core.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        build_program(folder)

        def no_limit():
            resource.setrlimit(resource.RLIMIT_CORE, (-1, -1))

        subprocess.run(["./bigheap", "-dump", "abort", "-truth", "truth"], cwd=folder,
                       env={"GOTRACEBACK": "crash", "PATH": os.environ["PATH"]},
                       preexec_fn=no_limit, stderr=subprocess.DEVNULL, check=False)
        for found in folder.glob("core.*"):
            found.rename(core)
        with open(core, "rb") as source, open(dense, "wb") as copy:
            shutil.copyfileobj(source, copy, 1 << 20)
    return core, dense


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
          f"| {ratio} |")
    return median


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spanscope", type=pathlib.Path, required=True)
    spanscope = parser.parse_args().spanscope.resolve()
    core, dense = take_core(CACHE / "bench")
    size = core.stat()
    spans = subprocess.run([spanscope, "spans", "--class", "0", core], capture_output=True,
                           text=True, check=True).stdout.split(" spans")[0].split()[-1]
    print(f"core: {size.st_size / 1e9:.2f} GB, {size.st_blocks * 512 / 1e9:.2f} GB on disk, "
          f"{spans} spans; {RUNS} warm runs on one CPU\n")
    print("| command | least | median | peak RSS | cat's time / median |")
    print("|---|---|---|---|---|")
    plain = measure("`cat core >/dev/null`", ["cat", dense])
    measure("`spanscope core`, kernel core", [spanscope, core], plain)
    measure("`spanscope core`, dense copy (zero test)", [spanscope, dense, core.parent / "bigheap"],
            plain)
    measure("`spanscope verify core`", [spanscope, "verify", core], plain)
    if shutil.which("viewcore"):
        measure("`viewcore core breakdown`", ["viewcore", core, "breakdown"], plain)


if __name__ == "__main__":
    main()
