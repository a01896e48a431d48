"""Controllers of other packages: entry points in the group ``steersman.controllers``.

The name of an entry point is the name of the controller for ``--controllers``; its object is called with a
``ControllerContext`` and returns the controller. A subclass of ``runtime.Controller`` is such an object, and so is a
function ``build(context)``. Names are read from the metadata of installed packages, without importing them; a package is
imported when its controller is enabled.
"""

from __future__ import annotations

from collections import Counter
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.apimachinery.names import check_dns1123_subdomain

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

GROUP: Final = "steersman.controllers"


class RegistryError(ValueError):
    """A controller of another package cannot be loaded; the message has the package and the reason."""


class InstalledController(NamedTuple):
    """A controller of another package."""

    name: str
    entry_point: metadata.EntryPoint

    @property
    def package(self) -> str:
        """Name and version of its package."""
        distribution = self.entry_point.dist
        return f"{distribution.name} {distribution.version}" if distribution else "an unknown package"

    def load(self) -> Callable[[Any], Any]:
        """Import the object of the entry point. Raises RegistryError."""
        try:
            loaded = self.entry_point.load()
        except Exception as error:
            raise RegistryError(
                f"controller {self.name} of {self.package}: {self.entry_point.value} cannot be loaded:"
                f" {type(error).__name__}: {error}"
            ) from error
        if not callable(loaded):
            raise RegistryError(
                f"controller {self.name} of {self.package}: {self.entry_point.value} is not callable;"
                " expected a subclass of steersman.runtime.Controller or a function build(context)"
            )
        build: Callable[[Any], Any] = loaded
        return build


def installed_controllers(reserved: Collection[str] = ()) -> tuple[InstalledController, ...]:
    """Return the controllers of installed packages by name; ``reserved`` names are those of other controllers.

    Raises RegistryError for a name that is reserved, defined by two packages, or not a DNS subdomain: ``--controllers`` would
    be ambiguous.
    """
    controllers = sorted(
        (InstalledController(point.name, point) for point in metadata.entry_points(group=GROUP)),
        key=lambda controller: (controller.name, controller.package),
    )
    counts = Counter(controller.name for controller in controllers)
    for controller in controllers:
        if check_dns1123_subdomain(controller.name):
            raise RegistryError(
                f"controller {controller.name!r} of {controller.package}: the name is no DNS subdomain (RFC 1123)"
            )
        if controller.name in reserved:
            raise RegistryError(
                f"controller {controller.name} of {controller.package}: Steersman has a controller of that name"
            )
        if counts[controller.name] > 1:
            packages = ", ".join(other.package for other in controllers if other.name == controller.name)
            raise RegistryError(f"controller {controller.name}: more than one package has it: {packages}")
    return tuple(controllers)
