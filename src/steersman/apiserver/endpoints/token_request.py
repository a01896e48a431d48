"""``serviceaccounts/token``: tokens of a ServiceAccount with an expiration, optionally bound to an object's lifetime."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apimachinery.errors import bad_request, conflict, internal_error, invalid, not_found
from steersman.apiserver.authn import jws
from steersman.apiserver.authn.account_claims import Bound, Ref
from steersman.apiserver.authn.token_issuer import SigningError
from steersman.apiserver.endpoints.posting import PostScope, PostWrite, read_posted
from steersman.apiserver.endpoints.representation import render_tree
from steersman.apiserver.generic.write_pipeline import admit
from steersman.apiserver.generic.writing import time_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.admission.chain import AdmissionChain
    from steersman.apiserver.authn.token_issuer import TokenIssuer
    from steersman.apiserver.authz.interface import Authorizer
    from steersman.apiserver.generic.registry import Registry
    from steersman.apiserver.generic.served import ServedResource
    from steersman.apiserver.http import Request, Response


_GROUP_KIND: Final = "TokenRequest.authentication.k8s.io"
#: Audit annotation that identifies the token.
_ISSUED: Final = "authentication.kubernetes.io/issued-credential-id"
_DEFAULT_SECONDS: Final = 3600
_SECONDS_MIN: Final = 600
_SECONDS_MAX: Final = 1 << 32
#: Expiration that the ServiceAccount admission plugin requests; such a token is valid for a year and warns after this time.
_WARN_ONLY_SECONDS: Final = 3607
_EXTENDED_SECONDS: Final = 365 * 24 * 3600
#: Kinds that a token can be bound to, and where they are.
_BINDABLE: Final = {"Pod": "pods", "Node": "nodes", "Secret": "secrets"}


class _TokenWrite(PostWrite):
    """Write of a TokenRequest, up to admission."""

    __slots__ = ()

    def default(self) -> None:
        spec = self.new.setdefault("spec", {})
        if spec.get("expirationSeconds") is None:
            spec["expirationSeconds"] = _DEFAULT_SECONDS


class TokenRequests:
    """Dependencies of the endpoint."""

    def __init__(
        self,
        registry: Registry,
        issuer: TokenIssuer,
        *,
        life_seconds_max: int = 0,
        extends: bool = True,
        extended_seconds_max: int = 0,
    ) -> None:
        """``life_seconds_max``: bound of lifetimes, 0 for none. ``extends``: tokens of pods have an extended lifetime, of at most
        ``extended_seconds_max`` unless that is 0.
        """
        self._registry: Final = registry
        self.issuer: Final = issuer
        self._life_seconds_max: Final = life_seconds_max
        self._extends: Final = extends
        self._extended_seconds: Final = min(_EXTENDED_SECONDS, extended_seconds_max or _EXTENDED_SECONDS)

    def endpoints(
        self, accounts: ServedResource, *, admission: AdmissionChain, authorizer: Authorizer
    ) -> Mapping[str, Callable[[Request], Awaitable[Response]]]:
        """Return the endpoints by verb."""
        scope = PostScope(
            accounts,
            admission=admission,
            authorizer=authorizer,
            subresource="token",
            kind="TokenRequest",
            group_version=("authentication.k8s.io", "v1"),
            keeps_system_fields=True,
        )
        return {"create": partial(self.create, scope)}

    async def create(self, scope: PostScope, request: Request) -> Response:
        """Return 201 and a token, even in a dry run, as upstream. Raises 400, 404, 409, 422."""
        posted, form = await read_posted(scope, request, _TokenWrite)
        tree, ctx = posted.new, posted.ctx
        spec = tree["spec"]
        _check_names(posted)
        account = await self._get("serviceaccounts", posted.object_name, ctx.namespace)
        _check_uid(posted, account)
        _complete(posted, account, self.issuer.audiences)
        _check_life(spec["expirationSeconds"])
        await admit(posted)
        bound = await self._bound(spec.get("boundObjectRef"), account)
        life_seconds, bound = self._life(posted, bound)
        try:
            token = await self.issuer.issue(bound, audiences=spec["audiences"], now=ctx.now, life_seconds=life_seconds)
        except SigningError as error:
            raise internal_error(f"failed to generate token: {error}") from error
        if ctx.annotations is not None:
            ctx.annotate(_ISSUED, f"JTI={jws.read_unverified(token).claims['jti']}")
        expires = ctx.now + timedelta(seconds=spec["expirationSeconds"])
        tree["status"] = {"token": token, "expirationTimestamp": time_text(expires)}
        return await render_tree(request, tree, form=form, code=201, cells=[])

    async def _get(self, plural: str, name: str, namespace: str) -> Tree:
        """Return an object. Raises 400, 404."""
        cache = self._registry.stored(plural).cache
        await cache.wait_fresh()
        entry = cache.get(cache.requested_key(namespace, name))
        if entry is None:
            raise not_found(plural, name)
        return entry.tree()

    async def _bound(self, ref: Tree | None, account: Tree) -> Bound:
        """Return the account and the bound objects of the token. Raises 400, 404, 409."""
        metadata = account["metadata"]
        namespace = metadata["namespace"]
        owner = Ref(metadata["name"], metadata["uid"])
        if ref is None:
            return Bound(namespace, owner)
        kind, version, name = ref.get("kind", ""), ref.get("apiVersion", ""), ref.get("name", "")
        plural = _BINDABLE.get(kind)
        if plural is None or "/" in version:
            group, _, version = version.rpartition("/")
            raise bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
        bound_object = await self._get(plural, name, namespace)
        uid = bound_object["metadata"]["uid"]
        if kind == "Pod" and (bound_object["spec"].get("serviceAccountName") or "") != owner.name:
            raise bad_request(
                f'cannot bind token for serviceaccount "{owner.name}" to pod running with different serviceaccount name.'
            )
        if ref.get("uid") and ref["uid"] != uid:
            raise conflict(
                kind,
                name,
                f"the UID in the bound object reference ({ref['uid']}) does not match the UID in record."
                " The object might have been deleted and then recreated",
            )
        if kind == "Pod":
            return Bound(namespace, owner, pod=Ref(name, uid), node=await self._node_of(bound_object))
        if kind == "Node":
            return Bound(namespace, owner, node=Ref(name, uid))
        return Bound(namespace, owner, secret=Ref(name, uid))

    async def _node_of(self, pod: Tree) -> Ref | None:
        """Return the node of a pod; of a missing one only the name."""
        name = pod["spec"].get("nodeName")
        if not name:
            return None
        cache = self._registry.stored("nodes").cache
        await cache.ready()
        entry = cache.get(cache.key("", name))
        return Ref(name) if entry is None else Ref(name, entry.tree()["metadata"]["uid"])

    def _life(self, posted: PostWrite, bound: Bound) -> tuple[int, Bound]:
        """Return the lifetime of the token, and the time from which its use causes a warning."""
        spec = posted.new["spec"]
        seconds = spec["expirationSeconds"]
        longest = self._life_seconds_max
        if longest and seconds > longest:
            posted.ctx.warn(f"requested expiration of {seconds} seconds shortened to {longest} seconds")
            seconds = spec["expirationSeconds"] = longest
        for_server = all(audience in self.issuer.audiences for audience in spec["audiences"])
        if not (self._extends and bound.pod is not None and seconds == _WARN_ONLY_SECONDS and for_server):
            return seconds, bound
        after = int(posted.ctx.now.timestamp()) + seconds
        extended = Bound(bound.namespace, bound.serviceaccount, bound.pod, bound.secret, bound.node, warnafter=after)
        return self._extended_seconds, extended


def _check_names(posted: PostWrite) -> None:
    """Raise 422 if the body names another account than the path."""
    name = posted.new["metadata"].get("name")
    if name and name != posted.object_name:
        error = field.invalid("metadata.name", name, "must match the service account name if specified")
        raise invalid(_GROUP_KIND, posted.object_name, [error])


def _check_uid(posted: PostWrite, account: Tree) -> None:
    """Raise 409 if the body has the UID of another account of that name (TokenRequestServiceAccountUIDValidation)."""
    requested_uid, uid = posted.new["metadata"].get("uid"), account["metadata"]["uid"]
    if requested_uid and requested_uid != uid:
        detail = f"the UID in the token request ({requested_uid}) does not match the UID of the service account ({uid})"
        raise conflict(_GROUP_KIND, posted.object_name, detail)


def _complete(posted: PostWrite, account: Tree, audiences: tuple[str, ...]) -> None:
    """Set defaults and server-set fields."""
    tree = posted.new
    metadata = account["metadata"]
    tree["metadata"] |= {
        "name": metadata["name"],
        "namespace": metadata["namespace"],
        "uid": metadata["uid"],
        "creationTimestamp": time_text(posted.ctx.now),
    }
    spec = tree["spec"]
    if not spec.get("audiences"):
        spec["audiences"] = list(audiences)
    spec.setdefault("boundObjectRef", None)


def _check_life(seconds: int) -> None:
    """Raise 422 for an invalid lifetime."""
    detail = ""
    if seconds < _SECONDS_MIN:
        detail = "may not specify a duration less than 10 minutes"
    elif seconds > _SECONDS_MAX:
        detail = "may not specify a duration larger than 2^32 seconds"
    if detail:
        raise invalid(_GROUP_KIND, "", [field.invalid("spec.expirationSeconds", seconds, detail)])
