"""Entries of ``metadata.managedFields``: parsing and writing of the wire form."""

from __future__ import annotations

from functools import reduce
from typing import Any, Final, NamedTuple

from steersman.apimachinery.gotext import quote, to_json
from steersman.apimachinery.managedfields.fieldset import Node, decode_set, union

APPLY: Final = "Apply"
UPDATE: Final = "Update"
#: Update managers beyond this number are merged into one per version, oldest first.
UPDATE_MANAGERS_MAX: Final = 10
ANCIENT: Final = "ancient-changes"


class Owner(NamedTuple):
    """Identity of an entry."""

    manager: str
    operation: str
    #: Empty for appliers: an apply through another version replaces the manager's own entry.
    api_version: str
    subresource: str

    def identifier(self) -> str:
        """Return upstream's sort key of owners."""
        parts = {"manager": self.manager, "operation": self.operation, "apiVersion": self.api_version}
        return to_json({key: value for key, value in {**parts, "subresource": self.subresource}.items() if value})

    def __str__(self) -> str:
        """Format the owner as in conflicts."""
        text = quote(self.manager)
        if self.subresource:
            text += f" with subresource {quote(self.subresource)}"
        return f"{text} using {self.api_version}" if self.operation == UPDATE else text


class Owned(NamedTuple):
    """Fields of one owner."""

    fields: Node
    #: Version in which the paths are written.
    api_version: str
    #: ``2024-05-06T07:08:09Z``; empty if the owner never changed the object.
    time: str
    #: Entry that this was read from, while unchanged.
    entry: dict[str, Any] | None = None


Managed = dict[Owner, Owned]


class MalformedError(ValueError):
    """Malformed managedFields."""


def owner_of(manager: str, operation: str, api_version: str, subresource: str) -> Owner:
    """Return the owner of a write by ``manager``."""
    return Owner(manager or "unknown", operation, "" if operation == APPLY else api_version, subresource)


def read(entries: Any) -> Managed:
    """Return the owners of stored managedFields, which are canonical; none if they are malformed."""
    managed: Managed = {}
    try:
        for entry in entries or ():
            operation, api_version = entry["operation"], entry["apiVersion"]
            owner = Owner(
                entry.get("manager", ""),
                operation,
                "" if operation == APPLY else api_version,
                entry.get("subresource", ""),
            )
            managed[owner] = Owned(entry.get("fieldsV1") or {}, api_version, entry.get("time") or "", entry)
    except (KeyError, TypeError, AttributeError):
        return {}
    return managed


def parse(entries: Any) -> Managed:
    """Return the owners of managedFields from a client. Raises MalformedError."""
    managed: Managed = {}
    if entries is not None and not isinstance(entries, list):
        raise MalformedError("managedFields is not a list")
    for position, entry in enumerate(entries or ()):
        fault = _fault(position, entry)
        if fault:
            raise MalformedError(fault)
        operation, api_version = entry["operation"], entry["apiVersion"]
        owner = owner_of("", operation, api_version, entry.get("subresource") or "")
        try:
            fields = decode_set(entry.get("fieldsV1"))
        except (ValueError, RecursionError) as error:
            raise MalformedError(f"error decoding versioned set: {error}") from None
        managed[owner._replace(manager=entry.get("manager") or "")] = Owned(
            fields, api_version, entry.get("time") or ""
        )
    return managed


def fault_in(entries: Any) -> str:
    """Return the error of managedFields after mutating admission; empty if valid."""
    try:
        parse(entries)
    except MalformedError as error:
        return str(error)
    return ""


def _fault(position: int, entry: Any) -> str:
    if not isinstance(entry, dict) or entry.get("operation") not in (APPLY, UPDATE):
        return "operation must be `Apply` or `Update`"
    if not entry.get("apiVersion"):
        return "apiVersion must not be empty"
    fields_type = entry.get("fieldsType")
    if not fields_type:
        return f"missing fieldsType in managed fields entry {position}"
    if fields_type != "FieldsV1":
        return f"invalid fieldsType {quote(str(fields_type))} in managed fields entry {position}"
    return ""


def is_reset(entries: Any) -> bool:
    """Report whether a client resets managedFields: an empty list, or one with one empty entry."""
    return isinstance(entries, list) and (not entries or (len(entries) == 1 and _is_empty(entries[0])))


def _is_empty(entry: Any) -> bool:
    return not entry or (isinstance(entry, dict) and all(value in (None, "") for value in entry.values()))


def write(managed: Managed) -> list[dict[str, Any]]:
    """Return the wire form in upstream's order: appliers first, then by time, manager, version and subresource."""
    if len(managed) == 1:
        ((owner, owned),) = managed.items()
        return [owned.entry or _entry(owner, owned)]
    entries = [owned.entry or _entry(owner, owned) for owner, owned in managed.items()]
    entries.sort(key=_rank)
    return entries


def of_creator(manager: str, fields: Node, *, api_version: str, time: str) -> list[dict[str, Any]]:
    """Return the wire form for an object written by one manager: as ``write``, for every create."""
    return [
        {
            "manager": manager or "unknown",
            "operation": UPDATE,
            "apiVersion": api_version,
            "time": time,
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        }
    ]


def _rank(entry: dict[str, Any]) -> tuple[str, ...]:
    return (
        entry["operation"],
        entry.get("time") or "",
        entry.get("manager", ""),
        entry["apiVersion"],
        entry.get("subresource", ""),
    )


def _entry(owner: Owner, owned: Owned) -> dict[str, Any]:
    manager, operation, _, subresource = owner
    entry: dict[str, Any] = {"manager": manager, "operation": operation, "apiVersion": owned.api_version}
    if owned.time:
        entry["time"] = owned.time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = owned.fields
    if subresource:
        entry["subresource"] = subresource
    if not manager:
        del entry["manager"]
    return entry


def cap_update_managers(managed: Managed) -> None:
    """Merge the oldest update managers, version by version, down to the limit. Upstream: ``capmanagers.go``."""
    updaters = [owner for owner in managed if owner.operation == UPDATE]
    remaining = len(updaters)
    if remaining <= UPDATE_MANAGERS_MAX:
        return
    oldest: dict[str, Owner] = {}
    for owner in sorted(updaters, key=lambda owner: (managed[owner].time, owner.identifier())):
        if remaining <= UPDATE_MANAGERS_MAX:
            return
        version = managed[owner].api_version
        bucket = Owner(ANCIENT, UPDATE, version, "")
        if oldest.setdefault(version, owner) == owner:
            continue  # merged with the next of its version
        parts = [managed.pop(part) for part in dict.fromkeys((oldest[version], owner, bucket)) if part in managed]
        fields = reduce(union, (part.fields for part in parts))
        managed[bucket] = Owned(fields, version, max(part.time for part in parts))
        oldest[version] = bucket
        remaining -= len(parts) - 1
