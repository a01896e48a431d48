"""``PodSecurity``: pods keep to the standard that the labels of their namespace ask for.

Pods that break the enforced standard are refused. Templates of workloads never are; whoever writes them is warned of what
their pods would be told. Who makes the enforced standard stricter is told which pods break it already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery.errors import invalid
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.admission.lookups import Lookup
from steersman.apiserver.kinds.shared.podsecurity.checks import violations
from steersman.apiserver.kinds.shared.podsecurity.levels import (
    LEVELS,
    PRIVILEGED,
    Policy,
    Standard,
    default_policy,
    policy_of,
    says_policy,
)
from steersman.apiserver.kinds.shared.podspec.known import Known

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Sequence

    from steersman.apimachinery.field import FieldError
    from steersman.apiserver.generic.watch_cache import WatchCache
    from steersman.schema.resources import Resource

    Tree = dict[str, Any]

#: Where workloads keep the template of their pods.
_TEMPLATES: Final = {
    "podtemplates": ("template",),
    "replicationcontrollers": ("spec", "template"),
    "replicasets.apps": ("spec", "template"),
    "deployments.apps": ("spec", "template"),
    "statefulsets.apps": ("spec", "template"),
    "daemonsets.apps": ("spec", "template"),
    "jobs.batch": ("spec", "template"),
    "cronjobs.batch": ("spec", "jobTemplate", "spec", "template"),
}
_POD_SUBRESOURCES: Final = ("", "ephemeralcontainers", "resize")
_SECCOMP: Final = "container.seccomp.security.alpha.kubernetes.io/"
#: What the audit log is told: the standard that was enforced, and what breaks the audited one.
_ENFORCED: Final = "pod-security.kubernetes.io/enforce-policy"
_EXEMPT: Final = "pod-security.kubernetes.io/exempt"
_VIOLATIONS: Final = "pod-security.kubernetes.io/audit-violations"
#: Pods looked at when a namespace becomes stricter.
_PODS_MAX: Final = 3000


class Exemptions:
    """Whom the standards do not bind."""

    __slots__ = ("_runtime_classes", "_users", "namespaces")

    def __init__(self, said: Tree) -> None:
        self.namespaces: Final = frozenset(said.get("namespaces") or ())
        self._users: Final = frozenset(said.get("usernames") or ())
        self._runtime_classes: Final = frozenset(said.get("runtimeClasses") or ())

    def of_request(self, attributes: Attributes) -> str:
        """Why a whole request is exempt, empty when it is not."""
        if attributes.namespace in self.namespaces:
            return "namespace"
        return "user" if attributes.user.name in self._users else ""

    def has_runtime_class(self, pod: Tree) -> bool:
        """Whether a pod runs by a class that is exempt."""
        return (pod.get("spec") or {}).get("runtimeClassName") in self._runtime_classes


class PodSecurity(Plugin):
    """Exempt are those whom the configuration names; by default nobody."""

    name: ClassVar[str] = "PodSecurity"

    def __init__(self, *, namespaces: WatchCache, pods: WatchCache, configuration: Tree | None = None) -> None:
        """``configuration``: a ``PodSecurityConfiguration``. Raises ValueError."""
        said = configuration or {}
        self._defaults: Final = default_policy(said.get("defaults") or {})
        self._exempt: Final = Exemptions(said.get("exemptions") or {})
        self._policies: Final = Lookup(namespaces, lambda tree: self._policy_of(tree["metadata"].get("labels"))[0])
        self._pods: Final = pods

    def _policy_of(self, labels: dict[str, str] | None) -> tuple[Policy, list[FieldError]]:
        return policy_of(labels, self._defaults)

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """Creates and updates of namespaces, pods and what makes pods."""
        if operation not in (Operation.CREATE, Operation.UPDATE):
            return False
        if resource.group_resource == "pods":
            return subresource in _POD_SUBRESOURCES
        return not subresource and (resource.group_resource == "namespaces" or resource.group_resource in _TEMPLATES)

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Raises 403, and 422 for labels that cannot be read. Warns."""
        obj = attributes.object
        if obj is None:
            return None
        if attributes.group_resource == "namespaces":
            return self._validate_namespace(attributes, obj)
        if exempt := self._exempt.of_request(attributes):
            attributes.ctx.annotate(_EXEMPT, exempt)
            return None
        policy = self._policies.at_once(attributes.namespace)
        if policy is None:
            return self._ask(attributes, obj)
        self._apply(attributes, policy, obj)
        return None

    async def _ask(self, attributes: Attributes, obj: Tree) -> None:
        self._apply(attributes, await self._policies.get(attributes.namespace) or self._defaults, obj)

    def _apply(self, attributes: Attributes, policy: Policy, obj: Tree) -> None:
        if attributes.group_resource == "pods":
            old = attributes.old_object
            if policy.asks_nothing:
                if attributes.ctx.annotations is not None:
                    attributes.ctx.annotate(_ENFORCED, str(policy.enforce))
            elif old is None or is_significant(obj, old):
                self._judge(attributes, policy, obj, enforces=True)
            return
        if policy.asks_nothing:
            return
        template: Any = obj
        for step in _TEMPLATES[attributes.group_resource]:
            template = (template or {}).get(step)
        if template:
            self._judge(attributes, policy, template, enforces=False)

    def _judge(self, attributes: Attributes, policy: Policy, pod: Tree, *, enforces: bool) -> None:
        if self._exempt.has_runtime_class(pod):
            attributes.ctx.annotate(_EXEMPT, "runtimeClass")
        else:
            _judge(attributes, policy, pod, enforces=enforces)

    async def _validate_namespace(self, attributes: Attributes, namespace: Tree) -> None:
        name = namespace["metadata"].get("name", "")
        labels = namespace["metadata"].get("labels")
        policy, errors = self._policy_of(labels)
        old = attributes.old_object
        before, old_errors = self._policy_of(old["metadata"].get("labels") if old is not None else None)
        if errors and errors != old_errors:
            raise invalid("Namespace", name, errors)
        if name in self._exempt.namespaces:
            if says_policy(labels) and not policy.asks_nothing and (old is None or policy.enforce != before.enforce):
                attributes.ctx.warn(
                    f'namespace "{name}" is exempt from Pod Security, and the policy ({policy}) will be ignored'
                )
            return
        if old is None or not _is_stricter(policy.enforce, before.enforce):
            return
        cache = self._pods
        if not cache.is_ready:
            await cache.ready()
        entries = cache.snapshot(cache.scope(name))[:_PODS_MAX]
        for text in namespace_warnings(name, policy.enforce, (entry.tree() for entry in entries)):
            attributes.ctx.warn(text)


def _is_stricter(now: Standard, before: Standard) -> bool:
    """Whether pods that were allowed may not be any more."""
    if now.level == PRIVILEGED or now == before:
        return False
    return now.version != before.version or LEVELS.index(now.level) > LEVELS.index(before.level)


def _judge(attributes: Attributes, policy: Policy, pod: Tree, *, enforces: bool) -> None:
    ctx = attributes.ctx
    is_new_pod = enforces and attributes.operation is Operation.CREATE
    known = ctx.found if is_new_pod and isinstance(ctx.found, Known) else None
    if enforces and ctx.annotations is not None:
        ctx.annotate(_ENFORCED, str(policy.enforce))
    if ctx.annotations is not None:
        broken = _broken(policy.audit, pod, known)
        if broken:
            ctx.annotate(_VIOLATIONS, f'would violate PodSecurity "{policy.audit}": {", ".join(broken)}')
    if enforces:
        broken = _broken(policy.enforce, pod, known)
        if broken:
            raise attributes.forbidden(f'violates PodSecurity "{policy.enforce}": {", ".join(broken)}')
    broken = _broken(policy.warn, pod, known)
    if broken:
        ctx.warn(f'would violate PodSecurity "{policy.warn}": {", ".join(broken)}')


def _broken(standard: Standard, pod: Tree, known: Known | None) -> Sequence[str]:
    """What a pod breaks of a standard. ``known``: what is known of its spec, where that has been looked up."""
    metadata, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    if known is None or metadata.get("annotations"):
        return [str(violation) for violation in violations(standard, metadata, spec)]
    said = known.said.get(standard)
    return known.say(standard, map(str, violations(standard, metadata, spec))) if said is None else said


def is_significant(pod: Tree, old: Tree) -> bool:
    """Whether a change of a pod may make it break a standard; labels and the like may not."""
    annotations, annotations_before = (one["metadata"].get("annotations") or {} for one in (pod, old))
    for kind in ("containers", "initContainers", "ephemeralContainers"):
        before = {container.get("name"): container for container in old["spec"].get(kind) or ()}
        now = pod["spec"].get(kind) or ()
        if kind != "ephemeralContainers" and len(now) != len(before):
            return True
        for container in now:
            other = before.get(container.get("name"))
            name = _SECCOMP + container.get("name", "")
            if other is None or container.get("image") != other.get("image"):
                return True
            if annotations.get(name) != annotations_before.get(name):
                return True
    return False


def namespace_warnings(name: str, standard: Standard, pods: Iterable[Tree]) -> list[str]:
    """Which pods of a namespace break a standard, by what they break."""
    found: dict[str, list[str]] = {}
    for pod in pods:
        broken = violations(standard, pod["metadata"], pod["spec"])
        if broken:
            reasons = ", ".join(violation.reason for violation in broken)
            found.setdefault(reasons, []).append(pod["metadata"]["name"])
    if not found:
        return []
    listed = sorted(f"{_some(names)}: {reasons}" for reasons, names in found.items())
    return [f'existing pods in namespace "{name}" violate the new PodSecurity enforce level "{standard}"', *listed]


def _some(names: list[str]) -> str:
    """The first name, and how many more there are."""
    more = len(names) - 1
    return names[0] if not more else f"{names[0]} (and {more} other {'pod' if more == 1 else 'pods'})"
