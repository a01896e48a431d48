"""SelfSubjectReview and TokenReview."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery.errors import bad_request
from steersman.apiserver.authn.bearer import review_token
from steersman.apiserver.authn.interface import InvalidCredentials
from steersman.apiserver.generic.writing import time_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.authn.interface import TokenAuthenticator
    from steersman.apiserver.endpoints.posting import PostWrite
    from steersman.apiserver.http import Request


async def who_am_i(request: Request, posted: PostWrite, check: Callable[[], Awaitable[None]]) -> None:
    """Answer a SelfSubjectReview: the caller, after impersonation."""
    await check()
    metadata = {"creationTimestamp": time_text(posted.ctx.now)}
    posted.new.update(metadata=metadata, status={"userInfo": request.user.tree()})


class TokenReviews:
    """Endpoint of TokenReviews."""

    def __init__(self, authenticators: Sequence[TokenAuthenticator], *, audiences: Sequence[str]) -> None:
        """``audiences``: those of this server; the default of reviews that name none."""
        self._authenticators = authenticators
        self._audiences = tuple(audiences)

    async def of_token(self, request: Request, posted: PostWrite, check: Callable[[], Awaitable[None]]) -> None:
        """Authenticate the token of a review. Raises 400 without one."""
        spec = posted.new.get("spec") or {}
        token = spec.get("token")
        if not token:
            raise bad_request("token is required for TokenReview in authentication")
        await check()
        try:
            reviewed = await review_token(token, spec.get("audiences") or self._audiences, self._authenticators)
        except InvalidCredentials as error:
            posted.new["status"] = {"user": {}, "error": str(error)}
            return
        status: Tree = {"authenticated": True, "user": reviewed.user.tree()}
        if reviewed.audiences:
            status["audiences"] = list(reviewed.audiences)
        posted.new["status"] = status
