"""Import of the models of ``lightkube-models`` without lightkube's client.

``lightkube.models`` is in the package ``lightkube``, whose ``__init__`` imports lightkube's own client with an HTTP
library: three times the cost of the models. Steersman's components never use that client.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, PathFinder
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

_PACKAGE: Final = "lightkube"


class _BarePackageFinder:
    """Meta path finder for one package: the same folders without ``__init__``."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return a namespace package's spec for ``lightkube``; None for any other name, or if it is not installed."""
        if name != _PACKAGE:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.submodule_search_locations is None:
            return None
        bare = ModuleSpec(name, None, origin=spec.origin, is_package=True)
        bare.submodule_search_locations = list(spec.submodule_search_locations)
        return bare


def skip_lightkube_client() -> None:
    """Import ``lightkube`` as a namespace package; only for processes without foreign code. No effect if ``lightkube`` is
    imported already.
    """
    if not any(isinstance(finder, _BarePackageFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _BarePackageFinder())
