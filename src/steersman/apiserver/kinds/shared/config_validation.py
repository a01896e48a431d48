"""Validation of ConfigMaps and Secrets: keys, sizes, contents required by the type, immutability."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field, names
from steersman.apimachinery.codec import DecodeError, decode_json
from steersman.apimachinery.workmeter import charged
from steersman.apiserver.kinds.shared.validation import check_all, check_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree

SIZE_MAX_BYTES: Final = 1 << 20
_UNITS_PER_KEY: Final = 2
#: Upstream's path of the object itself is one empty element, printed as ``[]``.
_WHOLE: Final = field.Path("")
_DATA: Final = field.Path("data")
_BINARY: Final = field.Path("binaryData")
_FROZEN: Final = "field is immutable when `immutable` is set"
_ACCOUNT_ANNOTATION: Final = "kubernetes.io/service-account.name"
#: Secret types whose key must hold JSON.
_JSON_KEYS: Final = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}


def validate_config_map(obj: Tree) -> list[FieldError]:
    """Validate a ConfigMap."""
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    errors: list[FieldError] = []
    size = 0
    for key, value in charged(data.items(), _UNITS_PER_KEY):
        if faults := names.check_config_map_key(key):
            errors += check_all(_DATA.key(key), key, faults)
        if key in binary:
            errors.append(field.invalid(_DATA.key(key), key, "duplicate of key present in binaryData"))
        size += len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
    for key, value in charged(binary.items(), _UNITS_PER_KEY):
        if faults := names.check_config_map_key(key):
            errors += check_all(_BINARY.key(key), key, faults)
        size += decoded_size(value)
    if size > SIZE_MAX_BYTES:
        errors.append(field.too_long(_WHOLE, max_bytes=SIZE_MAX_BYTES))
    return errors


def decoded_size(text: str) -> int:
    """Return the number of bytes that base64 text decodes to."""
    return len(text) * 3 // 4 - (text.endswith("=") + text.endswith("=="))


def validate_frozen(obj: Tree, old: Tree, *keys: str) -> Iterator[FieldError]:
    """Reject changes of the data of an immutable object, and of ``immutable`` from true."""
    if not old.get("immutable"):
        return
    if not obj.get("immutable"):
        yield field.forbidden("immutable", _FROZEN)
    for key in keys:
        if (obj.get(key) or {}) != (old.get(key) or {}):
            yield field.forbidden(key, _FROZEN)


def validate_secret(obj: Tree) -> list[FieldError]:
    """Validate a Secret."""
    data = obj.get("data") or {}
    errors: list[FieldError] = []
    for key in charged(data, _UNITS_PER_KEY):
        errors += check_all(_DATA.key(key), key, names.check_config_map_key(key))
    if sum(map(decoded_size, charged(data.values(), _UNITS_PER_KEY))) > SIZE_MAX_BYTES:
        errors.append(field.too_long(_DATA, max_bytes=SIZE_MAX_BYTES))
    errors += _validate_by_type(obj, data)
    return errors


def _validate_by_type(obj: Tree, data: Tree) -> Iterator[FieldError]:
    kind = obj.get("type") or ""
    if kind in _JSON_KEYS:
        yield from _validate_json(data, _JSON_KEYS[kind])
    match kind:
        case "kubernetes.io/service-account-token":
            if not (obj["metadata"].get("annotations") or {}).get(_ACCOUNT_ANNOTATION):
                yield field.required(field.Path("metadata", "annotations").key(_ACCOUNT_ANNOTATION))
        case "kubernetes.io/basic-auth":
            if "username" not in data and "password" not in data:
                yield field.required(_DATA.key("username"))
                yield field.required(_DATA.key("password"))
        case "kubernetes.io/ssh-auth":
            if not data.get("ssh-privatekey"):
                yield field.required(_DATA.key("ssh-privatekey"))
        case "kubernetes.io/tls":
            for key in ("tls.crt", "tls.key"):
                if key not in data:
                    yield field.required(_DATA.key(key))


def _validate_json(data: Tree, key: str) -> Iterator[FieldError]:
    if key not in data:
        yield field.required(_DATA.key(key))
        return
    try:
        content = decode_json(b64decode(data[key]))
    except DecodeError as error:
        yield field.invalid(_DATA.key(key), "<secret contents redacted>", str(error))
        return
    if not isinstance(content, dict) and content is not None:
        kinds = {str: "string", list: "array", bool: "bool", int: "number", float: "number"}
        fault = f"json: cannot unmarshal {kinds[type(content)]} into Go value of type map[string]interface {{}}"
        yield field.invalid(_DATA.key(key), "<secret contents redacted>", fault)


def validate_secret_update(obj: Tree, old: Tree) -> list[FieldError]:
    """Validate an update of a Secret."""
    errors = list(check_unchanged(obj.get("type"), old.get("type"), field.Path("type")))
    errors += validate_frozen(obj, old, "data")
    return errors + validate_secret(obj)
