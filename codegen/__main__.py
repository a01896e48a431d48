"""Command ``python -m codegen``: write the generated tree, or check that it is up to date."""

from __future__ import annotations

import argparse
import sys

from codegen.emit import GENERATED, render, stale, write


def main() -> int:
    """Write or check the tree; return exit code 1 if `--check` finds it out of date."""
    parser = argparse.ArgumentParser(prog="python -m codegen", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail when the tree is out of date")
    arguments = parser.parse_args()
    files = render()
    if not arguments.check:
        write(files)
        print(f"{len(files)} files in {GENERATED}")
        return 0
    out_of_date = stale(files)
    for name in out_of_date:
        print(f"out of date: {GENERATED / name}; run `python -m codegen`", file=sys.stderr)
    return 1 if out_of_date else 0


if __name__ == "__main__":
    sys.exit(main())
