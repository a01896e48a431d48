"""CONNECT requests (exec, attach, port-forward, proxy): decoding of their options, and admission.

Upstream: ``registry/rest.Connecter``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.admission.interface import Attributes, Operation
from steersman.apiserver.endpoints.query_objects import read_query_object
from steersman.apiserver.request import RequestContext

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.admission.chain import AdmissionChain, Steps
    from steersman.apiserver.generic.served import ServedResource
    from steersman.apiserver.http import Request


class Connecter:
    """Subresource of CONNECT requests: the kind of its options, and its admission steps."""

    __slots__ = ("_kind", "_steps", "_subresource", "served")

    def __init__(self, served: ServedResource, *, admission: AdmissionChain, subresource: str, kind: str) -> None:
        self.served: Final = served
        self._subresource: Final = subresource
        self._kind: Final = kind
        self._steps: Final[Steps] = admission.steps(served, subresource, Operation.CONNECT)

    async def admit(self, request: Request) -> Tree:
        """Return the options of a request after admission. Raises 400, and the error of a plugin that rejects."""
        info = request.info
        query = {**request.query, "path": ["/" + "/".join(info.parts)]} if info.parts else request.query
        options = read_query_object(self._kind, query)
        if self._steps.admit or self._steps.validate:
            attributes = Attributes(
                Operation.CONNECT,
                self.served,
                self._context(request),
                name=info.name,
                obj=options,
                subresource=self._subresource,
            )
            await self._steps.mutate(attributes)
            await self._steps.check(attributes)
        return options

    def _context(self, request: Request) -> RequestContext:
        resource = self.served.resource
        return RequestContext(
            request.user,
            self.served.clock.now(),
            namespace=request.info.namespace if resource.namespaced else "",
            version=resource.version,
            subresource=self._subresource,
            audit_id=request.audit_id,
            warnings=request.warnings,
            annotations=request.annotations,
            latency=request.latency,
            group_resource=resource.group_resource,
        )
