"""Endpoints of reviews: a body is decoded and admitted like that of a stored object, and answered."""

from __future__ import annotations

from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.endpoints.posting import PostScope, PostWrite, read_posted
from steersman.apiserver.endpoints.representation import render_tree
from steersman.apiserver.generic.served import ServedResource
from steersman.apiserver.generic.strategy import Strategy
from steersman.apiserver.generic.write_pipeline import admit
from steersman.schema.loader import struct

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from steersman.apiserver.admission.chain import AdmissionChain
    from steersman.apiserver.authz.interface import Authorizer
    from steersman.apiserver.http import Request, Response
    from steersman.asynckit.clock import Clock
    from steersman.schema.resources import Resource

    #: Sets the status of the posted review. ``check`` runs validating admission; it must be called after validation.
    Answer = Callable[[Request, PostWrite, Callable[[], Awaitable[None]]], Awaitable[None]]

#: Status of a review that is not answered yet, which webhooks see.
_UNANSWERED: Final[Mapping[str, dict[str, Any]]] = {
    "LocalSubjectAccessReview": {"allowed": False},
    "SelfSubjectAccessReview": {"allowed": False},
    "SelfSubjectReview": {"userInfo": {}},
    "SelfSubjectRulesReview": {"resourceRules": None, "nonResourceRules": None, "incomplete": False},
    "SubjectAccessReview": {"allowed": False},
    "TokenReview": {"user": {}},
}


class ReviewWrite(PostWrite):
    """Write of a posted review, up to admission."""

    __slots__ = ()

    def manage_fields(self) -> None:
        self.new.pop("status", None)
        super().manage_fields()
        self.new["status"] = deepcopy(_UNANSWERED[self.new["kind"]])


def review_endpoints(
    resource: Resource, answer: Answer, *, clock: Clock, admission: AdmissionChain, authorizer: Authorizer
) -> Mapping[str, Callable[[Request], Awaitable[Response]]]:
    """Return the endpoints of a review resource by verb."""
    served = ServedResource(
        resource,
        storage=None,
        cache=None,
        clock=clock,
        strategy=Strategy(),
        struct=struct(resource.definition),
    )
    scope = PostScope(
        served,
        admission=admission,
        authorizer=authorizer,
        subresource="",
        kind=resource.kind,
        group_version=(resource.group, resource.version),
    )
    return {"create": partial(_review, scope, answer)}


async def _review(scope: PostScope, answer: Answer, request: Request) -> Response:
    """Return 201 and the review with its status. Raises the errors of decoding and of ``answer``."""
    posted, form = await read_posted(scope, request, ReviewWrite)
    await answer(request, posted, partial(admit, posted))
    return await render_tree(request, posted.new, form=form, code=201, cells=[])
