"""Restrictions of mirror pods, which kubelets create for static pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.gotext import quote
from steersman.apiserver.admission.service_account import MIRROR_ANNOTATION
from steersman.apiserver.kinds.core.node.graph_feed import config_map_names
from steersman.apiserver.kinds.shared.podspec.secrets import secret_names

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.admission.interface import Attributes


_OWNER: Final = "can only create pods with an owner reference set to itself"


def owner_uid(node: str, attributes: Attributes, pod: Tree) -> str:
    """Return the node UID in the pod's owner reference. Raises 403 unless it is a mirror pod of the node."""
    subject = f"node {quote(node)}"
    if MIRROR_ANNOTATION not in (pod["metadata"].get("annotations") or {}):
        message = f"pod does not have {quote(MIRROR_ANNOTATION)} annotation, {subject} can only create mirror pods"
        raise attributes.forbidden(message)
    if pod["spec"].get("nodeName") != node:
        raise attributes.forbidden(f"{subject} can only create pods with spec.nodeName set to itself")
    owners = pod["metadata"].get("ownerReferences") or []
    if len(owners) > 1:
        raise attributes.forbidden(f"{subject} can only create pods with a single owner reference set to itself")
    if not owners:
        raise attributes.forbidden(f"{subject} {_OWNER}")
    [owner] = owners
    if (owner.get("apiVersion"), owner.get("kind"), owner.get("name")) != ("v1", "Node", node):
        raise attributes.forbidden(f"{subject} {_OWNER}")
    if not owner.get("controller"):
        raise attributes.forbidden(f"{subject} can only create pods with a controller owner reference set to itself")
    if owner.get("blockOwnerDeletion"):
        raise attributes.forbidden(f"{subject} must not set blockOwnerDeletion on an owner reference")
    uid: str = owner.get("uid") or ""
    return uid


def check_mirror_pod(node: str, attributes: Attributes, pod: Tree) -> None:
    """Raise 403 if the pod references other objects, which would let the kubelet read them."""
    spec = pod["spec"]
    volumes = spec.get("volumes") or ()
    projected = [part for volume in volumes for part in (volume.get("projected") or {}).get("sources") or ()]
    referenced = {
        "a service account": bool(spec.get("serviceAccountName")),
        "secrets": any(True for _ in secret_names(spec)),
        "configmaps": any(config_map_names(spec)),
        "clustertrustbundles": any(part.get("clusterTrustBundle") is not None for part in projected),
        "persistentvolumeclaims": any(volume.get("persistentVolumeClaim") is not None for volume in volumes),
        "resourceclaims": bool(spec.get("resourceClaims")),
    }
    for kind, is_referenced in referenced.items():
        if is_referenced:
            raise attributes.forbidden(f"node {quote(node)} can not create pods that reference {kind}")
