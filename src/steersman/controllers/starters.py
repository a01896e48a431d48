"""Controllers of the registry in the manager of another program.

``add_controllers`` builds them by name, as ``steersman controller-manager`` does, with the client, informers and
metrics of the manager. They run with the program's own controllers, and with its elector, if any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.controllers.context import ControllerContext
from steersman.controllers.entry_points import RegistryError
from steersman.controllers.manager.assembly import add_controller, missing, resources_of, wait_for_server
from steersman.controllers.options import ControllerOptions
from steersman.controllers.registry import find, registered

if TYPE_CHECKING:
    from steersman.controllers.manager.assembly import Managed
    from steersman.runtime.manager import Manager


def controller_names() -> tuple[str, ...]:
    """Return the names for ``add_controllers``. Raises RegistryError."""
    return tuple(entry.name for entry in registered() if entry.is_available)


async def add_controllers(manager: Manager, *names: str, options: ControllerOptions | None = None) -> list[Managed]:
    """Add controllers to a manager that does not run yet; return them in the order of ``names``, which may be aliases.

    All act as the manager's client. After an error the manager must not be run. Raises RegistryError for a name that is unknown or
    not part of this release, for a controller that the options disable or whose API the server does not serve, and for a
    broken entry point; ClientError if the server does not respond within 10 seconds.
    """
    entries = []
    for name in names:
        entry = find(name)
        if entry is None or not entry.is_available:
            raise RegistryError(f"{name!r} is not in the list of known controllers")
        entries.append(entry)
    for entry in entries:
        _ = entry.build
    shared = manager.context
    resources = resources_of(await wait_for_server(shared.client))
    for entry in entries:
        if missing_resources := missing(entry, resources):
            raise RegistryError(
                f"controller {entry.name} cannot run: the server does not serve {', '.join(missing_resources)}"
            )
    added = []
    for entry in entries:
        context = ControllerContext(
            shared.client,
            name=entry.name,
            options=options or ControllerOptions(),
            dice=shared.dice,
            metrics=shared.metrics,
            informers=shared.informers,
            served=resources,
        )
        managed = add_controller(manager, entry, context)
        if managed is None:
            raise RegistryError(f"controller {entry.name} has nothing to do with these options")
        added.append(managed)
    return added
