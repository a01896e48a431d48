"""Leader migration: move controllers from one controller manager to another without both running them at once.

A ``LeaderMigrationConfiguration`` (``controllermanager.config.k8s.io``) names a second lock, and for each controller the
component that runs it. A manager runs the controllers assigned to it only while it holds the second lock, omits those assigned
to another component, and runs all others under its main lock.

Upstream: KEP-2436, ``k8s.io/controller-manager/pkg/leadermigration``.
"""

from __future__ import annotations

from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery.gotext import errno_text, quote

if TYPE_CHECKING:
    from steersman.controllers.registry import Registration

COMPONENT: Final = "kube-controller-manager"
KIND: Final = "LeaderMigrationConfiguration"
GROUP: Final = "controllermanager.config.k8s.io"
VERSIONS: Final = ("v1", "v1beta1", "v1alpha1")
_LEASES: Final = "leases"
_ANY: Final = "*"
#: Always runs under the main lock, because other controllers need its tokens (upstream: ``app.Run``).
_MAIN_ONLY: Final = "serviceaccount-token-controller"


class Assignment(Enum):
    """Lock or component that a controller is assigned to."""

    #: Main lock: the controller is not in the configuration.
    MAIN = auto()
    #: Lock of the migration.
    MIGRATED = auto()
    #: Another component.
    UNOWNED = auto()


class ControllerLeader(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Component that runs a controller; ``*`` for every component."""

    name: str = ""
    component: str = ""


class LeaderMigration(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A ``LeaderMigrationConfiguration``."""

    leader_name: str = ""
    resource_lock: str = ""
    controller_leaders: tuple[ControllerLeader, ...] = ()
    api_version: str = f"{GROUP}/{VERSIONS[0]}"
    kind: str = KIND

    def assignment(self, entry: Registration) -> Assignment:
        """Return the assignment of a controller, by name or alias. The last entry of a name takes precedence."""
        owners = [
            leader.component
            for leader in self.controller_leaders
            if leader.name and leader.name in (entry.name, entry.alias)
        ]
        if not owners or entry.name == _MAIN_ONLY:
            return Assignment.MAIN
        return Assignment.MIGRATED if owners[-1] in (COMPONENT, _ANY) else Assignment.UNOWNED


#: Upstream's ``DefaultLeaderMigrationConfiguration``: controllers that moved to the cloud-controller-manager.
DEFAULT: Final = LeaderMigration(
    leader_name="cloud-provider-extraction-migration",
    resource_lock=_LEASES,
    controller_leaders=tuple(ControllerLeader(name, _ANY) for name in ("route", "service", "cloud-node-lifecycle")),
)


def read_leader_migration(path: str) -> LeaderMigration:
    """Return the configuration of a file, or the default without a path. Raises ``ValueError``."""
    if not path:
        return DEFAULT
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        reason = errno_text(error)
        raise ValueError(
            f"unable to read leader migration configuration from {quote(path)}: open {path}: {reason}"
        ) from error
    configuration = decode(text)
    errors = validate(configuration)
    if errors:
        listed = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
        raise ValueError(f"failed to parse leader migration configuration: {listed}")
    return configuration


def decode(text: bytes) -> LeaderMigration:
    """Decode an unvalidated configuration in YAML or JSON. Raises ``ValueError``."""
    import yaml  # noqa: PLC0415 — deferred: hardly any manager has such a file

    try:
        tree: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"couldn't get version/kind; {error}") from error
    fields = tree if isinstance(tree, dict) else {}
    kind, api_version = fields.get("kind") or "", fields.get("apiVersion") or ""
    for name, value in (("Kind", kind), ("apiVersion", api_version)):
        if not value:
            raise ValueError(f"Object '{name}' is missing in the leader migration configuration")
    if kind != KIND or api_version not in [f"{GROUP}/{version}" for version in VERSIONS]:
        raise ValueError(f"no kind {quote(str(kind))} is registered for version {quote(str(api_version))}")
    if api_version == f"{GROUP}/v1":
        fields = {**fields, "resourceLock": _LEASES}  # v1 has no such field
    try:
        return msgspec.convert({key: value for key, value in fields.items() if value is not None}, LeaderMigration)
    except msgspec.ValidationError as error:
        raise ValueError(f"strict decoding error: {error}") from error


def validate(configuration: LeaderMigration) -> list[str]:
    """Return the errors (upstream: ``ValidateLeaderMigrationConfiguration``)."""
    errors = []
    if not configuration.leader_name:
        errors.append("leaderName: Required value: leaderName must be set for LeaderMigrationConfiguration")
    if configuration.resource_lock == "endpoints":
        errors.append("endpoints lock is removed, migrate to leases")
    elif configuration.resource_lock != _LEASES:
        value = quote(configuration.resource_lock)
        errors.append(f"resourceLock: Invalid value: {value}: resource Lock must be one of 'leases' or 'endpoints'")
    for index, leader in enumerate(configuration.controller_leaders):
        errors += [
            f"controllerLeaders[{index}].{field}: Required value: {field} must be set"
            for field in ("component", "name")
            if not getattr(leader, field)
        ]
    return errors
