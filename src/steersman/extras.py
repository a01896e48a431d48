"""Optional dependencies: the packages of each extra, and the error when some are missing.

The distribution ``steersman`` installs the packages of all extras. ``steersman-slim`` installs those of the extras that
are asked for (``docs/decisions/0007-extras.md``).
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Import names by extra. Packages of extras that are never imported by name (``tzdata``) are left out.
PACKAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "server": ("cryptography", "httptools", "joserfc", "uvloop"),
    "toolkit": ("aiohttp", "lightkube"),
}
_SLIM: Final = "steersman-slim"


class MissingPackagesError(ModuleNotFoundError):
    """A part of Steersman was used whose extra is not installed; the text names the packages and the pip command."""


def require(feature: str, *extras: str) -> None:
    """Check that all packages of ``extras`` are installed, without importing them. Raises MissingPackagesError."""
    missing = [name for extra in extras for name in PACKAGES[extra] if not _is_installed(name)]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise MissingPackagesError(
            f"{feature} needs {', '.join(missing)}, which {verb} not installed: pip install {_requirement(extras)}",
            name=missing[0],
        )


def load_attribute(module: str, name: str, feature: str, *extras: str) -> Any:
    """Import ``module`` and return its attribute ``name``.

    Raises MissingPackagesError if the import fails because a package of ``extras`` is missing.
    """
    try:
        return getattr(import_module(module), name)
    except MissingPackagesError:
        raise
    except ModuleNotFoundError:
        require(feature, *extras)
        raise


def load_optional(module: str, name: str, feature: str, extra: str) -> Any:
    """Import ``module`` of an extra that no distribution installs by default, and return its attribute ``name``.

    Raises MissingPackagesError.
    """
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        requirement = _requirement((extra,))
        if "[" not in requirement:
            requirement = f"'{requirement}[{extra}]'"
        raise MissingPackagesError(
            f"{feature} needs {package}, which is not installed: pip install {requirement}", name=package
        ) from error


def _is_installed(package: str) -> bool:
    """Report whether a regular package can be imported.

    A namespace package does not count: with ``lightkube-models`` alone, ``lightkube`` is one.
    """
    try:
        spec = find_spec(package)
    except ModuleNotFoundError:  # a finder refuses the name
        return False
    return spec is not None and spec.origin is not None


def _requirement(extras: tuple[str, ...]) -> str:
    """Return the argument of ``pip install`` that fits the distribution at hand."""
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 — slow, and needed for errors only

    try:
        distribution(_SLIM)
    except PackageNotFoundError:
        return "steersman"
    return f"'{_SLIM}[{','.join(extras)}]'"
