"""Every table that spanscope writes, in every format: from its own help, so that none is missed."""

import re
import subprocess

# Commands that write a file in place of a table, or need more than a core.
CHANGING = ["note", "pack", "batch", "history", "check"]

# Commands that take the core twice.
TWICE = ["diff"]

# What the commands are to make that have to be told so.
KINDS = {"profile": ["heap", "memory", "stacks", "block", "mutex"]}

# Options that make another table of a command.
MORE = {"sizeclasses": [["--pinned"]], "ledger": [["--by", "vma"]], "spans": [["--map"]],
        "goroutines": [["--all", "--system"], ["--threads"]]}


def every(spanscope, core=None):
    """Yields the arguments that stand before the core; without one, not those that name it too."""
    def help_of(*command):
        return subprocess.run([spanscope, *command, "--help"], capture_output=True, text=True,
                              check=True).stdout

    section = help_of().split("Commands:\n")[1].split("\n\n")[0]
    for command in re.findall(r"^  ([a-z]+) ", section, re.M):
        if command in CHANGING or (command in TWICE and core is None):
            continue
        formats = re.search(r"^Formats: (.*)$", help_of(command), re.M).group(1)
        kinds = [[kind] for kind in KINDS.get(command, [])] or [[]]
        for more in kinds + MORE.get(command, []):
            for form in formats.split():
                yield [command, *more, "--format", form, *[core] * (command in TWICE)]
    yield ["overview", "--bytes"]
