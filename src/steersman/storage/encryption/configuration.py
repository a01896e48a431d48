"""``EncryptionConfiguration``: decoding, defaults and validation, with upstream's messages.

Upstream: staging/src/k8s.io/apiserver/pkg/apis/apiserver/{v1/types_encryption.go,v1/defaults.go,validation/validation_encryption.go}
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import msgspec

from steersman.apimachinery import field
from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.durations import format_duration, parse_duration
from steersman.apimachinery.gotext import quote
from steersman.apimachinery.yaml_codec import decode_yaml
from steersman.storage.encryption.ciphers import AES_KEY_SIZES, SECRETBOX_KEY_SIZES
from steersman.storage.encryption.transformers import ANY, parse_group_resource

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

API_VERSION: Final = "apiserver.config.k8s.io/v1"
KIND: Final = "EncryptionConfiguration"
AESGCM: Final = "aesgcm"
AESCBC: Final = "aescbc"
SECRETBOX: Final = "secretbox"
IDENTITY: Final = "identity"
KMS: Final = "kms"
_PROVIDERS: Final = (AESGCM, AESCBC, SECRETBOX, IDENTITY, KMS)
#: Fields of upstream's ``ProviderConfiguration`` in error messages.
_GO_NAMES: Final = ("AESGCM", "AESCBC", "Secretbox", "Identity", "KMS")
_DEFAULT_KMS_TIMEOUT_SECONDS: Final = 3.0
#: Stored data that is no resource; rejected in a configuration.
_NOT_RESOURCES: Final = ("apiserveripinfo", "serviceipallocations", "servicenodeportallocations")
_KEY_FIELDS: Final = {"name": str, "secret": str}
_KMS_FIELDS: Final = {"apiVersion": str, "name": str, "cachesize": int, "endpoint": str, "timeout": str}


class ConfigurationError(Exception):
    """Invalid encryption configuration; the message is upstream's."""


class Key(msgspec.Struct, frozen=True):
    """A named key; ``secret`` is base64."""

    name: str
    secret: str


class Provider(msgspec.Struct, frozen=True):
    """One provider: its kind, and its keys or plugin."""

    kind: str
    keys: tuple[Key, ...] = ()
    #: Of ``kms``.
    name: str = ""
    api_version: str = ""
    endpoint: str = ""
    timeout_seconds: float = 0.0
    cache_size: int | None = None


class Rule(msgspec.Struct, frozen=True):
    """Resources with the same providers. ``providers`` has a tuple for each element, which must contain exactly one."""

    resources: tuple[str, ...]
    providers: tuple[tuple[Provider, ...], ...]


def decode_configuration(data: bytes, path: str) -> tuple[Rule, ...]:
    """Return the unvalidated rules of a file. Raises ``ConfigurationError``."""
    if not data:
        raise ConfigurationError(f"encryption provider configuration file {quote(path)} is empty")
    prefix = f"error decoding encryption provider configuration file {quote(path)}"
    try:
        tree = decode_yaml(data).tree
    except DecodeError as error:
        raise ConfigurationError(f"{prefix}: {error}") from error
    kind, api_version = (tree.get("kind"), tree.get("apiVersion")) if isinstance(tree, dict) else (None, None)
    if (kind, api_version) != (KIND, API_VERSION):
        raise ConfigurationError(
            f"{prefix}: no kind {quote(str(kind or ''))} is registered for version {quote(str(api_version or ''))}"
        )
    reader = _Reader()
    rules = tuple(reader.rule(rule, f"resources[{i}]") for i, rule in enumerate(reader.items(tree, "resources", "")))
    reader.check_names(tree, {"kind", "apiVersion", "resources"}, "")
    if reader.problems:
        raise ConfigurationError(f"{prefix}: strict decoding error: {', '.join(reader.problems)}")
    return rules


class _Reader:
    """Reader of configuration trees that collects errors of their structure."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def check_names(self, tree: Tree, provider_names: set[str], path: str) -> None:
        """Record unknown fields."""
        for name in tree:
            if name not in provider_names:
                self.problems.append(f'unknown field "{path}.{name}"' if path else f'unknown field "{name}"')

    def items(self, tree: Tree, name: str, path: str) -> list[Any]:
        """Return the items of a list field."""
        value = tree.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            field_path = f"{path}.{name}" if path else name
            self.problems.append(f'field "{field_path}" must be a list')
            return []
        return value

    def object(self, value: Any, path: str) -> Tree:
        """Return an object; null is an empty one."""
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.problems.append(f'field "{path}" must be an object')
            return {}
        return value

    def rule(self, value: Any, path: str) -> Rule:
        """Return an item of ``resources``."""
        tree = self.object(value, path)
        self.check_names(tree, {"resources", "providers"}, path)
        names = [str(name) for name in self.items(tree, "resources", path)]
        providers = [
            self.providers(provider, f"{path}.providers[{i}]")
            for i, provider in enumerate(self.items(tree, "providers", path))
        ]
        return Rule(tuple(names), tuple(providers))

    def providers(self, value: Any, path: str) -> tuple[Provider, ...]:
        """Return the providers in an item of ``providers``; exactly one is valid."""
        tree = self.object(value, path)
        self.check_names(tree, set(_PROVIDERS), path)
        return tuple(
            self.provider(kind, tree[kind], f"{path}.{kind}") for kind in _PROVIDERS if tree.get(kind) is not None
        )

    def provider(self, kind: str, value: Any, path: str) -> Provider:
        """Return one provider with upstream's defaults."""
        tree = self.object(value, path)
        if kind == IDENTITY:
            self.check_names(tree, set(), path)
            return Provider(kind)
        if kind == KMS:
            return self._kms(tree, path)
        self.check_names(tree, {"keys"}, path)
        keys = []
        for i, item in enumerate(self.items(tree, "keys", path)):
            key = self._fields(item, _KEY_FIELDS, f"{path}.keys[{i}]")
            keys.append(Key(key.get("name", ""), key.get("secret", "")))
        return Provider(kind, tuple(keys))

    def _kms(self, value: Tree, path: str) -> Provider:
        tree = self._fields(value, _KMS_FIELDS, path)
        seconds = _DEFAULT_KMS_TIMEOUT_SECONDS
        if tree.get("timeout"):
            try:
                seconds = parse_duration(tree["timeout"])
            except ValueError as error:
                self.problems.append(str(error))
        return Provider(
            KMS,
            name=tree.get("name", ""),
            api_version=tree.get("apiVersion") or "v1",
            endpoint=tree.get("endpoint", ""),
            timeout_seconds=seconds,
            cache_size=tree.get("cachesize"),
        )

    def _fields(self, value: Any, types: Mapping[str, type], path: str) -> Tree:
        tree = self.object(value, path)
        self.check_names(tree, set(types), path)
        fields = {}
        for name, type_ in types.items():
            if tree.get(name) is None:
                continue
            if type(tree[name]) is type_:
                fields[name] = tree[name]
            else:
                self.problems.append(f'field "{path}.{name}" must be of type {"string" if type_ is str else "integer"}')
        return fields


# -- validation --------------------------------------------------------------------------------------------------------


def validate_configuration(rules: Sequence[Rule], *, reloads: bool) -> list[FieldError]:
    """Return the errors of a configuration. Upstream: ``ValidateEncryptionConfiguration``."""
    root = field.Path("resources")
    if not rules:
        return [field.required(root, "at least one resources is required")]
    errors: list[FieldError] = []
    plugins: set[str] = set()
    for i, rule in enumerate(rules):
        resources, providers = root.index(i).child("resources"), root.index(i).child("providers")
        if not rule.resources:
            errors.append(field.required(resources, f"at least one {resources} is required"))
        errors += _overlap_errors(rule.resources, resources)
        errors += _name_errors(rule.resources, resources)
        if not rule.providers:
            errors.append(field.required(providers, f"at least one {providers} is required"))
        for j, named in enumerate(rule.providers):
            errors += _provider_errors(named, providers.index(j), plugins, reloads=reloads)
    return errors


def _overlap_errors(resources: Sequence[str], path: Path) -> list[FieldError]:
    pairs = [parse_group_resource(resource) for resource in resources]
    is_duplicate = has_overlap = False
    for i, one in enumerate(pairs):
        for j, other in enumerate(pairs):
            if i == j:
                continue
            if one == other and not is_duplicate:
                is_duplicate = True
            elif one == (ANY, ANY) or (one[1] == other[1] and ANY in (one[0], other[0])):
                has_overlap = True
    errors = []
    if is_duplicate:
        detail = "the same resource cannot be specified multiple times"
        errors.append(field.invalid(path, list(resources), detail))
    if has_overlap:
        detail = (
            "using overlapping resources such as 'secrets' and '*.' in the same resource list"
            " is not allowed as they will be masked"
        )
        errors.append(field.invalid(path, list(resources), detail))
    return errors


def _name_errors(resources: Sequence[str], path: Path) -> list[FieldError]:
    errors = []
    for i, resource in enumerate(resources):
        detail = _name_problem(resource)
        if detail:
            errors.append(field.invalid(path.index(i), resource, detail))
    return errors


def _name_problem(resource: str) -> str:
    name, group = parse_group_resource(resource)
    if resource.lower() != resource:
        return "resource name should not contain capital letters"
    if resource == ANY:
        return "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources"
    if resource in _NOT_RESOURCES:
        return "resources which do not have REST API/s cannot be encrypted"
    if group == "events.k8s.io":
        return (
            "'*.events.k8s.io' objects are stored using the 'events' API group in etcd."
            " Use 'events' instead in the config file"
        )
    if group == "extensions":
        return "'extensions' group has been removed and cannot be used for encryption"
    if group == ANY and name != ANY:
        return "encrypting the same resource across groups is not supported"
    return ""


def _provider_errors(named: Sequence[Provider], path: Path, plugins: set[str], *, reloads: bool) -> list[FieldError]:
    errors = []
    if len(named) != 1:
        names = {provider.kind for provider in named}
        shown: Tree = {name: {} if name.lower() in names else None for name in _GO_NAMES}
        detail = (
            "more than one provider specified in a single element, should split into different list elements"
            if named
            else "provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity"
        )
        errors.append(field.invalid(path, shown, detail))
    if not named:
        return errors
    by_kind = {provider.kind: provider for provider in named}
    provider = next(by_kind[kind] for kind in (KMS, AESGCM, AESCBC, SECRETBOX, IDENTITY) if kind in by_kind)
    if provider.kind == KMS:
        errors += _kms_errors(provider, path.child("kms"), plugins, reloads=reloads)
        plugins.add(provider.name)
    elif provider.kind != IDENTITY:
        sizes = SECRETBOX_KEY_SIZES if provider.kind == SECRETBOX else AES_KEY_SIZES
        errors += _keys_errors(provider.keys, path.child(provider.kind).child("keys"), sizes)
    return errors


def _keys_errors(keys: Sequence[Key], path: Path, sizes: Sequence[int]) -> list[FieldError]:
    if not keys:
        return [field.required(path, "at least one keys is required")]
    errors = []
    for i, key in enumerate(keys):
        if not key.name:
            errors.append(field.required(path.index(i).child("name"), "name is a mandatory field for a key"))
        secret = path.index(i).child("secret")
        if not key.secret:
            errors.append(field.required(secret, "secret is a mandatory field for a key"))
            continue
        try:
            size = len(secret_of(key))
        except ValueError:
            errors.append(field.invalid(secret, "REDACTED", "secrets must be base64 encoded"))
            continue
        if size not in sizes:
            expected = " ".join(map(str, sizes))
            detail = f"secret is not of the expected length, got {size}, expected one of [{expected}]"
            errors.append(field.invalid(secret, "REDACTED", detail))
    return errors


def secret_of(key: Key) -> bytes:
    """Return the decoded secret. Raises ValueError."""
    text = key.secret.replace("\n", "").replace("\r", "")  # as Go's decoder
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError("secrets must be base64 encoded") from error


def _kms_errors(provider: Provider, path: Path, plugins: set[str], *, reloads: bool) -> list[FieldError]:
    errors, is_v1 = [], provider.api_version == "v1"
    name = path.child("name")
    if not provider.name:
        errors.append(field.required(name, "name is a mandatory field for a provider"))
    if not is_v1 and ":" in provider.name:
        detail = f"invalid KMS provider name {provider.name}, must not contain ':'"
        errors.append(field.invalid(name, provider.name, detail))
    if (reloads or not is_v1) and provider.name in plugins:
        detail = f"duplicate KMS provider name {provider.name}, names must be unique"
        errors.append(field.invalid(name, provider.name, detail))
    if provider.timeout_seconds <= 0:
        shown = format_duration(provider.timeout_seconds)
        errors.append(field.invalid(path.child("timeout"), shown, "timeout should be a positive value"))
    errors += _endpoint_errors(provider.endpoint, path.child("endpoint"))
    if not is_v1 and provider.cache_size is not None:
        errors.append(field.invalid(path.child("cachesize"), provider.cache_size, "cachesize is not supported in v2"))
    if is_v1 and provider.cache_size == 0:
        detail = "cachesize should be a positive value, or negative to disable"
        errors.append(field.invalid(path.child("cachesize"), 0, detail))
    if provider.api_version not in ("v1", "v2"):
        detail = "unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported"
        errors.append(field.invalid(path.child("apiVersion"), provider.api_version, detail))
    return errors


def _endpoint_errors(endpoint: str, path: Path) -> list[FieldError]:
    if not endpoint:
        return [field.invalid(path, "", "endpoint is a mandatory field for a kms")]
    try:
        scheme = urlsplit(endpoint).scheme
    except ValueError as error:
        return [field.invalid(path, endpoint, f"invalid endpoint for kms provider, error: {error}")]
    if scheme != "unix":
        detail = f"unsupported scheme {quote(scheme)} for KMS provider, only unix is supported"
        return [field.invalid(path, endpoint, detail)]
    return []
