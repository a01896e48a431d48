"""DELETE with ``ignoreStoreReadErrorWithClusterBreakingPotential``: of objects whose stored data is damaged.

Served instead of the plain endpoints while the feature gate AllowUnsafeMalformedObjectDeletion (alpha) is on; without the gate
the option has no effect. No finalizer, precondition or admission plugin is asked: all of them need the object.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/delete.go, .../registry/generic/registry/corrupt_obj_deleter.go
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apimachinery.errors import forbidden, invalid, not_found
from steersman.apimachinery.gotext import quote
from steersman.apiserver.endpoints.delete import delete
from steersman.apiserver.endpoints.deletecollection import delete_collection
from steersman.apiserver.endpoints.negotiation import negotiate
from steersman.apiserver.endpoints.options import read_delete_options
from steersman.apiserver.endpoints.representation import render_tree
from steersman.apiserver.generic.options import META_GROUP

if TYPE_CHECKING:
    from steersman.apiserver.endpoints.request_scope import RequestScope
    from steersman.apiserver.generic.options import DeleteOptions
    from steersman.apiserver.http import Request, Response

FEATURE_GATE: Final = "AllowUnsafeMalformedObjectDeletion"
VERB: Final = "unsafe-delete-ignore-read-errors"
_OPTION: Final = "ignoreStoreReadErrorWithClusterBreakingPotential"


async def delete_even_corrupt(scope: RequestScope, request: Request) -> Response:
    """Delete an object; with the option, one that cannot be read. Raises 403, 404, 422 besides what ``delete`` raises."""
    options = await read_delete_options(request)
    if not options.ignore_store_read_error:
        return await delete(scope, request)
    form = negotiate(request, is_custom=scope.served.is_custom)
    _check_options(options)
    decision = await scope.decide(request, VERB)
    name = request.info.name
    if not decision.allowed:
        raise forbidden(scope.group_resource, name, f"not permitted to do {quote(VERB)}, reason: {decision.reason}")
    ctx = scope.context(request, options)
    objects = scope.objects
    await objects.cache.wait_fresh()
    key = objects.key(ctx, name)
    revision = objects.cache.corrupt_revision(key)
    if revision is None:
        if objects.cache.get(key) is None:
            raise not_found(scope.group_resource, name)
        detail = "is exclusively used to delete corrupt object(s), try again by removing this option"
        raise invalid(scope.group_resource, name, [field.invalid(_OPTION, True, detail)])
    await objects.delete_corrupt(key, expected=revision)
    resource = scope.served.resource
    details = {"name": name, "group": resource.group, "kind": resource.name}
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {key: value for key, value in details.items() if value},
    }
    return await render_tree(request, status, form=form)


async def delete_readable_collection(scope: RequestScope, request: Request) -> Response:
    """Delete a collection; reject the option, which is for single objects. Raises 422 and the errors of ``delete_collection``."""
    options = await read_delete_options(request)
    if options.ignore_store_read_error:
        detail = "is not allowed with DELETECOLLECTION, try again after removing the option"
        raise invalid(f"DeleteOptions.{META_GROUP}", "", [field.invalid(_OPTION, True, detail)])
    return await delete_collection(scope, request)


def _check_options(options: DeleteOptions) -> None:
    others = {
        "dryRun": options.dry_run,
        "propagationPolicy": options.propagation_policy,
        "orphanDependents": options.orphan_dependents is not None,
        "gracePeriodSeconds": options.grace_period_seconds is not None,
        "preconditions": options.has_preconditions,
    }
    errors = [
        field.invalid(_OPTION, True, f"cannot be set together with .{name}")
        for name, is_set in others.items()
        if is_set
    ]
    if errors:
        raise invalid(f"DeleteOptions.{META_GROUP}", "", errors)
