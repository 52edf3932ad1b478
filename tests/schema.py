#!/usr/bin/python3
"""Every command's JSON fits its schema: schema.py SPANSCOPE FOLDER

FOLDER has the unpacked shipped cores; each is analysed as it is, without its executable, and with a
sidecar.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import jsonschema

SCHEMAS = pathlib.Path(__file__).resolve().parents[1] / "src" / "schema"
COMMANDS = [["overview"], ["overview", "--rss", "1G"], ["ledger"], ["ledger", "--by", "vma"],
            ["vmas"], ["memstats"], ["sizeclasses"], ["spans"], ["spans", "--map"], ["gc"],
            ["sizeclasses", "--pinned"], ["profile", "heap"], ["profile", "memory"],
            ["profile", "stacks"], ["profile", "block"], ["profile", "mutex"],
            ["verify"], ["goroutines"], ["goroutines", "--all", "--labels", "--threads"],
            ["pack", "--force", "-o", "build/schema.tar.zst"]]
# With what golden/sidecar-of made for the shipped cores, whose pids these are.
WITH_SIDECAR = [["overview"], ["ledger"], ["ledger", "--by", "vma"], ["vmas"], ["spans"], ["note"]]
PIDS = {"fragmented-go1.26": 22071, "quiet-go1.19": 22820}


def check(spanscope, command, core, more):
    """None, or what does not fit."""
    run = subprocess.run([spanscope, *command, "-q", "--json", core, *more], capture_output=True,
                         text=True, check=False)
    try:
        document = json.loads(run.stdout)
        schema = json.loads((SCHEMAS / f"{command[0]}.json").read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(document, schema)
    except (ValueError, jsonschema.ValidationError) as error:
        return str(error).splitlines()[0]
    return None


def check_store(spanscope, cores, scratch):
    """What is not about one core: yields a name and what does not fit."""
    database, documents = scratch / "h.db", scratch / "documents"
    store = ["--db", database]
    first, last = cores[0], cores[-1]
    rules = SCHEMAS.parent / "rules" / "soak.yaml"
    for command in (["check", "--exit-zero", "--rules", rules, first],
                    ["batch", *store, "--documents", documents, *cores],
                    ["batch", *store, scratch], ["diff", first, last], ["diff", last, first],
                    ["history", *store, "list"], ["history", *store, "show", "last"],
                    ["history", *store, "trend", "go.heap.live"],
                    ["history", *store, "--program", "quiet", "trend", "gaps:64"],
                    ["history", *store, "merge", database],
                    ["check", *store, "--program", "quiet", "--baseline=write"],
                    ["check", *store, "--exit-zero", "--program", "quiet",
                     f"--rules={rules}"],
                    ["history", *store, "--last", "1", "prune"]):
        yield command[:2], check(spanscope, [str(word) for word in command[:-1]], command[-1], [])
    yield ["check", "--format junit"], check_junit(spanscope, first, scratch)
    for document in sorted(documents.iterdir()):
        schema = json.loads((SCHEMAS / "snapshot.json").read_text())
        try:
            jsonschema.validate(json.loads(document.read_text()), schema)
            yield ["document"], None
        except (ValueError, jsonschema.ValidationError) as error:
            yield ["document"], str(error).splitlines()[0]


# A rule that fires, one that cannot be told, one that holds.
RULES = """rules:
- {name: "<fires> & 'so'", watch: total, max: 1}
- {name: unknown, watch: total, growth: {by: 1}}
- {name: holds, watch: total, max: 1GiB}
"""


def check_junit(spanscope, core, scratch):
    """None, or why the tests that check writes are none that readers of JUnit's XML take."""
    (scratch / "rules.yaml").write_text(RULES)
    run = subprocess.run([spanscope, "check", "-q", "--rules", scratch / "rules.yaml", "--format",
                          "junit", core], capture_output=True, check=False)
    valid = subprocess.run(["xmllint", "--noout", "--schema",
                            pathlib.Path(__file__).with_name("junit.xsd"), "-"], input=run.stdout,
                           capture_output=True, check=False)
    for words in (b'tests="3"', b'failures="1"', b'errors="1"'):
        if words not in run.stdout:
            return f"{words.decode()} is missing"
    return valid.stderr.decode().splitlines()[0] if valid.returncode else None


def make_sidecar(spanscope, core, folder):
    """A copy of the core that may be changed, with a sidecar beside it."""
    copy = folder / "core"
    subprocess.run(["cp", "--sparse=always", core, copy], check=True)
    subprocess.run([SCHEMAS.parents[1] / "tests" / "golden" / "sidecar-of", copy,
                    str(PIDS[core.parent.name]), f"{copy}.d"], check=True,
                   env=dict(os.environ, PATH=f"{spanscope.parent}:{os.environ['PATH']}"))
    return copy


def runs(spanscope, core, scratch):
    """Every command on every form of the core."""
    for more in ([], ["--no-exe"]):
        for command in COMMANDS:
            yield command, core, more
    copy = make_sidecar(spanscope, core, scratch)
    for command in WITH_SIDECAR:
        yield command, copy, []


def main():
    spanscope, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    passed = failed = 0
    for core in sorted(folder.glob("*/core")):
        with tempfile.TemporaryDirectory() as scratch:
            for command, path, more in runs(spanscope, core, pathlib.Path(scratch)):
                fault = check(spanscope, command, path, more)
                if fault is None:
                    passed += 1
                    continue
                failed += 1
                print("not ok", *command, core.parent.name, *more, ":", fault)
    with tempfile.TemporaryDirectory() as scratch:
        for command, fault in check_store(spanscope, sorted(folder.glob("*/core")),
                                          pathlib.Path(scratch)):
            passed += fault is None
            failed += fault is not None
            if fault is not None:
                print("not ok", *command, ":", fault)
    print(f"schema: {passed} passed, {failed} failed, 0 skipped")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
