"""Packages with controllers, installed for one test: a module and the metadata that ``pip`` would write."""

from __future__ import annotations

from pathlib import Path

MODULE = """
from steersman.runtime import Controller


class Idle(Controller):
    name = "idle"

    async def reconcile(self, key):
        return None


def nothing(context):
    return None


def fails(context):
    raise RuntimeError("no device")


async def asynchronous(context):
    return Idle(context)


number = 1
"""


def install(directory: Path, module: str, *, text: str = MODULE, version: str = "1.0", **controllers: str) -> None:
    """Install a package below a directory of ``sys.path``; ``controllers``: object of the module by name, ``_`` for ``-``."""
    (directory / f"{module}.py").write_text(text)
    info = directory / f"{module}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: {version}\n")
    points = "".join(f"{name.replace('_', '-')} = {module}:{target}\n" for name, target in controllers.items())
    (info / "entry_points.txt").write_text(f"[steersman.controllers]\n{points}")
