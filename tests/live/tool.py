"""Runs commands within a time limit, and spanscope on a core."""

import json
import os
import pathlib
import signal
import subprocess
import time


class Failure(Exception):
    """The test cannot go on."""


def run(command, seconds, **options):
    """Runs a command in a process group of its own, which dies with the time limit."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, encoding="utf-8", errors="replace",
                             start_new_session=True, **options)
    try:
        out, err = child.communicate(timeout=max(seconds, 0.1))
    except subprocess.TimeoutExpired:
        raise Failure(f"time limit: {describe(command)}") from None
    finally:
        end(child)
    return subprocess.CompletedProcess(command, child.returncode, out, err)


def end(child):
    """Kills a child with its process group, unless it has ended by itself."""
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def describe(command):
    return " ".join(pathlib.Path(word).name for word in map(str, command[:3]))


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else "no message"


class Tool:
    """spanscope on one core. Results are kept beside the core. executable: to be named, where the
    core does not name it."""

    def __init__(self, path, core, deadline, executable=None):
        self.path, self.core, self.deadline = path, core, deadline
        self.executable = executable
        self.documents = {}
        kept = core.with_name("process")
        self.sidecar = kept if kept.exists() else None

    def run(self, *arguments, after=(), data_bytes=None):
        """Runs spanscope ARGUMENTS CORE AFTER, or the executable after the core. data_bytes: what
        the kernel lets it have of private memory."""
        if self.executable and not after:
            after = (self.executable,)
        environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        runner = ["prlimit", f"--data={data_bytes}"] if data_bytes else []
        return run([*runner, self.path, *arguments, self.core.name, *after],
                   self.deadline - time.monotonic(), cwd=self.core.parent, env=environment)

    def said(self, *arguments):
        """All that it says, whether or not all is well."""
        result = self.run(*arguments)
        return result.stdout + result.stderr

    def output(self, *arguments, after=(), statuses=(0,)):
        result = self.run(*arguments, after=after)
        name = arguments[0] if arguments else "text"
        self.core.with_name(f"{name}.out").write_text(result.stdout)
        if result.returncode not in statuses:
            raise Failure(f"{name}: exit status {result.returncode}: {last_line(result.stderr)}")
        return result.stdout

    def json(self, command, *more):
        if (command, *more) not in self.documents:
            # What verify finds is in its document.
            statuses = (0, 1) if command == "verify" else (0,)
            self.documents[command, *more] = self.run_json(command, *more, statuses=statuses)
        return self.documents[command, *more]

    def run_json(self, command, *more, after=(), statuses=(0,)):
        try:
            document = json.loads(self.output(command, *more, "--json", after=after,
                                              statuses=statuses))
        except json.JSONDecodeError as error:
            raise Failure(f"{command}: stdout is not one JSON document: {error}") from None
        schema = f"spanscope/{command}/1"
        if document.get("schema") != schema:
            raise Failure(f"{command}: schema is {document.get('schema')!r}, not {schema!r}")
        return document

    def classes(self):
        return {row["id"]: row for row in self.json("ledger")["classes"]}
