"""Cores that the kernel gives to a program: spanscope-sidecar, which first copies what /proc says of
the process that dies; and systemd-coredump, run by hand with the arguments that the kernel would give
it, which compresses what it gets and cuts what is too long.

The pattern that names the handler is the machine's: it is changed for the moment of the crash, and
whatever else dies in that moment is handled too.
"""

import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import checks
import live
import residency
import truth
from tool import Failure, Tool, last_line, run

PATTERN = pathlib.Path("/proc/sys/kernel/core_pattern")
SYSTEMD = live.CACHE / "systemd-coredump"
SYSTEMD_MIB = 32  # its limit for a core; the program's has more


def missing():
    return None if os.access(PATTERN, os.W_OK) else f"{PATTERN} may not be changed"


@contextlib.contextmanager
def pattern(text):
    saved = PATTERN.read_text()
    try:
        PATTERN.write_text(text)
        yield
    finally:
        PATTERN.write_text(saved)


def in_use(path):
    """Whether a program has the path among its arguments."""
    name = str(path).encode()
    for cmdline in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if name in cmdline.read_bytes():
                return True
    return False


def crash(command, folder, deadline):
    """Runs a program that ends by SIGABRT, and waits for the end of the handler. Returns the core.
    What names it must be short: the kernel cuts a pattern behind 127 characters."""
    environment = {"PATH": os.environ.get("PATH", os.defpath), "GOTRACEBACK": "crash"}
    with tempfile.TemporaryDirectory(prefix="h") as short:
        (pathlib.Path(short) / "h").symlink_to(live.SIDECAR)
        (pathlib.Path(short) / "d").symlink_to(folder)
        with pattern(f"|{short}/h -c {short}/d/core.%P %P"):
            child = subprocess.Popen(command, cwd=folder, env=environment,
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL, start_new_session=True)
            try:
                live.await_abort(child, True, deadline)
            finally:
                live.end(child)
            core = pathlib.Path(short) / "d" / f"core.{child.pid}"
            while in_use(core):
                if time.monotonic() > deadline:
                    raise Failure("time limit: the handler")
                time.sleep(0.01)
    return folder / core.name


def check_handler(target, folder, options):
    """The dying process is whole until its core is read: all is known, to the page."""
    deadline = live.start(target)
    core = crash([live.executable(target), *target.program.arguments, "-dump", "abort", "-truth",
                  "truth"], folder, deadline)
    known, tool = truth.read(folder), Tool(options.spanscope, core, deadline)
    overview = tool.json("overview")
    if (overview["core"]["kind"], overview["evidence"]) != ("kernel", "exact"):
        yield f"{overview['core']['kind']}, evidence {overview['evidence']}"
    if overview["core"]["truncated"] or core.stat().st_mode & 0o077:
        yield f"core: {overview['core']}, mode {core.stat().st_mode:o}"
    codes = {finding["code"] for finding in overview["diagnostics"]}
    if codes & {"sidecar-ignored", "sidecar-mappings", "sidecar-time"}:
        yield f"findings: {codes}"
    yield from residency.check_exact(tool, core.with_name(f"{core.name}.d"), parts=False)
    yield from checks.memstats(tool.json("memstats"), tool.json("verify"), known, True)
    yield from checks.verify(tool.json("verify"))
    yield from check_no_process(folder, deadline)
    # The holes are those of zeros: without the copies they prove nothing.
    alone = tool.run_json("ledger", "--no-sidecar")
    if alone["evidence"] != "nonzero":
        yield f"without the copies: {alone['evidence']}"


def check_no_process(folder, deadline):
    """A core is kept even when nothing can be said of its process."""
    with open(live.SIDECAR, "rb") as source:
        result = subprocess.run([live.SIDECAR, "-c", folder / "kept", str(2**31 - 1)], stdin=source,
                                capture_output=True, check=False, text=True,
                                timeout=max(deadline - time.monotonic(), 0.1))
    if (folder / "kept").read_bytes() != live.SIDECAR.read_bytes():
        yield "without the process its core was not kept"
    if "is not complete" not in result.stderr:
        yield f"without the process: {result.stderr!r}"


# ---- systemd

def missing_systemd():
    if os.geteuid() != 0 or not shutil.which("unshare"):
        return "only root may mount what systemd-coredump needs"
    if not (SYSTEMD / "lib/systemd/systemd-coredump").exists():
        return "no systemd-coredump; see scripts/fetch-systemd-coredump"
    return None


# It takes what the kernel gives, and hands it through a socket to itself as a service. The mounts
# are seen by it alone.
SCRIPT = """
set -e
mount --make-rprivate /
mkdir -p /run/systemd /var/lib/systemd/coredump /etc/systemd
mount -t tmpfs none /run/systemd
mount -t tmpfs none /etc/systemd
mount --bind "$1" /var/lib/systemd/coredump
printf '[Coredump]\\nProcessSizeMax=%s\\nExternalSizeMax=%s\\n' "$4" "$4" >/etc/systemd/coredump.conf
exec python3 -c "$5" "$2" "$3"
"""
SERVICE = """
import os, socket, subprocess, sys
program, core = sys.argv[1:]
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind("/run/systemd/coredump")
listener.listen(1)
stream = subprocess.Popen(["cat", core], stdout=subprocess.PIPE)
handler = subprocess.Popen([program, str(os.getpid()), "0", "0", "6", "1700000000",
                            str(2**63), "host"], stdin=stream.stdout)
stream.stdout.close()
connection, _ = listener.accept()
service = subprocess.Popen(["sh", "-c", 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$1" 3<&"$2"', "sh",
                            program, str(connection.fileno())], pass_fds=[connection.fileno()])
connection.close()
sys.exit(handler.wait() or service.wait())
"""


def store(core, folder, limit, deadline):
    """What systemd-coredump keeps of the core."""
    folder.mkdir()
    result = run(["unshare", "--mount", "sh", "-c", SCRIPT, "sh", folder,
                  SYSTEMD / "lib/systemd/systemd-coredump", core, limit, SERVICE],
                 deadline - time.monotonic(),
                 env=dict(os.environ,
                          LD_LIBRARY_PATH=str(SYSTEMD / "usr/lib/x86_64-linux-gnu/systemd")))
    kept = list(folder.iterdir())
    if result.returncode or len(kept) != 1:
        raise Failure(f"systemd-coredump: status {result.returncode}, {kept}:"
                      f" {last_line(result.stderr)}")
    return kept[0]


def check_systemd(target, folder, options):
    core, _, tool = live.take(target, "kernel", folder, options, live.start(target))
    stored = Tool(options.spanscope, store(core, folder / "whole", "1G", tool.deadline),
                  tool.deadline)
    overview = stored.json("overview")
    if stored.core.suffix != ".zst" or overview["core"]["packing"] != "zstd":
        yield f"stored as {stored.core.name}, packing {overview['core']['packing']}"
    if (overview["core"]["kind"], overview["evidence"]) != ("kernel", "nonzero"):
        yield f"{overview['core']['kind']}, evidence {overview['evidence']}"
    if stored.json("memstats")["memstats"] != tool.json("memstats")["memstats"]:
        yield "its MemStats are others"
    for name, row in tool.classes().items():
        if stored.classes()[name]["virtual"] != row["virtual"]:
            yield f"{name}: {stored.classes()[name]}, was {row}"
    yield from check_systemd_cut(core, folder, tool)


def check_systemd_cut(core, folder, tool):
    cut = Tool(tool.path, store(core, folder / "cut", f"{SYSTEMD_MIB}M", tool.deadline),
               tool.deadline)
    said = cut.run_json("overview", statuses=(4,))["core"]
    if not said["truncated"] or said["bytes"] != SYSTEMD_MIB << 20:
        yield f"cut: {said}"
    if "systemd's ProcessSizeMax" not in (said["cut_cause"] or ""):
        yield f"cut: cause {said['cut_cause']}"
