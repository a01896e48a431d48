"""``PodSecurity``: enforces the Pod Security Standards that the labels of a namespace select.

Pods that violate the enforced standard are rejected. Workload templates are not; their author gets a warning. A
namespace update that tightens the enforced standard warns about existing pods that violate it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery.errors import invalid
from steersman.apimachinery.workmeter import spend
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.admission.lookups import Lookup
from steersman.apiserver.admission.pod_security_metrics import PodSecurityMetrics
from steersman.apiserver.kinds.shared.podsecurity.checks import violations
from steersman.apiserver.kinds.shared.podsecurity.levels import (
    LEVELS,
    PRIVILEGED,
    Policy,
    Standard,
    default_policy,
    has_policy_labels,
    policy_of,
)
from steersman.apiserver.workers import in_worker, is_large, run_step, with_allowance

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Mapping, Sequence

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.watch_cache import WatchCache
    from steersman.apiserver.spec_facts import SpecFacts
    from steersman.schema.resources import Resource


#: Paths of the pod template in workloads.
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
#: Audit annotations: the enforced standard, the exemption, violations of the audited standard.
_ENFORCED: Final = "pod-security.kubernetes.io/enforce-policy"
_EXEMPT: Final = "pod-security.kubernetes.io/exempt"
_VIOLATIONS: Final = "pod-security.kubernetes.io/audit-violations"
_UNITS_PER_POD: Final = 100
#: Maximum number of pods checked when a namespace's standard is tightened.
_PODS_MAX: Final = 3000


def _read(configuration: Tree | None) -> tuple[Mapping[str, str], Mapping[str, Sequence[str]]]:
    """Return the configured defaults and exemptions. Raises ValueError."""
    if configuration is None:
        return {}, {}
    from steersman.apiserver.admission.pod_security_configuration import (  # noqa: PLC0415 — few servers have one
        read_pod_security_configuration,
    )

    return read_pod_security_configuration(configuration)


class Exemptions:
    """Exempt namespaces, users and runtime classes."""

    __slots__ = ("_runtime_classes", "_users", "namespaces")

    def __init__(self, exempt: Mapping[str, Sequence[str]]) -> None:
        self.namespaces: Final = frozenset(exempt.get("namespaces") or ())
        self._users: Final = frozenset(exempt.get("usernames") or ())
        self._runtime_classes: Final = frozenset(exempt.get("runtimeClasses") or ())

    def of_request(self, attributes: Attributes) -> str:
        """Return the dimension by which the request is exempt; empty if it is not."""
        if attributes.namespace in self.namespaces:
            return "namespace"
        return "user" if attributes.user.name in self._users else ""

    def has_runtime_class(self, pod: Tree) -> bool:
        """True if the pod's runtime class is exempt."""
        return (pod.get("spec") or {}).get("runtimeClassName") in self._runtime_classes


class PodSecurity(Plugin):
    """Pod Security admission, with the exemptions of its configuration."""

    name: ClassVar[str] = "PodSecurity"

    def __init__(self, *, namespaces: WatchCache, pods: WatchCache, configuration: Tree | None = None) -> None:
        """``configuration``: a ``PodSecurityConfiguration``. Raises ValueError."""
        defaults, exempt = _read(configuration)
        self._defaults: Final = default_policy(defaults)
        self._exempt: Final = Exemptions(exempt)
        self._policies: Final = Lookup(namespaces, lambda tree: self._policy_of(tree["metadata"].get("labels"))[0])
        self._pods: Final = pods
        self.metrics: Final = PodSecurityMetrics()

    def _policy_of(self, labels: dict[str, str] | None) -> tuple[Policy, list[FieldError]]:
        return policy_of(labels, self._defaults)

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for creates and updates of namespaces, pods and workloads."""
        if operation not in (Operation.CREATE, Operation.UPDATE):
            return False
        if resource.group_resource == "pods":
            return subresource in _POD_SUBRESOURCES
        return not subresource and (resource.group_resource == "namespaces" or resource.group_resource in _TEMPLATES)

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Raise 403 for violations, and 422 for invalid labels. Add warnings and audit annotations."""
        if attributes.group_resource == "namespaces":
            return self._validate_namespace(attributes)
        if exempt := self._exempt.of_request(attributes):
            attributes.ctx.annotate(_EXEMPT, exempt)
            self.metrics.observe_exemption(attributes)
            return None
        policy = self._policies.get_cached(attributes.namespace)
        if policy is None or attributes.ctx.is_large:
            return self._validate_later(attributes)
        self._apply(attributes, policy)
        return None

    async def _validate_later(self, attributes: Attributes) -> None:
        policy = await self._policies.get(attributes.namespace) or self._defaults
        await run_step(self._apply, attributes.ctx.is_large, attributes, policy)

    def _apply(self, attributes: Attributes, policy: Policy) -> None:
        is_pod = attributes.group_resource == "pods"
        if policy.is_privileged:
            if is_pod:
                self.metrics.observe_evaluation(attributes, "enforce", policy.enforce, is_allowed=True)
                if attributes.ctx.annotations is not None:
                    attributes.ctx.annotate(_ENFORCED, str(policy.enforce))
            return
        obj, old = attributes.object, attributes.old_object
        if obj is None:
            return
        if is_pod:
            if old is None or is_significant(obj, old):
                self._evaluate(attributes, policy, obj, enforces=True)
            return
        template: Any = obj
        for step in _TEMPLATES[attributes.group_resource]:
            template = (template or {}).get(step)
        if template:
            self._evaluate(attributes, policy, template, enforces=False)

    def _evaluate(self, attributes: Attributes, policy: Policy, pod: Tree, *, enforces: bool) -> None:
        ctx = attributes.ctx
        if self._exempt.has_runtime_class(pod):
            ctx.annotate(_EXEMPT, "runtimeClass")
            self.metrics.observe_exemption(attributes)
            return
        is_new_pod = enforces and attributes.operation is Operation.CREATE
        facts = ctx.spec_facts if is_new_pod else None
        if enforces and ctx.annotations is not None:
            ctx.annotate(_ENFORCED, str(policy.enforce))
        broken = _violations_of(policy.audit, pod, facts)
        if broken:
            self.metrics.observe_evaluation(attributes, "audit", policy.audit, is_allowed=False)
            ctx.annotate(_VIOLATIONS, f'would violate PodSecurity "{policy.audit}": {", ".join(broken)}')
        if enforces:
            broken = _violations_of(policy.enforce, pod, facts)
            self.metrics.observe_evaluation(attributes, "enforce", policy.enforce, is_allowed=not broken)
            if broken:
                raise attributes.forbidden(f'violates PodSecurity "{policy.enforce}": {", ".join(broken)}')
        broken = _violations_of(policy.warn, pod, facts)
        if broken:
            self.metrics.observe_evaluation(attributes, "warn", policy.warn, is_allowed=False)
            ctx.warn(f'would violate PodSecurity "{policy.warn}": {", ".join(broken)}')

    async def _validate_namespace(self, attributes: Attributes) -> None:
        namespace = attributes.object
        if namespace is None:
            return
        name = namespace["metadata"].get("name", "")
        labels = namespace["metadata"].get("labels")
        policy, errors = self._policy_of(labels)
        old = attributes.old_object
        before, old_errors = self._policy_of(old["metadata"].get("labels") if old is not None else None)
        if errors and errors != old_errors:
            raise invalid("Namespace", name, errors)
        if name in self._exempt.namespaces:
            if (
                has_policy_labels(labels)
                and not policy.is_privileged
                and (old is None or policy.enforce != before.enforce)
            ):
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

        def warnings() -> list[str]:
            return namespace_warnings(name, policy.enforce, (entry.tree() for entry in entries))

        run = in_worker if any(is_large(len(entry.raw)) for entry in entries) else with_allowance
        for text in await run(warnings):
            attributes.ctx.warn(text)


def _is_stricter(now: Standard, before: Standard) -> bool:
    """True if pods that were allowed may now violate the standard."""
    if now.level == PRIVILEGED or now == before:
        return False
    return now.version != before.version or LEVELS.index(now.level) > LEVELS.index(before.level)


def _violations_of(standard: Standard, pod: Tree, facts: SpecFacts | None) -> Sequence[str]:
    """Return the violations of a pod. ``facts``: those of the spec of a new pod."""
    metadata, spec = pod.get("metadata") or {}, pod.get("spec") or {}

    def compute() -> Sequence[str]:
        return [str(violation) for violation in violations(standard, metadata, spec)]

    return compute() if facts is None or metadata.get("annotations") else facts.texts_for(standard, compute)


def is_significant(pod: Tree, old: Tree) -> bool:
    """True if an update can introduce violations; changes of labels cannot."""
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
    """Return warnings about the pods that violate a standard, grouped by violation."""
    pods_by_violation: dict[str, list[str]] = {}
    for pod in pods:
        spend(_UNITS_PER_POD)
        broken = violations(standard, pod["metadata"], pod["spec"])
        if broken:
            reasons = ", ".join(violation.reason for violation in broken)
            pods_by_violation.setdefault(reasons, []).append(pod["metadata"]["name"])
    if not pods_by_violation:
        return []
    listed = sorted(f"{_first_of(names)}: {reasons}" for reasons, names in pods_by_violation.items())
    return [f'existing pods in namespace "{name}" violate the new PodSecurity enforce level "{standard}"', *listed]


def _first_of(names: list[str]) -> str:
    """Format the first name and the number of others."""
    more = len(names) - 1
    return names[0] if not more else f"{names[0]} (and {more} other {'pod' if more == 1 else 'pods'})"
