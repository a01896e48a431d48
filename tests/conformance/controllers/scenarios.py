"""The scenarios of this folder: a module ``name.py`` has a class ``Name``."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.conformance.controllers.harness import Scenario

_OTHERS = {"harness", "scenarios"}
NAMES = sorted(
    path.stem
    for path in Path(__file__).parent.glob("*.py")
    if path.stem not in _OTHERS and not path.stem.startswith("test_")
)


def scenario(name: str) -> Scenario:
    """Return a new scenario."""
    return getattr(importlib.import_module(f"tests.conformance.controllers.{name}"), name.title())()
