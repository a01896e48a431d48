"""Import of the modules that compile and evaluate expressions.

They are imported with the first expression, since most servers start without any. The import takes longer than a step may hold
the event loop: ``load`` charges it to the work meter before, so that a metered step moves to a worker.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from steersman.apimachinery.workmeter import spend

#: Work meter charge of the import: about 100 ms.
_UNITS: Final = 100_000


def is_loaded() -> bool:
    """Report whether the modules are imported."""
    return _import.cache_info().currsize > 0


def load() -> None:
    """Import the modules, unless they are imported. Raises errors of the work meter."""
    if not is_loaded():
        spend(_UNITS)
        _import()


@cache
def _import() -> None:
    from steersman.cel import admission, devices, environment, openapi, schema_rules  # noqa: F401, PLC0415 — as above

    environment.kubernetes()
