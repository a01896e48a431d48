"""JSON patch (RFC 6902) with the deviations of kube-apiserver's library, ``evanphx/json-patch``.

``replace`` of a missing key adds it, a missing value is null, ``test`` of a missing key for null holds, negative
indexes count from the end, and the part of a path before its first slash is ignored. Messages are the library's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence  # noqa: TC003 — compiled named tuples load the types of their fields
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.apimachinery import codec, errors
from steersman.apimachinery.codec import MAX_DEPTH, DecodeError
from steersman.apimachinery.envelope import json_type
from steersman.apimachinery.gotext import quote
from steersman.apimachinery.trees import copy_tree, same_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from steersman.apimachinery.errors import StatusError

MAX_OPERATIONS: Final = 10_000
#: Bytes of JSON that all ``copy`` operations of a patch may add: copies of copies grow exponentially.
MAX_COPIED_BYTES: Final = 3 * 1024 * 1024

_MEMBERS: Final = ("op", "path", "from", "value")
_INDEX: Final = re.compile(r"[-+]?[0-9]{1,18}", re.ASCII)


class JSONPatch(NamedTuple):
    """Decoded patch."""

    operations: Sequence[dict[str, Any]]
    #: Unknown and duplicate members of operations, as printed in warnings and strict errors.
    strict_messages: list[str]


class NotApplicableError(Exception):
    """An operation failed; later ones are not applied."""


class PatchTestError(NotApplicableError):
    """A ``test`` operation found another value."""


def parse_json_patch(raw: bytes) -> JSONPatch:
    """Decode the patch of a request body. Raises 400 for a malformed patch, 413 for too many operations."""
    try:
        tree = codec.decode_json(raw)
        operations = operations_of(tree)
    except DecodeError as error:
        raise errors.bad_request(f"error decoding patch: {error}") from None
    if len(operations) > MAX_OPERATIONS:
        raise errors.request_entity_too_large(
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        )
    messages = codec.duplicate_field_messages(raw, tree)
    for position, operation in enumerate(operations):
        unknown = [name for name in operation if name not in _MEMBERS]
        messages += [f"unknown field {quote(f'[{position}].{name}')}" for name in unknown]
    return JSONPatch(operations, [f"json patch {message}" for message in messages])


def operations_of(tree: Any) -> list[dict[str, Any]]:
    """Return the operations of a decoded patch. Raises DecodeError."""
    if tree is None:
        return []
    if not isinstance(tree, list):
        raise DecodeError(f"json: cannot unmarshal {json_type(tree)} into Go value of type []handlers.jsonPatchOp")
    for operation in tree:
        if operation is not None and not isinstance(operation, dict):
            type_name = json_type(operation)
            raise DecodeError(f"json: cannot unmarshal {type_name} into Go value of type handlers.jsonPatchOp")
        for name in _MEMBERS[:3]:
            value = (operation or {}).get(name)
            if value is not None and not isinstance(value, str):
                target = f"Go struct field jsonPatchOp.{name} of type string"
                raise DecodeError(f"json: cannot unmarshal {json_type(value)} into {target}")
    return [operation or {} for operation in tree]


def apply_json_patch(tree: Any, operations: Sequence[dict[str, Any]]) -> Any:
    """Return the patched tree. Raises 422 if an operation does not apply."""
    try:
        return apply_operations(tree, operations)
    except NotApplicableError as error:
        raise _does_not_apply(str(error)) from None


def apply_operations(tree: Any, operations: Sequence[dict[str, Any]]) -> Any:
    """Return the patched tree. Raises NotApplicableError."""
    document = _Document(copy_tree(tree))
    try:
        for operation in operations:
            document.apply(operation)
    except RecursionError as error:
        raise NotApplicableError(str(error)) from None
    if any(map(_may_deepen, operations)) and codec.depth_of(document.root) > MAX_DEPTH:
        raise NotApplicableError("the result nests too deeply")
    return document.root


def _may_deepen(operation: dict[str, Any]) -> bool:
    return operation.get("op") in ("move", "copy") or isinstance(operation.get("value"), (dict, list))


def _does_not_apply(message: str) -> StatusError:
    return errors.generic_server_response(422, server_message=message)


class _Document:
    """Private tree that operations mutate."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self._copied_bytes = 0

    def apply(self, operation: dict[str, Any]) -> None:
        kind = operation.get("op")
        action = _ACTIONS.get(kind or "")
        if action is None:
            raise NotApplicableError(f"Unexpected kind: {'unknown' if kind is None else kind}")
        action(self, operation)

    def _add(self, operation: dict[str, Any]) -> None:
        path = operation.get("path")
        if path is None:
            raise _missing("add operation failed to decode path")
        container, key = self._find(path, f"add operation does not apply: doc is missing path: {_quoted(path)}")
        with _within(f"error in add for path: '{path}'"):
            _insert(container, key, copy_tree(operation.get("value")))

    def _remove(self, operation: dict[str, Any]) -> None:
        path = operation.get("path")
        if path is None:
            raise _missing("remove operation failed to decode path")
        container, key = self._find(path, f"remove operation does not apply: doc is missing path: {_quoted(path)}")
        with _within(f"error in remove for path: '{path}'"):
            _take_out(container, key)

    def _replace(self, operation: dict[str, Any]) -> None:
        value, path = copy_tree(operation.get("value")), _text(operation, "path")
        if path == "":
            if not isinstance(value, (dict, list)):
                raise NotApplicableError("replace operation value must be object or array")
            self.root = value
            return
        container, key = self._find(path, f"replace operation does not apply: doc is missing path: {path}")
        if isinstance(container, dict):
            container[key] = value
            return
        try:
            position = _position(key, len(container))
        except NotApplicableError:
            raise _missing(f"replace operation does not apply: doc is missing key: {path}") from None
        container[position] = value

    def _move(self, operation: dict[str, Any]) -> None:
        source = _text(operation, "from")
        container, key = self._find(source, f"move operation does not apply: doc is missing from path: {source}")
        with _within(f"error in move for path: '{key}'"):
            value = _look_up(container, key)
            _take_out(container, key)
        path = _text(operation, "path")
        container, key = self._find(path, f"move operation does not apply: doc is missing destination path: {path}")
        with _within(f"error in move for path: '{path}'"):
            _insert(container, key, value)

    def _copy(self, operation: dict[str, Any]) -> None:
        source, path = _text(operation, "from"), operation.get("path")
        container, key = self._find(source, f"copy operation does not apply: doc is missing from path: {source}")
        with _within(f"error in copy for from: '{source}'"):
            value = _look_up(container, key)
        if path is None:
            raise _missing("copy operation failed to decode path")
        container, key = self._find(path, f"copy operation does not apply: doc is missing destination path: {path}")
        self._copied_bytes += len(codec.encode(value))
        if self._copied_bytes > MAX_COPIED_BYTES:
            raise NotApplicableError(f"the copied values are larger than {MAX_COPIED_BYTES} bytes")
        with _within("error while adding value during copy"):
            _insert(container, key, copy_tree(value))

    def _test(self, operation: dict[str, Any]) -> None:
        path = _text(operation, "path")
        current = self.root
        if path != "":
            container, key = self._find(path, f"test operation does not apply: is missing path: {path}")
            with _within(f"error in test for path: '{path}'"):
                current = _look_up(container, key)
        if not same_tree(current, operation.get("value")):
            raise PatchTestError(f"testing value {path} failed: test failed")

    def _find(self, path: str, failure: str) -> tuple[Any, str]:
        """Return the container that a path leads into, and the last step. Raises NotApplicableError with ``failure``."""
        steps = [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")]
        container = self.root
        for step in steps[1:-1]:
            try:
                container = _look_up(container, step)
            except NotApplicableError:
                container = None
            if not isinstance(container, (dict, list)):
                raise _missing(failure)
        if len(steps) < 2 or not isinstance(container, (dict, list)):
            raise _missing(failure)
        return container, steps[-1]


_ACTIONS: Final[dict[str, Callable[[_Document, dict[str, Any]], None]]] = {
    "add": _Document._add,
    "remove": _Document._remove,
    "replace": _Document._replace,
    "move": _Document._move,
    "copy": _Document._copy,
    "test": _Document._test,
}


def _missing(message: str) -> NotApplicableError:
    return NotApplicableError(f"{message}: missing value")


def _quoted(path: str) -> str:
    """Return a path in quotes, without escapes."""
    return f'"{path}"'


def _text(operation: dict[str, Any], member: str) -> str:
    """Return a path of an operation. Raises NotApplicableError if it is absent."""
    path = operation.get(member)
    if path is None:
        raise _missing(f"{operation['op']} operation failed to decode {member}: operation missing {member} field")
    return str(path)


@contextmanager
def _within(place: str) -> Iterator[None]:
    """Prefix the message of a NotApplicableError with ``place``."""
    try:
        yield
    except NotApplicableError as error:
        raise NotApplicableError(f"{place}: {error}") from None


def _look_up(container: Any, key: str) -> Any:
    """Return a map value, null if missing, or a list item. Raises NotApplicableError for a missing position."""
    return container.get(key) if isinstance(container, dict) else container[_position(key, len(container))]


def _insert(container: Any, key: str, value: Any) -> None:
    if isinstance(container, dict):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        if not _INDEX.fullmatch(key):
            raise NotApplicableError(f"value was not a proper array index: '{key}': {_syntax(key)}")
        container.insert(_position(key, len(container) + 1), value)


def _take_out(container: Any, key: str) -> None:
    if isinstance(container, list):
        del container[_position(key, len(container))]
    elif key in container:
        del container[key]
    else:
        raise _missing(f"Unable to remove nonexistent key: {key}")


def _position(key: str, length: int) -> int:
    """Return an index from the start; a negative one counts from the end."""
    if not _INDEX.fullmatch(key):
        raise NotApplicableError(_syntax(key))
    index = int(key)
    if not -length <= index < length:
        raise NotApplicableError(f"Unable to access invalid index: {index}: invalid index referenced")
    return index + length if index < 0 else index


def _syntax(key: str) -> str:
    return f"strconv.Atoi: parsing {quote(key)}: invalid syntax"
