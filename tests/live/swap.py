"""A swap device for the time of a test, in compressed memory (zram).

It is there for what cannot be tested without, and gone afterwards. Where there is swap already that
is used; where neither is possible, enabled() yields False, and nothing gets swapped out.
"""

import contextlib
import fcntl
import pathlib
import subprocess

SWAPS = pathlib.Path("/proc/swaps")
DEVICE = pathlib.Path("/sys/block/zram0")
NODE = "/dev/zram0"
BYTES = 1 << 30


def is_on():
    return len(SWAPS.read_text().splitlines()) > 1


def switch_on():
    """Whether zram0 was free and is swap now."""
    try:
        if (DEVICE / "initstate").read_text().strip() != "0":
            return False
        (DEVICE / "disksize").write_text(str(BYTES))
        for command in (["mkswap", NODE], ["swapon", NODE]):
            subprocess.run(command, check=True, capture_output=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        switch_off()
        return False
    return True


def switch_off():
    subprocess.run(["swapoff", NODE], check=False, capture_output=True, timeout=60)
    with contextlib.suppress(OSError):
        (DEVICE / "reset").write_text("1")


@contextlib.contextmanager
def enabled(lock, wanted):
    """With swap, if it is wanted; lock: a file that keeps two of us apart."""
    if not wanted:
        yield is_on()
        return
    with open(lock, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        ours = not is_on() and switch_on()
        try:
            yield is_on()
        finally:
            if ours:
                switch_off()
