"""``/scale``: the replicas of a workload as an ``autoscaling/v1 Scale``, the same for all kinds."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.errors import bad_request, conflict, internal_error, invalid, not_found
from steersman.apimachinery.field import invalid as invalid_value
from steersman.apimachinery.gotext import quote
from steersman.apimachinery.managedfields.scale import SCALE_VERSION, entries_for_parent, entries_for_scale
from steersman.apimachinery.metadata_validation import validate_object_meta
from steersman.apimachinery.names import name_is_dns_subdomain
from steersman.apimachinery.selectors import SelectorError, from_label_selector
from steersman.apiserver.endpoints.body import ObjectDecoder, equivalent_api_versions
from steersman.apiserver.endpoints.negotiation import negotiate
from steersman.apiserver.endpoints.representation import render_tree
from steersman.apiserver.endpoints.request_scope import RequestScope
from steersman.apiserver.generic.columns import AGE_COLUMN, age
from steersman.apiserver.generic.strategy import Column
from steersman.schema.decoding import decode
from steersman.schema.loader import struct_for

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.admission.chain import AdmissionChain
    from steersman.apiserver.admission.interface import Attributes
    from steersman.apiserver.authz.interface import Authorizer
    from steersman.apiserver.endpoints.negotiation import Form
    from steersman.apiserver.generic.entry import Entry
    from steersman.apiserver.generic.options import WriteOptions
    from steersman.apiserver.generic.served import ServedResource
    from steersman.apiserver.generic.strategy import ScalePaths
    from steersman.apiserver.http import Request, Response
    from steersman.apiserver.request import RequestContext


KIND: Final = "Scale"
_COLUMNS: Final = (
    Column("Name", field="meta.v1.ObjectMeta.name"),
    Column("Desired", "integer", field="autoscaling.v1.ScaleSpec.replicas"),
    Column("Available", "integer", field="autoscaling.v1.ScaleStatus.replicas"),
    AGE_COLUMN,
)
_IDENTITY: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
#: Replicas in the Scale that a patch is applied to if a custom object has none. Upstream: ``invalidSpecReplicas``.
_MISSING_REPLICAS: Final = -(2**31)
_SELECTOR_PARTS: Final = frozenset({"matchLabels", "matchExpressions"})


class ScaleScope(RequestScope):
    """Request scope of ``/scale``: replicas and managed fields of a Scale are merged into its object."""

    __slots__ = ("_paths", "_replicas_paths")

    def __init__(self, served: ServedResource, *, admission: AdmissionChain, authorizer: Authorizer) -> None:
        struct = struct_for("autoscaling", "v1", KIND)
        decoder = ObjectDecoder(
            KIND,
            SCALE_VERSION,
            partial(decode, struct),
            struct=struct,
            equivalent_versions=equivalent_api_versions(KIND, SCALE_VERSION),
        )
        super().__init__(served, admission=admission, authorizer=authorizer, subresource="scale", decoder=decoder)
        paths = served.strategy.scale
        if paths is None:
            raise ValueError(f"{self.group_resource} cannot be scaled")
        self.struct = struct
        self.api_version = SCALE_VERSION
        self._paths: Final[ScalePaths] = paths
        self._replicas_paths: Final = {served.resource.api_version: paths.spec_replicas}

    def scale_of(self, obj: Tree) -> Tree:
        """Return the Scale of a stored object."""
        metadata = obj["metadata"]
        replicas = _value_at(obj, self._paths.spec_replicas) or 0
        status: Tree = {"replicas": _value_at(obj, self._paths.status_replicas) or 0}
        selector = _selector_text(_value_at(obj, self._paths.selector) if self._paths.selector else None)
        if selector:
            status["selector"] = selector
        return {
            "kind": KIND,
            "apiVersion": SCALE_VERSION,
            "metadata": {name: metadata[name] for name in _IDENTITY if name in metadata},
            "spec": {"replicas": replicas} if replicas else {},
            "status": status,
        }

    def check_scaled(self, entry: Entry) -> None:
        """Raise upstream's 500 for a custom object without replicas."""
        if self.served.is_custom and _value_at(self.served.tree(entry), self._paths.spec_replicas) is None:
            raise internal_error(f"the spec replicas field {quote(self._replicas_field)} does not exist")

    @property
    def _replicas_field(self) -> str:
        return f".{'.'.join(self._paths.spec_replicas)}"

    def to_request_version(self, old: Tree) -> Tree:
        scale = self.scale_of(old)
        if self.served.is_custom and _value_at(old, self._paths.spec_replicas) is None:
            scale["spec"]["replicas"] = _MISSING_REPLICAS
        owners = entries_for_scale(old["metadata"].get("managedFields"), self._replicas_paths)
        if owners:
            scale["metadata"]["managedFields"] = owners
        return scale

    def in_request_version(self, old: Tree) -> Tree:
        return self.to_request_version(old)

    def default(self, tree: Tree) -> None:
        """Do nothing: a Scale without replicas has no default."""

    def to_storage_version(self, tree: Tree) -> Tree:
        """Return the Scale itself; ``merge_into_object`` applies it to the object after admission."""
        return tree

    def mutation_attributes(
        self, ctx: RequestContext, new: Tree, old: Tree | None, options: WriteOptions, name: str
    ) -> Attributes:
        """Return the change as mutating admission sees it: ``new`` is a Scale, ``old`` the stored object."""
        return self._attributes(ctx, new, None if old is None else self.scale_of(old), options, name)

    def validation_attributes(
        self, ctx: RequestContext, new: Tree, old: Tree | None, options: WriteOptions, name: str
    ) -> Attributes:
        """Return the change as validating admission sees it: Scales of both objects."""
        return self._attributes(ctx, self.scale_of(new), None if old is None else self.scale_of(old), options, name)

    def merge_into_object(self, ctx: RequestContext, new: Tree, old: Tree | None) -> Tree:
        """Return the stored object with the replicas of a Scale. Raises 400, 404, 409, 422."""
        metadata = new["metadata"]
        if old is None:
            raise not_found(ctx.group_resource, metadata.get("name") or "")
        replicas = (new.get("spec") or {}).get("replicas") or 0
        if self.served.is_custom and replicas == _MISSING_REPLICAS:
            raise bad_request(f"the spec replicas field {quote(self._replicas_field)} cannot be empty")
        if not self.served.is_custom:  # custom objects are validated by their schema
            errors = validate_object_meta(metadata, namespaced=True, name_rule=name_is_dns_subdomain)
            if replicas < 0:
                errors.append(invalid_value("spec.replicas", replicas, "must be greater than or equal to 0"))
            if errors:
                raise invalid("Scale.autoscaling", metadata.get("name") or "", errors)
        uid, stored_uid = metadata.get("uid"), old["metadata"]["uid"]
        if uid and uid != stored_uid:
            reason = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {stored_uid}"
            raise conflict(
                f"{self.served.resource.name}/scale.{self.served.resource.group}".rstrip("."), metadata["name"], reason
            )
        return self._scaled(old, metadata, replicas)

    def _scaled(self, old: Tree, scale_metadata: Tree, replicas: int) -> Tree:
        """Return the object with the replicas, resourceVersion and managed fields of its Scale."""
        metadata = {**old["metadata"]}
        based_on = scale_metadata.get("resourceVersion", "")
        if based_on or not self.served.is_custom:  # the Scale of a custom object needs no resourceVersion
            metadata["resourceVersion"] = based_on
        owners = entries_for_parent(
            metadata.pop("managedFields", None),
            scale_metadata.get("managedFields"),
            api_version=self.served.resource.api_version,
            replicas_paths=self._replicas_paths,
        )
        if owners:
            metadata["managedFields"] = owners
        return _with_value_at({**old, "metadata": metadata}, self._paths.spec_replicas, replicas)

    async def render(self, request: Request, entry: Entry, *, form: Form, code: int = 200) -> Response:
        scale = self.scale_of(self.objects.layout.tree(entry))
        replicas = [scale[part].get("replicas", 0) for part in ("spec", "status")]
        cells = [scale["metadata"]["name"], *replicas, age(scale, self.served.clock.now())]
        return await render_tree(request, scale, form=form, code=code, columns=_COLUMNS, cells=cells)


async def get_scale(scope: ScaleScope, request: Request) -> Response:
    """Return the Scale of an object. Raises 400, 404, 406, 500."""
    form = negotiate(request)
    cache, info = scope.served.cache, request.info
    await cache.wait_fresh()
    entry = cache.get(cache.requested_key(info.namespace, info.name))
    if entry is None:
        raise not_found(scope.group_resource, info.name)
    if scope.served.converter is not None:
        [entry] = await scope.served.converter.entries([entry])
    scope.check_scaled(entry)
    return await scope.render(request, entry, form=form)


def _value_at(tree: Tree, path: tuple[str, ...]) -> Any:
    value: Any = tree
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def _with_value_at(tree: Tree, path: tuple[str, ...], value: Any) -> Tree:
    """Return a copy with a value at a path; other parts are shared."""
    name, *rest = path
    below = tree.get(name)
    if rest:
        value = _with_value_at(below if isinstance(below, dict) else {}, tuple(rest), value)
    return {**tree, name: value}


def _selector_text(selector: Any) -> str:
    """Return the text of a LabelSelector, a map of labels, or a text, as ``status.selector`` has it."""
    if isinstance(selector, str) or not selector:
        return selector or ""
    is_structured = selector.keys() <= _SELECTOR_PARTS and not any(isinstance(part, str) for part in selector.values())
    try:
        return str(from_label_selector(selector if is_structured else {"matchLabels": selector}))
    except SelectorError:
        return ""
