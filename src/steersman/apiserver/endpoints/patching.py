"""The four patch types: from a stored object and a patch to the changed object, in the version of the request."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery.codec import DecodeError, decode_json, duplicate_field_messages, encode
from steersman.apimachinery.envelope import json_type
from steersman.apimachinery.errors import bad_request, invalid, not_found, plain_error
from steersman.apimachinery.field import invalid as invalid_value
from steersman.apimachinery.gotext import quote, to_json, to_value_text
from steersman.apimachinery.managedfields.applying import apply, object_title
from steersman.apimachinery.patch import apply_json_patch, apply_merge_patch, parse_json_patch, parse_merge_patch
from steersman.apimachinery.yaml_codec import decode_yaml
from steersman.apiserver.generic.writing import time_text
from steersman.schema.strategic_merge import strategic_merge
from steersman.schema.unstructured import from_unstructured

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apimachinery.errors import StatusError
    from steersman.apimachinery.trees import Tree
    from steersman.apimachinery.yaml_codec import YAMLDocument
    from steersman.apiserver.endpoints.request_scope import RequestScope
    from steersman.apiserver.generic.options import WriteOptions
    from steersman.apiserver.request import RequestContext


#: Go type of decoded patches in error messages.
_OBJECT: Final = "map[string]interface {}"


class Patch(ABC):
    """One patch of one request. ``apply_to`` is called again, for another state, after a lost race."""

    #: Server-side apply: ``apply_to`` also fills in defaults and updates ``managedFields``.
    is_apply: ClassVar[bool] = False
    #: A missing object is created.
    may_create: ClassVar[bool] = False

    def __init__(self, scope: RequestScope, ctx: RequestContext, options: WriteOptions, raw: bytes) -> None:
        self._scope: Final = scope
        self._ctx: Final = ctx
        self._options: Final = options
        self._raw: Final = raw

    @abstractmethod
    def apply_to(self, old: Tree | None, name: str) -> Tree:
        """Return the changed object, which shares nothing with ``old``. Raises StatusError, 404 for None."""

    def _existing(self, old: Tree | None, name: str) -> Tree:
        """Return the stored object in the version of the request, to be read only. Raises 404."""
        if old is None:
            raise not_found(self._scope.group_resource, name)
        return self._scope.in_request_version(old)

    def _decoded(self, tree: Tree, duplicates: list[str], describe: Callable[[], str]) -> Tree:
        """Return the patched object, decoded. ``describe`` returns the excerpt of the patch for error messages. Raises 422."""
        try:
            decoded, unknown = self._decode(tree)
        except DecodeError as error:
            raise _refused(describe(), str(error)) from None
        if not self._options.lenient and (duplicates or unknown):
            complaints = [*duplicates, *(f"unknown field {quote(path)}" for path in unknown)]
            if self._options.strict:
                raise _refused(describe(), f"strict decoding error: {', '.join(complaints)}")
            for complaint in complaints:
                self._ctx.warn(complaint)
        return decoded

    def _text(self, tree: Tree) -> str:
        """Return a patched object as a refusal shows it; Go sorts the keys of unstructured objects."""
        return to_json(tree, sort_keys=True) if self._scope.served.is_custom else encode(tree).decode()

    def _decode(self, tree: Tree) -> tuple[Tree, list[str]]:
        """Decode a patched object; return the paths of its unknown fields too. Raises ``DecodeError``."""
        return self._scope.decoder.decode_tree(tree)

    def _duplicates(self, tree: Any) -> list[str]:
        """Return a message for each duplicate key of the patch."""
        return [] if self._options.lenient else duplicate_field_messages(self._raw, tree)


class JSONPatch(Patch):
    """``application/json-patch+json``: a list of operations."""

    def apply_to(self, old: Tree | None, name: str) -> Tree:
        existing = self._existing(old, name)
        operations, duplicates = parse_json_patch(self._raw)
        tree = apply_json_patch(existing, operations)
        return self._decoded(tree, duplicates, lambda: self._text(tree))


class MergePatch(Patch):
    """``application/merge-patch+json``: objects are merged, null removes a field, other values replace it."""

    def apply_to(self, old: Tree | None, name: str) -> Tree:
        existing = self._existing(old, name)
        patch = parse_merge_patch(self._raw)
        tree = apply_merge_patch(existing, patch)
        return self._decoded(tree, self._duplicates(patch), lambda: self._text(tree))


class StrategicMergePatch(Patch):
    """``application/strategic-merge-patch+json``: as a merge, but lists merge by the keys that their types name."""

    def apply_to(self, old: Tree | None, name: str) -> Tree:
        existing = self._existing(old, name)
        patch = self._parsed()
        tree = strategic_merge(existing, patch, self._scope.struct)
        # kind and version of the patch have no effect: the result is decoded as the stored kind
        tree["kind"], tree["apiVersion"] = existing["kind"], existing["apiVersion"]
        return self._decoded(tree, self._duplicates(patch), lambda: to_value_text(patch))

    def _decode(self, tree: Tree) -> tuple[Tree, list[str]]:
        """Decode; the unknown fields are sorted by path. Upstream: ``FromUnstructuredWithValidation``."""
        decoded, unknown = _decode_unstructured(self._scope, tree)
        return decoded, sorted(unknown)

    def _parsed(self) -> Tree:
        try:
            patch = decode_json(self._raw)
        except DecodeError as error:
            raise bad_request(str(error)) from None
        if patch is None:
            return {}
        if not isinstance(patch, dict):
            raise bad_request(f"json: cannot unmarshal {json_type(patch)} into Go value of type {_OBJECT}")
        return patch


class ApplyPatch(Patch):
    """``application/apply-patch+yaml``: the manager's intent; fields that it applied before and applies no more are removed."""

    is_apply = True
    may_create = True

    def apply_to(self, old: Tree | None, name: str) -> Tree:
        scope, ctx = self._scope, self._ctx
        if scope.struct is None:
            raise plain_error(f"{scope.group_resource} has no schema that could be applied to")
        config, duplicates = self._parsed()
        tree = apply(
            None if old is None else scope.to_request_version(old),
            config,
            struct=scope.struct,
            kind=scope.decoder.kind,
            manager=self._options.field_manager,
            force=bool(self._options.force),
            api_version=scope.api_version,
            time=time_text(ctx.now),
            defaulter=partial(self._defaulted, config),
            subresource=scope.subresource,
            reset_fields=scope.reset_fields,
            versions=scope.versions if ctx.versions is None else ctx.versions,
        )
        if duplicates is not None and not self._options.lenient:
            if self._options.strict:
                raise bad_request(
                    f"error strict decoding YAML: error converting YAML to JSON: {duplicates.strict_error()}"
                )
            for text in duplicates.duplicates:
                ctx.warn(text)
        tree.setdefault("metadata", {})
        return tree

    def _parsed(self) -> tuple[Tree, YAMLDocument | None]:
        """Return the intent, and its document if that has duplicate keys. Raises 400."""
        try:
            document = decode_yaml(self._raw)
        except DecodeError as error:
            raise bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from None
        config = {} if document.tree is None else document.tree
        if not isinstance(config, dict):
            into = f"Go value of type {_OBJECT}"
            message = f"json: cannot unmarshal {json_type(config)} into {into}"
            raise bad_request(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {message}")
        return config, document if document.duplicates else None

    def _defaulted(self, config: Tree, tree: Tree) -> Tree:
        try:
            decoded, _ = _decode_unstructured(self._scope, tree)
        except DecodeError as error:
            title = object_title(config)
            raise plain_error(
                f"failed to convert new object ({title}) to proper version:"
                f" unable to convert unstructured object to {title.partition('; ')[2]}: {error}"
            ) from None
        self._scope.default(decoded)
        return decoded


class ApplyCBORPatch(ApplyPatch):
    """``application/apply-patch+cbor``: the same; duplicate keys are an error."""

    def _parsed(self) -> tuple[Tree, YAMLDocument | None]:
        from steersman.apimachinery import cbor  # noqa: PLC0415 — behind a feature gate

        try:
            return cbor.decode_map(self._raw, _OBJECT) or {}, None
        except DecodeError as error:
            raise bad_request(f"error decoding YAML: {error}") from None


def _decode_unstructured(scope: RequestScope, tree: Tree) -> tuple[Tree, list[str]]:
    """Decode the result of a strategic merge or an apply, of which built-in kinds are converted without a JSON decoder."""
    try:
        return scope.decoder.decode_tree(tree)
    except DecodeError:
        if scope.struct is None or scope.decoder.is_custom:
            raise
        return scope.decoder.decode_tree(from_unstructured(scope.struct, tree))


def _refused(shown: str, detail: str) -> StatusError:
    """Return the 422 for a result that is no object of the kind. The cause shows the patched object, or the patch, as text."""
    return invalid("", "", [invalid_value("patch", shown, detail)])
