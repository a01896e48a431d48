"""The scenarios of this folder: a module ``name.py`` has a class ``Name``."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.conformance.histories import Scenario

NAMES = sorted(
    path.stem
    for path in Path(__file__).parent.glob("*.py")
    if path.stem != "scenarios" and not path.stem.startswith("test_")
)


def scenario_type(name: str) -> type[Scenario]:
    """Return the class of a scenario."""
    return getattr(importlib.import_module(f"tests.conformance.controllers.{name}"), name.title())
