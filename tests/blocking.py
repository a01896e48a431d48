"""Run Python with some packages missing, as in an environment in which they are not installed."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.busy_machine import HANG_SECONDS

from steersman.extras import PACKAGES

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

#: Read by every interpreter of the environment, also of child processes.
_SITE = """\
import sys

class Blocker:
    blocked = frozenset({blocked!r})

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.blocked and not name.startswith("lightkube.models"):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocker())
"""
#: Imported by the packages of an extra; missing with them.
_DEPENDENCIES = {"server": ("cffi", "click"), "toolkit": ("httpx2", "multidict", "yarl")}


def environment_without(extras: Iterable[str], folder: Path) -> dict[str, str]:
    """Return the variables of an environment in which no package of ``extras`` can be imported; written to ``folder``."""
    blocked = sorted({name for extra in extras for name in (*PACKAGES[extra], *_DEPENDENCIES[extra])})
    (folder / "sitecustomize.py").write_text(_SITE.format(blocked=blocked))
    paths = [str(folder), *sys.path[1:]]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}


def run_without(extras: Iterable[str], folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the interpreter with ``arguments`` in such an environment."""
    return subprocess.run(
        [sys.executable, *arguments], env=environment_without(extras, folder),
        capture_output=True, text=True, check=False, timeout=HANG_SECONDS,
    )  # fmt: skip
