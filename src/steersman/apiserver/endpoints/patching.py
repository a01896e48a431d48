"""The four ways to tell a change: from a patch and what is there to what shall be there, in the client's version."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.codec import DecodeError, decode_json, duplicate_field_messages, encode
from steersman.apimachinery.envelope import json_type
from steersman.apimachinery.errors import bad_request, invalid, not_found, plain_error
from steersman.apimachinery.field import invalid as invalid_value
from steersman.apimachinery.gotext import quote, to_value_text
from steersman.apimachinery.managedfields.applying import apply
from steersman.apimachinery.patch import apply_json_patch, apply_merge_patch, parse_json_patch, parse_merge_patch
from steersman.apimachinery.yaml_codec import decode_yaml
from steersman.apiserver.generic.writing import time_text
from steersman.schema.strategic_merge import strategic_merge

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apimachinery.errors import StatusError
    from steersman.apiserver.endpoints.target import Target
    from steersman.apiserver.generic.options import WriteOptions
    from steersman.apiserver.request import RequestContext

    Tree = dict[str, Any]


#: The type that patches are read into, as messages name it.
_OBJECT: Final = "map[string]interface {}"


class Mechanism(ABC):
    """One patch of one request. ``patched`` is asked again, for another state, after a lost race."""

    def __init__(self, target: Target, ctx: RequestContext, options: WriteOptions, raw: bytes) -> None:
        self._target: Final = target
        self._ctx: Final = ctx
        self._options: Final = options
        self._raw: Final = raw

    @abstractmethod
    def patched(self, old: Tree | None, name: str) -> Tree:
        """What shall be in the place of ``old``, owners included. Raises StatusError; 404 when nothing is there."""

    def _existing(self, old: Tree | None, name: str) -> Tree:
        """What is there, as the client sees it; to be read only. Raises 404."""
        if old is None:
            raise not_found(self._target.group_resource, name)
        return self._target.live(old)

    def _decoded(self, tree: Tree, complaints: list[str], shown: Callable[[], str], old: Tree | None) -> Tree:
        """The patch's outcome, checked and defaulted. ``shown`` is what a refusal shows of the patch."""
        try:
            decoded, unknown = self._target.decoder.decode_tree(tree)
        except DecodeError as error:
            raise _refused(shown(), self._why(error)) from None
        if not self._options.lenient and (complaints or unknown):
            complaints = [*complaints, *(f"unknown field {quote(path)}" for path in unknown)]
            if self._options.strict:
                raise _refused(shown(), f"strict decoding error: {', '.join(complaints)}")
            for complaint in complaints:
                self._ctx.warn(complaint)
        self._target.default(decoded)
        self._target.own(self._ctx, decoded, old)
        return decoded

    def _why(self, error: DecodeError) -> str:
        """What a refusal says of an outcome that is no object of the kind."""
        return str(error)

    def _doubled(self, tree: Any) -> list[str]:
        """Keys that come twice in the patch's text."""
        return [] if self._options.lenient else duplicate_field_messages(self._raw, tree)


class JSONPatch(Mechanism):
    """``application/json-patch+json``: a list of operations."""

    def patched(self, old: Tree | None, name: str) -> Tree:
        existing = self._existing(old, name)
        operations, complaints = parse_json_patch(self._raw)
        tree = apply_json_patch(existing, operations)
        return self._decoded(tree, complaints, lambda: encode(tree).decode(), old)


class MergePatch(Mechanism):
    """``application/merge-patch+json``: maps merge, null removes, all else replaces."""

    def patched(self, old: Tree | None, name: str) -> Tree:
        existing = self._existing(old, name)
        patch = parse_merge_patch(self._raw)
        tree = apply_merge_patch(existing, patch)
        return self._decoded(tree, self._doubled(patch), lambda: encode(tree).decode(), old)


class StrategicMergePatch(Mechanism):
    """``application/strategic-merge-patch+json``: as a merge, but lists merge by the keys that their types name."""

    def patched(self, old: Tree | None, name: str) -> Tree:
        existing = self._existing(old, name)
        patch = self._parsed()
        tree = strategic_merge(existing, patch, self._target.struct)
        # what it says of kind and version has no effect: the outcome is read as what was there
        tree["kind"], tree["apiVersion"] = existing["kind"], existing["apiVersion"]
        return self._decoded(tree, self._doubled(patch), lambda: to_value_text(patch), old)

    def _why(self, error: DecodeError) -> str:
        return _unrestorable(str(error))

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


class ApplyPatch(Mechanism):
    """``application/apply-patch+yaml``: what the manager wants to be so; what it wanted before and wants no more goes."""

    def patched(self, old: Tree | None, name: str) -> Tree:
        target, ctx = self._target, self._ctx
        if target.struct is None:
            raise plain_error(f"{target.group_resource} has no schema that could be applied to")
        try:
            document = decode_yaml(self._raw)
        except DecodeError as error:
            raise bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from None
        config = {} if document.tree is None else document.tree
        if not isinstance(config, dict):
            into = f"Go value of type {_OBJECT}"
            why = f"json: cannot unmarshal {json_type(config)} into {into}"
            raise bad_request(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {why}")
        tree = apply(
            None if old is None else target.shown(old),
            config,
            struct=target.struct,
            kind=target.decoder.kind,
            manager=self._options.field_manager,
            force=bool(self._options.force),
            api_version=target.api_version,
            time=time_text(ctx.now),
            defaulter=self._defaulted,
            subresource=target.subresource,
            reset_fields=target.reset_fields,
            versions=target.versions,
        )
        if document.duplicates and not self._options.lenient:
            if self._options.strict:
                raise bad_request(
                    f"error strict decoding YAML: error converting YAML to JSON: {document.strict_error()}"
                )
            for text in document.duplicates:
                ctx.warn(text)
        tree.setdefault("metadata", {})
        return tree

    def _defaulted(self, tree: Tree) -> Tree:
        try:
            decoded, _ = self._target.decoder.decode_tree(tree)
        except DecodeError as error:
            raise plain_error(f"failed to convert the applied object: {error}") from None
        self._target.default(decoded)
        return decoded


#: A value of the wrong type, as reading JSON tells it: what it is, and what it should be.
_MISMATCH: Final = re.compile(r"json: cannot unmarshal (\w+)( \S+)? into .* of type (\S+)")
_GO_KINDS: Final = {"array": "slice", "object": "map", "number": "int64"}


def _unrestorable(text: str) -> str:
    """The same fault in other words: upstream reads a strategic patch's outcome from a tree, not from JSON."""
    match = _MISMATCH.fullmatch(text)
    if match is None:
        return text
    found, number, wanted = match.groups()
    kind = "float64" if number and not number.strip("- ").isdigit() else _GO_KINDS.get(found, found)
    if wanted.startswith(("[]", "map[")):
        return f"cannot restore {'slice' if wanted[0] == '[' else 'map'} from {kind}"
    if "." in wanted:
        return f"cannot restore struct from: {kind}"
    if (kind, wanted) == ("int64", "string") or (kind in ("int64", "float64") and wanted not in ("string", "bool")):
        return f"cannot convert {kind} to {wanted}"
    return f"unrecognized type: {wanted}"


def _refused(shown: str, why: str) -> StatusError:
    """422: the outcome is no object of the kind. The cause shows the patched object, or the patch, as text."""
    return invalid("", "", [invalid_value("patch", shown, why)])
