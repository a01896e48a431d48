"""Decoding of request bodies of creates and updates into trees of the kind of the path; a mismatch is a 400."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.codec import (
    DecodeError,
    decode_json,
    decode_json_exactly,
    duplicate_field_messages,
    may_hide_keys,
)
from steersman.apimachinery.envelope import (
    TypeMeta,
    cannot_be_handled,
    type_meta,
    unreadable_json,
    unrecognized,
)
from steersman.apimachinery.errors import bad_request, internal_error, invalid
from steersman.apimachinery.field import invalid as invalid_value
from steersman.apimachinery.gotext import quote, to_json
from steersman.apimachinery.trees import in_key_order
from steersman.apimachinery.typemodel import ListOf, Struct
from steersman.apimachinery.yaml_codec import decode_yaml
from steersman.apiserver.endpoints.media import CBOR, JSON, PROTOBUF, YAML
from steersman.schema import protobuf
from steersman.schema.diagnosis import InexactError
from steersman.schema.duplicates import merged_tree, strict_messages
from steersman.schema.loader import struct_for
from steersman.schema.resources import table

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.options import WriteOptions

    #: Returns the decoded tree and the paths of unknown fields. Raises ``DecodeError``; its argument is not changed.
    Decode = Callable[[Tree], tuple[Tree, list[str]]]

_ROLES: Final = frozenset({"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"})
_FLOWS: Final = frozenset({"FlowSchema", "PriorityLevelConfiguration"})
#: Kinds of versions that are no longer served, but still in upstream's scheme. Upstream: ``pkg/apis/*/install``.
_UNSERVED: Final[dict[str, frozenset[str]]] = {
    "admissionregistration.k8s.io/v1beta1": frozenset(
        {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
        | {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
    ),
    "apiextensions.k8s.io/v1beta1": frozenset({"CustomResourceDefinition"}),
    "apiregistration.k8s.io/v1beta1": frozenset({"APIService"}),
    "apps/v1beta1": frozenset({"ControllerRevision", "Deployment", "Scale", "StatefulSet"}),
    "apps/v1beta2": frozenset({"ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "Scale", "StatefulSet"}),
    "autoscaling/v2beta1": frozenset({"HorizontalPodAutoscaler"}),
    "autoscaling/v2beta2": frozenset({"HorizontalPodAutoscaler"}),
    "batch/v1beta1": frozenset({"CronJob"}),
    "certificates.k8s.io/v1beta1": frozenset({"CertificateSigningRequest"}),
    "coordination.k8s.io/v1beta1": frozenset({"Lease"}),
    "discovery.k8s.io/v1beta1": frozenset({"EndpointSlice"}),
    "events.k8s.io/v1beta1": frozenset({"Event"}),
    "extensions/v1beta1": frozenset({"DaemonSet", "Deployment", "Ingress", "NetworkPolicy", "ReplicaSet", "Scale"}),
    "flowcontrol.apiserver.k8s.io/v1beta1": _FLOWS,
    "flowcontrol.apiserver.k8s.io/v1beta2": _FLOWS,
    "flowcontrol.apiserver.k8s.io/v1beta3": _FLOWS,
    "networking.k8s.io/v1beta1": frozenset({"IPAddress", "Ingress", "IngressClass", "ServiceCIDR"}),
    "node.k8s.io/v1alpha1": frozenset({"RuntimeClass"}),
    "node.k8s.io/v1beta1": frozenset({"RuntimeClass"}),
    "policy/v1beta1": frozenset({"Eviction", "PodDisruptionBudget"}),
    "rbac.authorization.k8s.io/v1alpha1": _ROLES,
    "rbac.authorization.k8s.io/v1beta1": _ROLES,
    "scheduling.k8s.io/v1alpha1": frozenset({"PriorityClass"}),
    "scheduling.k8s.io/v1beta1": frozenset({"PriorityClass"}),
    "storage.k8s.io/v1beta1": frozenset(
        {"CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"}
    ),
}


class ObjectDecoder:
    """Decodes bodies of one kind in one version."""

    __slots__ = (
        "_also",
        "_api_version",
        "_decode",
        "_equivalent_versions",
        "_group",
        "_is_type_reset",
        "_other_decoders",
        "_own_meta",
        "_struct",
        "_version",
        "empty_lists",
        "is_custom",
        "kind",
    )

    def __init__(
        self,
        kind: str,
        api_version: str,
        decode: Decode | None,
        *,
        struct: Struct | None = None,
        equivalent_versions: Collection[str] = (),
        other_decoders: Mapping[str, Decode] | None = None,
        also: Collection[str] = (),
        is_custom: bool = False,
        is_type_reset: bool = False,
        empty_lists: Collection[tuple[str, ...]] = (),
    ) -> None:
        """Without ``decode`` any fields are accepted. ``struct``: the type of a built-in kind. ``also``: other accepted versions with the same fields.

        ``other_decoders``: decoders, by version, that convert to this version; results of patches may be in one of these.
        ``is_type_reset``: kind and version of a patched custom object are replaced by the stored ones.
        """
        self.kind: Final = kind
        self._api_version: Final = api_version
        self._group, _, self._version = api_version.rpartition("/")
        self._own_meta: Final = TypeMeta(api_version, kind)
        self._decode: Final = decode
        self._struct: Final = struct
        #: Other versions (``autoscaling/v1``) of the same objects; a body in one of them has an error of its own.
        self._equivalent_versions: Final = frozenset(equivalent_versions)
        self._other_decoders: Final = other_decoders or {}
        self._also: Final = frozenset(also)
        self.is_custom: Final = is_custom
        self._is_type_reset: Final = is_type_reset
        #: Lists that are kept even if empty, because their writer owns them (see ``drop_empty_lists``).
        self.empty_lists: Final = tuple(empty_lists)

    def decode(self, raw: bytes, media_type: str, options: WriteOptions, warn: Callable[[str], None]) -> Tree:
        """Return the object of a body with kind, apiVersion and ``metadata``. Raises 400.

        Unknown and duplicated fields are dropped; by ``options`` they cause warnings (``warn``) or an error.
        """
        tree, duplicates = self._parse(raw, media_type, options)
        try:
            meta = self._own_meta if self._says_own(tree) else type_meta(tree)
        except DecodeError as error:
            raise unrecognized(self.kind, error, raw) from None
        decoded, unknown = self._convert(tree, raw, media_type, meta)
        if duplicates or unknown:
            complaints = self._strict_messages(raw, media_type, duplicates, unknown)
            if options.strict and complaints:
                message = f"strict decoding error: {', '.join(complaints)}"
                raise cannot_be_handled(self._effective_type(meta), self.kind, message)
            if not options.lenient:
                for complaint in complaints:
                    warn(complaint)
        decoded["kind"] = self._kind_of(meta)
        decoded["apiVersion"] = self._api_version
        return decoded

    def _strict_messages(self, raw: bytes, media_type: str, duplicates: list[str], unknown: list[str]) -> list[str]:
        """Return the errors of strict decoding: in document order for built-in kinds in JSON, else duplicates first.

        Unknown fields of custom objects come from pruning, those of YAML from the JSON that it was converted to.
        """
        if duplicates and media_type == JSON and self._struct is not None:
            return strict_messages(self._struct, raw)
        return [*duplicates, *(f"unknown field {quote(path)}" for path in unknown)]

    def decode_tree(self, tree: Any) -> tuple[Tree, list[str]]:
        """Return an object that the server composed (the result of a patch), and the paths of its unknown fields.

        An object in another version of a built-in kind is converted. Raises ``DecodeError`` when it is not of the kind, or a
        value does not fit; 422 and 500 for a custom object of another or no version.
        """
        meta = type_meta(tree)
        decode_other = self._other_decoders.get(meta.api_version) if meta.kind == self.kind else None
        if self.is_custom:
            self._check_custom_type(tree, meta)
        elif decode_other is None and self._mismatch(meta):
            raise DecodeError(self._mismatch(meta))
        decode = decode_other or self._decode
        decoded, unknown = (tree, list[str]()) if decode is None else _decode_sorted(decode, tree)
        decoded["kind"] = self._kind_of(meta)
        decoded["apiVersion"] = self._api_version
        self._keep_empty(decoded, tree)
        return decoded, self._unknown_fields(meta, unknown)

    def _parse(self, raw: bytes, media_type: str, options: WriteOptions) -> tuple[Any, list[str]]:
        try:
            if media_type == YAML:
                document = decode_yaml(raw)
                if options.strict and document.duplicates:
                    return document.tree, [document.strict_error()]
                return document.tree, [] if options.lenient else document.duplicates
            if media_type == PROTOBUF:
                return protobuf.decode_body(raw, self._api_version, self.kind), []
            if media_type == CBOR:
                from steersman.apimachinery import cbor  # noqa: PLC0415 — behind a feature gate

                return cbor.decode_object(raw), []
            tree = decode_json(raw)
        except DecodeError as error:
            reason = unreadable_json(error) if media_type == JSON else error
            raise unrecognized(self.kind, reason, raw) from None
        duplicates = duplicate_field_messages(raw, tree) if may_hide_keys(raw, tree) else []
        if duplicates and self._struct is not None:
            tree = merged_tree(self._struct, raw)
        return tree, [] if options.lenient else duplicates

    def _convert(self, tree: Any, raw: bytes, media_type: str, meta: TypeMeta) -> tuple[Tree, list[str]]:
        if meta.kind != self.kind or meta.api_version != self._api_version:
            if self.is_custom:
                self._check_custom(raw, meta)
            else:
                self._check_kind(meta)
        if self._decode is None:
            whole: Tree = {"metadata": {}, **(tree or {})}
            return whole, []
        try:
            decode = partial(_decode_sorted, self._decode) if media_type == YAML else self._decode
            decoded, unknown = decode(tree or {})
        except InexactError as inexact:
            raise cannot_be_handled(
                self._effective_type(meta), self.kind, self._exact(inexact, raw, media_type)
            ) from None
        except DecodeError as error:
            raise cannot_be_handled(self._effective_type(meta), self.kind, error) from None
        self._keep_empty(decoded, tree)
        return decoded, self._unknown_fields(meta, unknown)

    def _kind_of(self, meta: TypeMeta) -> str:
        """Return the kind of the decoded object: another one is left to the strategy of a custom resource, which rejects it."""
        return meta.kind if self.is_custom and not self._is_type_reset else self.kind

    def _unknown_fields(self, meta: TypeMeta, unknown: list[str]) -> list[str]:
        """Return the unknown fields to report: those of a custom object of another type have no schema."""
        is_other = self.is_custom and (meta.kind, meta.api_version) != (self.kind, self._api_version)
        return [] if is_other else unknown

    def _says_own(self, tree: Any) -> bool:
        """Report whether a body has exactly the kind and apiVersion of the path."""
        return type(tree) is dict and tree.get("kind") == self.kind and tree.get("apiVersion") == self._api_version

    def _keep_empty(self, decoded: Tree, tree: Any) -> None:
        """Restore meaningful empty lists, which decoding drops: empty managed fields reset them."""
        metadata = decoded.get("metadata")
        if metadata is None:
            metadata = decoded["metadata"] = {}
        if "managedFields" not in metadata and _at(tree, ("metadata", "managedFields")) == []:
            metadata["managedFields"] = []
        for path in self.empty_lists:
            if _at(tree, path) == []:
                _set_at(decoded, path, [])

    def _exact(self, error: DecodeError, raw: bytes, media_type: str) -> DecodeError:
        """Return the error with the number in the client's notation."""
        if media_type != JSON or self._decode is None:
            return error
        try:
            self._decode(decode_json_exactly(raw))
        except DecodeError as exact:
            return exact
        return error

    def _check_kind(self, meta: TypeMeta) -> None:
        """Validate kind and apiVersion; absent ones default to those of the path. Raises 400."""
        reason = self._mismatch(meta)
        if not reason:
            return
        effective = self._effective_type(meta)
        if effective.kind == self.kind and effective.api_version in self._equivalent_versions:
            raise bad_request(reason)
        raise cannot_be_handled(effective, self.kind, reason)

    def _check_custom(self, raw: bytes, meta: TypeMeta) -> None:
        """Validate kind and apiVersion of a custom object in a body, which are required. Raises 400."""
        if not meta.kind:
            raise unrecognized(self.kind, _missing_kind(raw.decode(errors="replace")), raw)
        if meta.api_version != self._api_version:
            raise bad_request(
                f"the API version in the data ({meta.api_version})"
                f" does not match the expected API version ({self._api_version})"
            )

    def _check_custom_type(self, tree: Tree, meta: TypeMeta) -> None:
        """Validate kind and apiVersion of a patched custom object. Raises ``DecodeError``, 422, and 500 without a version.

        Upstream: ``customResourceValidator.ValidateTypeMeta``, and ``rest.BeforeUpdate``, which needs a version.
        """
        if not meta.kind:
            raise DecodeError(_missing_kind(to_json(tree, sort_keys=True)))
        if not meta.api_version:
            raise internal_error("Object 'apiVersion' is missing in 'object has no apiVersion field'")
        if meta.api_version == self._api_version or self._is_type_reset:
            return
        wrong = [invalid_value("apiVersion", meta.api_version, f"must be {self._api_version}")]
        if meta.kind != self.kind:
            wrong.insert(0, invalid_value("kind", meta.kind, f"must be {self.kind}"))
        name = _at(tree, ("metadata", "name"))
        group_kind = f"{meta.kind}.{meta.group}" if meta.group else meta.kind
        raise invalid(group_kind, name if isinstance(name, str) else "", wrong)

    def _effective_type(self, meta: TypeMeta) -> TypeMeta:
        return TypeMeta(meta.api_version or self._api_version, meta.kind or self.kind)

    def _mismatch(self, meta: TypeMeta) -> str:
        """Return the reason why an object of that type cannot be of this kind; empty if it can."""
        effective = self._effective_type(meta)
        if effective.kind == self.kind and (
            effective.api_version == self._api_version or effective.api_version in self._also
        ):
            return ""
        if effective.kind == self.kind and effective.api_version in self._equivalent_versions:
            return (
                f"the API version in the data ({effective.api_version})"
                f" does not match the expected API version ({self._api_version})"
            )
        if not self.is_custom and is_registered(effective):
            return (
                f"converting ({effective.version}.{effective.kind}) to ({self._group.partition('.')[0] or 'core'}.{self.kind}):"
                " unknown conversion"
            )
        return (
            f"no kind {quote(effective.kind)} is registered for version {quote(effective.api_version)}"
            ' in scheme "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"'
        )


def _decode_sorted(decode: Decode, tree: Tree) -> tuple[Tree, list[str]]:
    """Decode a tree that upstream first writes as JSON with sorted keys: the order of its errors and unknown fields.

    Upstream: ``yaml.YAMLToJSON``; the JSON and merge patches of evanphx/json-patch.
    """
    try:
        decoded, unknown = decode(tree)
    except DecodeError:
        return decode(in_key_order(tree))
    return decoded, decode(in_key_order(tree))[1] if len(unknown) > 1 else unknown


def empty_lists_of(struct: Struct) -> list[tuple[str, ...]]:
    """Return the paths of top-level lists without ``omitempty`` (``rules``, ``endpoints``)."""
    paths: list[tuple[str, ...]] = []
    for name, field in struct.fields.items():
        if isinstance(field.type, ListOf) and field.required:
            paths.append((name,))
        elif isinstance(field.type, Struct) and name != "metadata":
            inner = field.type.fields.values()
            paths += [(name, below.name) for below in inner if isinstance(below.type, ListOf) and below.required]
    return paths


def drop_empty_lists(tree: Tree, paths: Collection[tuple[str, ...]]) -> None:
    """Replace empty lists at ``paths`` by null: stored objects have passed through protobuf."""
    for path in paths:
        if _at(tree, path) == []:
            _set_at(tree, path, None)


def _missing_kind(text: str) -> str:
    return f"Object 'Kind' is missing in '{text}'"


def _at(tree: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree


def _set_at(tree: Tree, path: tuple[str, ...], value: Any) -> None:
    for name in path[:-1]:
        tree = tree[name]
    tree[path[-1]] = value


def equivalent_api_versions(kind: str, api_version: str) -> frozenset[str]:
    """Return the other versions that upstream converts to a built-in kind: those of the same objects, served or not."""
    unserved = frozenset(version for version, kinds in _UNSERVED.items() if kind in kinds)
    resources = table().resources
    prefixes = {r.key_prefix for r in resources if r.kind == kind and r.api_version == api_version and r.key_prefix}
    served = frozenset(r.api_version for r in resources if r.key_prefix in prefixes and r.kind == kind)
    return (served | unserved) - {api_version}


def is_registered(meta: TypeMeta) -> bool:
    """Report whether a built-in kind, or the list of one, has this name and version."""
    if meta.kind in _UNSERVED.get(meta.api_version, ()):
        return True
    try:
        struct_for(meta.group, meta.version, meta.kind)
    except KeyError:
        return False
    return (meta.group, meta.version) in table().modules
