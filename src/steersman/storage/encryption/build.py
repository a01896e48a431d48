"""Transformers of a validated configuration.

Upstream: ``getTransformerOverridesAndKMSPluginProbes`` of
staging/src/k8s.io/apiserver/pkg/server/options/encryptionconfig/config.go
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.gotext import quote
from steersman.storage.encryption.ciphers import AesCbc, AesGcm, Secretbox
from steersman.storage.encryption.configuration import (
    AESCBC,
    AESGCM,
    IDENTITY,
    KMS,
    SECRETBOX,
    ConfigurationError,
    decode_configuration,
    secret_of,
    validate_configuration,
)
from steersman.storage.encryption.kms import EnvelopeTransformer
from steersman.storage.encryption.transformers import (
    ANY,
    Identity,
    PrefixTransformers,
    ResourceTransformers,
    group_resource_text,
    parse_group_resource,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steersman.asynckit.clock import Clock
    from steersman.storage.encryption.configuration import Provider, Rule
    from steersman.storage.encryption.kms import KMSService
    from steersman.storage.encryption.metrics import EncryptionMetrics
    from steersman.storage.encryption.transformers import GroupResource, Transformer

    #: Opens the plugin of a provider. Raises ``MissingPackagesError``.
    OpenKMS = Callable[[Provider], KMSService]

#: Prefix of the values of a provider, and the error for a value that none of its keys decrypts.
_KEYED: Final[dict[str, tuple[bytes, str, Callable[[bytes], Transformer]]]] = {
    AESGCM: (b"k8s:enc:aesgcm:v1:", "no matching key was found for the provided AES transformer", AesGcm),
    AESCBC: (b"k8s:enc:aescbc:v1:", "no matching key was found for the provided AES transformer", AesCbc),
    SECRETBOX: (
        b"k8s:enc:secretbox:v1:",
        "no matching key was found for the provided Secretbox transformer",
        Secretbox,
    ),
}
#: Upstream's message names a feature gate, which has no effect here.
_KMS_V1: Final = "KMSv1 is not supported. Use KMSv2 instead."


class Encryption:
    """Active configuration: its transformers and their plugins."""

    def __init__(self, transformers: ResourceTransformers, plugins: Sequence[EnvelopeTransformer]) -> None:
        self.transformers: Final = transformers
        self.plugins: Final = tuple(plugins)

    async def close(self) -> None:
        """Close the connections to the plugins. Idempotent."""
        for plugin in self.plugins:
            await plugin.close()


def load_encryption(
    data: bytes,
    path: str,
    *,
    clock: Clock,
    open_kms: OpenKMS,
    on_key_change: Callable[[], None] = lambda: None,
    reloads: bool = False,
    metrics: EncryptionMetrics | None = None,
) -> Encryption:
    """Return the encryption of a file's contents. Raises ``ConfigurationError``, ``MissingPackagesError``.

    ``on_key_change``: see ``EnvelopeTransformer``. ``reloads``: True if the file is reloaded after changes.
    """
    try:
        rules = _valid_rules(data, path, reloads=reloads)
    except ConfigurationError as error:
        raise ConfigurationError(f"error while parsing file: {error}") from error
    try:
        return _Builder(clock, open_kms, on_key_change, metrics).build(rules)
    except ConfigurationError as error:
        raise ConfigurationError(f"error while building transformers: {error}") from error


def _valid_rules(data: bytes, path: str, *, reloads: bool) -> Sequence[Rule]:
    rules = decode_configuration(data, path)
    if errors := validate_configuration(rules, reloads=reloads):
        texts = list(dict.fromkeys(str(error) for error in errors))
        raise ConfigurationError(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
    return rules


class _Builder:
    def __init__(
        self, clock: Clock, open_kms: OpenKMS, on_key_change: Callable[[], None], metrics: EncryptionMetrics | None
    ) -> None:
        self._clock = clock
        self._open_kms = open_kms
        self._on_key_change = on_key_change
        self._metrics = metrics
        self._plugins: list[EnvelopeTransformer] = []

    def build(self, rules: Sequence[Rule]) -> Encryption:
        by_resource: dict[GroupResource, list[tuple[bytes, Transformer]]] = {}
        for rule in rules:
            transformers = [self._transformer(provider) for (provider,) in rule.providers]
            for text in rule.resources:
                resource = parse_group_resource(text)
                for masking in ((ANY, resource[1]), (ANY, ANY)):
                    if masking in by_resource:
                        masked, by = quote(group_resource_text(resource)), quote(group_resource_text(masking))
                        raise ConfigurationError(f"resource {masked} is masked by earlier rule {by}")
                by_resource.setdefault(resource, []).extend(transformers)
        chosen = {
            resource: PrefixTransformers("no matching prefix found", transformers)
            for resource, transformers in by_resource.items()
        }
        return Encryption(ResourceTransformers(chosen), self._plugins)

    def _transformer(self, provider: Provider) -> tuple[bytes, Transformer]:
        """Return prefix and transformer. Raises ``ConfigurationError``, ``MissingPackagesError``."""
        if provider.kind == IDENTITY:
            return b"", Identity()
        if provider.kind == KMS:
            if provider.api_version == "v1":
                raise ConfigurationError(_KMS_V1)
            plugin = EnvelopeTransformer(
                provider.name,
                self._open_kms(provider),
                clock=self._clock,
                on_key_change=self._on_key_change,
                metrics=self._metrics,
            )
            self._plugins.append(plugin)
            return f"k8s:enc:kms:v2:{provider.name}:".encode(), plugin
        prefix, no_match, make = _KEYED[provider.kind]
        keys = [(f"{key.name}:".encode(), make(secret_of(key))) for key in provider.keys]
        return prefix, PrefixTransformers(no_match, keys)
