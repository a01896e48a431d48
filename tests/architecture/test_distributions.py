"""``steersman-slim`` is ``steersman`` with fewer dependencies, and nothing else (docs/decisions/0007-extras.md)."""

import re
import tomllib
from pathlib import Path

from steersman.extras import PACKAGES

ROOT = Path(__file__).parents[2]
FULL = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SLIM_FILE = ROOT / "packaging" / "slim" / "pyproject.toml"
SLIM = tomllib.loads(SLIM_FILE.read_text())["project"]
#: Never imported by name: ``zoneinfo`` reads its files.
NEVER_IMPORTED = {"tzdata"}


def test_steersman_has_the_dependencies_of_slim_with_all_extras():
    extras = SLIM["optional-dependencies"].values()
    assert sorted(FULL["dependencies"]) == sorted([*SLIM["dependencies"], *(one for extra in extras for one in extra)])


def test_slim_has_the_entry_points_and_licence_of_steersman():
    for key in ("scripts", "entry-points", "requires-python", "license"):
        assert SLIM[key] == FULL[key]
    assert (SLIM_FILE.parent / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_extras_contain_the_packages_checked_at_run_time():
    declared = {
        extra: {re.split(r"[<>=]", requirement)[0] for requirement in requirements} - NEVER_IMPORTED
        for extra, requirements in SLIM["optional-dependencies"].items()
    }
    assert declared == {extra: set(packages) for extra, packages in PACKAGES.items()}
