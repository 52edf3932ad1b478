#!/usr/bin/python3
"""Every command's JSON fits its schema: schema.py SPANSCOPE FOLDER

FOLDER has the unpacked shipped cores; each is analysed as it is, and without its executable.
"""

import json
import pathlib
import subprocess
import sys

import jsonschema

SCHEMAS = pathlib.Path(__file__).resolve().parents[1] / "src" / "schema"
COMMANDS = [["overview"], ["overview", "--rss", "1G"], ["ledger"], ["ledger", "--by", "vma"],
            ["vmas"], ["memstats"], ["sizeclasses"], ["spans"], ["spans", "--map"], ["gc"],
            ["verify"], ["goroutines"], ["goroutines", "--all", "--labels", "--threads"],
            ["pack", "--force", "-o", "build/schema.tar.zst"]]


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


def main():
    spanscope, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    passed = failed = 0
    for core in sorted(folder.glob("*/core")):
        for more in ([], ["--no-exe"]):
            for command in COMMANDS:
                fault = check(spanscope, command, core, more)
                if fault is None:
                    passed += 1
                    continue
                failed += 1
                print("not ok", *command, core.parent.name, *more, ":", fault)
    print(f"schema: {passed} passed, {failed} failed, 0 skipped")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
