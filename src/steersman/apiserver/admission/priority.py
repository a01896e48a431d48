"""``Priority``: resolves a pod's PriorityClass to its priority and preemption policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.admission.lookups import Lookup

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.watch_cache import WatchCache
    from steersman.schema.resources import Resource


PREEMPT_LOWER: Final = "PreemptLowerPriority"


class _Class(NamedTuple):
    """Fields of a PriorityClass."""

    name: str
    value: int
    policy: str | None
    is_default: bool


#: Values of pods without a class if there is no default class.
_NO_CLASS: Final = _Class("", 0, PREEMPT_LOWER, is_default=True)


class Priority(Plugin):
    """Set the priority of pods on create; keep it on update; allow one default class."""

    name: ClassVar[str] = "Priority"

    def __init__(self, priority_classes: WatchCache) -> None:
        self._classes: Final = Lookup(priority_classes, _read)
        #: Memoized default class of a sequence of classes.
        self._known_default: tuple[Sequence[_Class], _Class] = ((), _NO_CLASS)

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for creates and updates of pods and priority classes."""
        if subresource or operation not in (Operation.CREATE, Operation.UPDATE):
            return False
        return resource.group_resource in ("pods", "priorityclasses.scheduling.k8s.io")

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Set priority and preemption policy. Raises 403 for an unknown class, and for values that differ from it."""
        pod = attributes.object
        if pod is None or attributes.group_resource != "pods":
            return None
        spec = pod["spec"]
        if attributes.operation is Operation.UPDATE:
            _keep(spec, (attributes.old_object or {}).get("spec") or {})
            return None
        name = spec.get("priorityClassName")
        classes = None if name else self._classes.list_cached()
        if classes is None:
            return self._choose(attributes, spec, name)
        _write(attributes, spec, self._default_of(classes))
        return None

    async def _choose(self, attributes: Attributes, spec: Tree, name: str | None) -> None:
        chosen = await self._classes.get(name) if name else self._default_of(await self._classes.all())
        if chosen is None:
            raise attributes.forbidden(f"no PriorityClass with name {name} was found")
        _write(attributes, spec, chosen)

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Raise 403 for a second default class."""
        new = attributes.object
        if new is None or attributes.group_resource == "pods" or not new.get("globalDefault"):
            return None
        return self._check(attributes, new)

    async def _check(self, attributes: Attributes, new: Tree) -> None:
        default = self._default_of(await self._classes.all())
        is_another = attributes.operation is Operation.CREATE or default.name != new["metadata"]["name"]
        if default.name and is_another:
            raise attributes.forbidden(
                f"PriorityClass {default.name} is already marked as default. Only one default can exist"
            )

    def _default_of(self, classes: Sequence[_Class]) -> _Class:
        """Return the default class with the lowest value (a race can create two)."""
        cached_classes, default = self._known_default
        if classes is not cached_classes:
            default = min(
                (priority_class for priority_class in classes if priority_class.is_default),
                key=lambda priority_class: priority_class.value,
                default=_NO_CLASS,
            )
            self._known_default = classes, default
        return default


def _read(tree: Tree) -> _Class:
    is_default = bool(tree.get("globalDefault"))
    return _Class(tree["metadata"]["name"], tree.get("value", 0), tree.get("preemptionPolicy"), is_default=is_default)


def _write(attributes: Attributes, spec: Tree, chosen: _Class) -> None:
    if chosen.name:
        spec["priorityClassName"] = chosen.name
    if spec.get("priority") not in (None, chosen.value):
        raise attributes.forbidden(
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
            f"priority admission controller computed {chosen.value} from the given PriorityClass name"
        )
    spec["priority"] = chosen.value
    if chosen.policy is not None:
        if spec.get("preemptionPolicy") not in (None, chosen.policy):
            raise attributes.forbidden(
                f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be provided in pod spec; "
                f"priority admission controller computed {chosen.policy} from the given PriorityClass name"
            )
        spec["preemptionPolicy"] = chosen.policy


def _keep(spec: Tree, old: Tree) -> None:
    for field in ("priority", "preemptionPolicy"):
        if spec.get(field) is None and old.get(field) is not None:
            spec[field] = old[field]
