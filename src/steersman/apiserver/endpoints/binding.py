"""``pods/binding`` and the older ``bindings``: assignment of a pod to a node."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apimachinery.errors import StatusError, bad_request, conflict, plain_error
from steersman.apimachinery.field import join_messages
from steersman.apiserver.endpoints.posting import PostScope, read_posted, render_success
from steersman.apiserver.generic.rewriting import rewrite
from steersman.apiserver.generic.served import ServedResource
from steersman.apiserver.generic.write_pipeline import admit
from steersman.apiserver.generic.writing import resource_version_of, time_text, uid_mismatch
from steersman.apiserver.kinds.core.pod.conditions import set_condition
from steersman.schema.loader import struct

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.admission.chain import AdmissionChain
    from steersman.apiserver.authz.interface import Authorizer
    from steersman.apiserver.http import Request, Response
    from steersman.schema.resources import Resource


_PODS: Final = "pods"


def binding_endpoints(
    pods: ServedResource, resource: Resource, *, admission: AdmissionChain, authorizer: Authorizer
) -> Mapping[str, Callable[[Request], Awaitable[Response]]]:
    """Return the endpoints of ``pods/binding`` (``resource`` is pods) and ``bindings``, which has no storage."""
    served = pods if resource is pods.resource else _as(resource, pods)
    scope = PostScope(
        served,
        admission=admission,
        authorizer=authorizer,
        subresource="binding" if served is pods else "",
        kind="Binding",
        group_version=("", "v1"),
        keeps_system_fields=True,
    )
    return {"create": partial(bind, scope)}


def _as(resource: Resource, pods: ServedResource) -> ServedResource:
    """Return pods under the name of another resource, as admission plugins see them."""
    return ServedResource(
        resource,
        storage=pods.storage,
        cache=pods.cache,
        strategy=pods.strategy,
        struct=struct(resource.definition),
    )


async def bind(scope: PostScope, request: Request) -> Response:
    """Return 201. Raises 400, 404, 409, and 500 for a target that is no node, as upstream."""
    posted, form = await read_posted(scope, request)
    binding, name = posted.new, posted.object_name
    if (binding["metadata"].get("name") or "") != name:
        raise bad_request("name in URL does not match name in Binding object")
    errors = validate_binding(binding)
    if errors:
        raise plain_error(join_messages(map(str, errors)))
    await admit(posted)
    ctx = posted.ctx.changed(group_resource=_PODS)

    def change(pod: Tree) -> None:
        check_preconditions(scope.objects.key(ctx, name), pod, binding)
        assign(pod, binding, ctx.now)

    await rewrite(scope.objects, ctx, name, change)
    return await render_success(request, form)


def validate_binding(binding: Tree) -> list[FieldError]:
    """Return the errors of the target."""
    target = binding.get("target") or {}
    errors: list[FieldError] = []
    if target.get("kind") not in (None, "", "Node"):
        errors.append(field.not_supported("target.kind", target["kind"], ("Node", "<empty>")))
    if not target.get("name"):
        errors.append(field.required("target.name"))
    return errors


def check_preconditions(key: str, pod: Tree, binding: Tree) -> None:
    """Raise 409 if UID or resourceVersion of the binding differ from the pod's."""
    binding_metadata, metadata = binding["metadata"], pod["metadata"]
    if binding_metadata.get("uid") and binding_metadata["uid"] != metadata["uid"]:
        raise uid_mismatch(
            _PODS, metadata["name"], key=key, precondition=binding_metadata["uid"], actual=metadata["uid"]
        )
    version = resource_version_of(binding_metadata)
    if version and str(version) != metadata["resourceVersion"]:
        raise conflict(
            _PODS,
            metadata["name"],
            f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition"
            f" failed: ResourceVersion in precondition: {version}, ResourceVersion in object meta:"
            f" {metadata['resourceVersion']}",
        )


def assign(pod: Tree, binding: Tree, now: datetime) -> None:
    """Set the node of the pod, and the annotations and labels of the binding. Raises 409 if the pod is terminating, gated or assigned."""
    metadata, spec = pod["metadata"], pod.setdefault("spec", {})
    name = metadata["name"]
    if metadata.get("deletionTimestamp"):
        raise _refused(name, f"pod {name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        raise _refused(name, f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise _refused(name, f"pod {name} has non-empty .spec.schedulingGates")
    spec["nodeName"] = binding["target"]["name"]
    for part in ("annotations", "labels"):
        added = binding["metadata"].get(part)
        if added:
            metadata[part] = {**(metadata.get(part) or {}), **added}
    status = pod.setdefault("status", {})
    status.pop("nominatedNodeName", None)
    set_condition(status, {"type": "PodScheduled", "status": "True"}, time_text(now))


def _refused(name: str, reason: str) -> StatusError:
    return conflict("pods/binding", name, reason)
