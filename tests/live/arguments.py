"""What the live tests have in common on their command lines and in their last lines."""

import argparse
import os
import pathlib


def names(choices):
    """An argument type: names with commas between, each of the choices."""
    def parse(text):
        chosen = text.split(",")
        for name in chosen:
            if name not in choices:
                raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(choices)}")
        return chosen
    return parse


def add_choice(parser, option, choices):
    parser.add_argument(option, metavar="A,B", type=names(choices), default=choices,
                        help=f"some of {','.join(choices)}")


def add_common(parser):
    parser.add_argument("--spanscope", metavar="PATH", help="the program to be tested")
    parser.add_argument("--exitwatch", metavar="PATH",
                        help="the program that records what was resident")
    parser.add_argument("--results", metavar="FILE",
                        help="write down what was run and what held, for scripts/release-table")
    parser.add_argument("--keep", metavar="DIR", help="keep cores, truth and results here")
    parser.add_argument("-j", dest="jobs", type=int, default=os.cpu_count(),
                        help="tests at a time (default: one a CPU)")


def check_common(parser, options, programs=("spanscope", "exitwatch")):
    for name in ("spanscope", "exitwatch"):
        path = getattr(options, name)
        if name in programs and not (path and os.access(path, os.X_OK)):
            parser.error(f"--{name} must name the program")
        if path:
            setattr(options, name, str(pathlib.Path(path).resolve()))


def conclude(name, counts):
    """Prints the line that counts the tests; returns the exit status."""
    print(f"{name}: " + ", ".join(f"{count} {result}" for result, count in counts.items()))
    failed = counts["failed"] or (os.environ.get("CI") and counts["skipped"])
    return 1 if failed else 0
