"""What a kubelet may say of the copy of a static pod that it makes here (a mirror pod)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.gotext import quote
from steersman.apiserver.admission.service_account import MIRROR_ANNOTATION
from steersman.apiserver.kinds.core.node.following import config_map_names
from steersman.apiserver.kinds.shared.podspec.secrets import secret_names

if TYPE_CHECKING:
    from steersman.apiserver.admission.interface import Attributes

    Tree = dict[str, Any]

_OWNER: Final = "can only create pods with an owner reference set to itself"


def owner_uid(node: str, attributes: Attributes, pod: Tree) -> str:
    """The uid that a mirror pod takes its node to have. Raises 403 when it is not the node's pod."""
    who = f"node {quote(node)}"
    if MIRROR_ANNOTATION not in (pod["metadata"].get("annotations") or {}):
        why = f"pod does not have {quote(MIRROR_ANNOTATION)} annotation, {who} can only create mirror pods"
        raise attributes.forbidden(why)
    if pod["spec"].get("nodeName") != node:
        raise attributes.forbidden(f"{who} can only create pods with spec.nodeName set to itself")
    owners = pod["metadata"].get("ownerReferences") or []
    if len(owners) > 1:
        raise attributes.forbidden(f"{who} can only create pods with a single owner reference set to itself")
    if not owners:
        raise attributes.forbidden(f"{who} {_OWNER}")
    [owner] = owners
    if (owner.get("apiVersion"), owner.get("kind"), owner.get("name")) != ("v1", "Node", node):
        raise attributes.forbidden(f"{who} {_OWNER}")
    if not owner.get("controller"):
        raise attributes.forbidden(f"{who} can only create pods with a controller owner reference set to itself")
    if owner.get("blockOwnerDeletion"):
        raise attributes.forbidden(f"{who} must not set blockOwnerDeletion on an owner reference")
    uid: str = owner.get("uid") or ""
    return uid


def check_mirror_pod(node: str, attributes: Attributes, pod: Tree) -> None:
    """Raises 403 when the pod mentions other objects: the kubelet could read them then."""
    spec = pod["spec"]
    volumes = spec.get("volumes") or ()
    projected = [part for each in volumes for part in (each.get("projected") or {}).get("sources") or ()]
    mentioned = {
        "a service account": bool(spec.get("serviceAccountName")),
        "secrets": any(True for _ in secret_names(spec)),
        "configmaps": any(config_map_names(spec)),
        "clustertrustbundles": any(part.get("clusterTrustBundle") is not None for part in projected),
        "persistentvolumeclaims": any(each.get("persistentVolumeClaim") is not None for each in volumes),
        "resourceclaims": bool(spec.get("resourceClaims")),
    }
    for what, is_mentioned in mentioned.items():
        if is_mentioned:
            raise attributes.forbidden(f"node {quote(node)} can not create pods that reference {what}")
