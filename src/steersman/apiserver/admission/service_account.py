"""``ServiceAccount``: default service account, token volume and pull secrets of pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery.errors import not_found
from steersman.apimachinery.names import generate_name
from steersman.apimachinery.workmeter import charged
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.admission.lookups import Lookup, whole
from steersman.apiserver.kinds.shared.podspec.secrets import secret_names
from steersman.apiserver.spec_facts import TOKEN_VOLUME_PREFIX
from steersman.apiserver.workers import run_step

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from steersman.apimachinery.names import Dice
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.watch_cache import WatchCache
    from steersman.schema.resources import Resource

    #: Action on a pod's spec and its service account.
    _Act = Callable[[Attributes, Tree, Tree], None]

DEFAULT_ACCOUNT: Final = "default"
MIRROR_ANNOTATION: Final = "kubernetes.io/config.mirror"
ENFORCE_ANNOTATION: Final = "kubernetes.io/enforce-mountable-secrets"
TOKEN_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 — where tokens are mounted
#: Upstream's marker (``WarnOnlyBoundTokenExpirationPeriod``): the token was not requested by the pod's author.
TOKEN_SECONDS: Final = 3607
_UNITS_PER_CONTAINER: Final = 3


class ServiceAccount(Plugin):
    """New pods; for ephemeral containers only the check of mountable secrets."""

    name: ClassVar[str] = "ServiceAccount"

    def __init__(self, accounts: WatchCache, *, dice: Dice) -> None:
        self._accounts: Final = Lookup(accounts, whole)
        self._dice: Final = dice

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for creates of pods, and updates of their ephemeral containers."""
        if resource.name != "pods" or resource.group:
            return False
        if subresource == "ephemeralcontainers":
            return operation is Operation.UPDATE
        return not subresource and operation is Operation.CREATE

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Set the account, its token volume and pull secrets. Raises 403 for a missing account."""
        pod = attributes.object
        if pod is None or attributes.subresource:
            return None
        if _is_mirror(pod):
            _check_mirror(attributes, pod)
            return None
        spec = pod["spec"]
        name = spec.get("serviceAccountName") or DEFAULT_ACCOUNT
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        return self._with_account(attributes, spec, name, act=self._fill_in)

    def _fill_in(self, attributes: Attributes, spec: Tree, account: Tree) -> None:
        if _mounts_token(spec, account):
            self._mount_token(spec)
        if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
            spec["imagePullSecrets"] = [{"name": ref["name"]} for ref in account["imagePullSecrets"] if ref.get("name")]

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Raise 403 for a missing account, or for secrets that the account does not allow."""
        pod = attributes.object
        if pod is None:
            return None
        if _is_mirror(pod):
            if not attributes.subresource:
                _check_mirror(attributes, pod)
            return None
        spec = pod["spec"]
        name = spec.get("serviceAccountName")
        if not name:
            pod_name = pod["metadata"].get("name", "")
            raise attributes.forbidden(f"no service account specified for pod {attributes.namespace}/{pod_name}")
        return self._with_account(attributes, spec, name, act=_check_secrets)

    def _with_account(self, attributes: Attributes, spec: Tree, name: str, *, act: _Act) -> Awaitable[None] | None:
        """Call ``act``, immediately if the pod is small and the account is cached."""
        account = self._accounts.get_cached(name, namespace=attributes.namespace)
        if account is None or attributes.ctx.is_large:
            return self._act_later(attributes, spec, name, act=act)
        act(attributes, spec, account)
        return None

    async def _act_later(self, attributes: Attributes, spec: Tree, name: str, *, act: _Act) -> None:
        account = await self._accounts.get(name, namespace=attributes.namespace)
        if account is None:
            message = not_found("serviceaccount", name).message
            raise attributes.forbidden(f"error looking up service account {attributes.namespace}/{name}: {message}")
        await run_step(act, attributes.ctx.is_large, attributes, spec, account)

    def _mount_token(self, spec: Tree) -> None:
        """Mount the token in containers without a mount at its path, from one shared volume."""
        names = [volume["name"] for volume in spec.get("volumes") or ()]
        existing = next((name for name in names if name.startswith(TOKEN_VOLUME_PREFIX)), None)
        name = existing or generate_name(TOKEN_VOLUME_PREFIX, self._dice)
        needed = False
        for containers in ("initContainers", "containers"):
            for container in charged(spec.get(containers) or (), _UNITS_PER_CONTAINER):
                mounts = container.get("volumeMounts") or []
                if all(mount.get("mountPath") != TOKEN_PATH for mount in mounts):
                    container["volumeMounts"] = [*mounts, {"name": name, "readOnly": True, "mountPath": TOKEN_PATH}]
                    needed = True
        if needed and existing is None:
            volume = {"name": name, "projected": _token_source()}
            spec["volumes"] = [*(spec.get("volumes") or ()), volume]


def _token_source() -> Tree:
    """Return the projected volume with token, cluster CA and namespace, as ``rest.InClusterConfig`` expects."""
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    return {
        "defaultMode": 0o644,
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [namespace]}},
        ],
    }


def _is_mirror(pod: Tree) -> bool:
    annotations = pod["metadata"].get("annotations")
    return bool(annotations) and MIRROR_ANNOTATION in annotations


def _check_mirror(attributes: Attributes, pod: Tree) -> None:
    """Raise 403 if a mirror pod uses service accounts, secrets or tokens."""
    spec = pod["spec"]
    if spec.get("serviceAccountName"):
        raise attributes.forbidden("a mirror pod may not reference service accounts")
    if any(secret_names(spec)):
        raise attributes.forbidden("a mirror pod may not reference secrets")
    for volume in spec.get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            if source.get("serviceAccountToken") is not None:
                raise attributes.forbidden("a mirror pod may not use ServiceAccountToken volume projections")


def _mounts_token(spec: Tree, account: Tree) -> bool:
    """Return ``automountServiceAccountToken`` of the pod, else of the account, else True."""
    for decider in (spec, account):
        decision = decider.get("automountServiceAccountToken")
        if decision is not None:
            return bool(decision)
    return True


def _check_secrets(attributes: Attributes, spec: Tree, account: Tree) -> None:
    annotations = account["metadata"].get("annotations")
    if annotations and annotations.get(ENFORCE_ANNOTATION, "").lower() in ("1", "t", "true"):
        for fault in _unlisted_secrets(spec, account):
            raise attributes.forbidden(fault)


def _unlisted_secrets(spec: Tree, account: Tree) -> Iterator[str]:
    """Yield the secrets that the pod uses and its account does not list, in upstream's order."""
    mountable = {ref.get("name") for ref in account.get("secrets") or ()}
    ending = f"is not allowed because service account {account['metadata']['name']} does not reference that"
    for volume in spec.get("volumes") or ():
        secret = volume.get("secret")
        if secret is not None and secret.get("secretName") not in mountable:
            yield f'volume with secret.secretName="{secret.get("secretName", "")}" {ending} secret'
    for kind, containers in (
        ("init container", "initContainers"),
        ("container", "containers"),
        ("ephemeral container", "ephemeralContainers"),
    ):
        for container in charged(spec.get(containers) or (), _UNITS_PER_CONTAINER):
            yield from _unlisted_in_container(f"{kind} {container['name']}", container, mountable, ending)
    pullable = {ref.get("name") for ref in account.get("imagePullSecrets") or ()}
    for position, ref in enumerate(spec.get("imagePullSecrets") or ()):
        if ref.get("name") not in pullable:
            yield f'imagePullSecrets[{position}].name="{ref.get("name", "")}" {ending} imagePullSecret'


def _unlisted_in_container(subject: str, container: Tree, mountable: set[Any], ending: str) -> Iterator[str]:
    for variable in container.get("env") or ():
        ref = (variable.get("valueFrom") or {}).get("secretKeyRef")
        if ref is not None and ref.get("name") not in mountable:
            yield (
                f'{subject} with envVar {variable["name"]} referencing secret.secretName="{ref.get("name", "")}" {ending} secret'
            )
    for source in container.get("envFrom") or ():
        ref = source.get("secretRef")
        if ref is not None and ref.get("name") not in mountable:
            yield f'{subject} with envFrom referencing secret.secretName="{ref.get("name", "")}" {ending} secret'
