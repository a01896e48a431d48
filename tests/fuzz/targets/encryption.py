"""Encryption at rest: a configuration file raises ConfigurationError only, and encrypted values DecryptionError or DataKeyUnknownError.

Input that begins with ``k8s:enc:`` is a stored value; anything else is a file, whose transformers read back what they wrote.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from tests.unit.storage.encryption.plugin import Plugin

from steersman.asynckit.clock import FakeClock
from steersman.storage.encryption.build import load_encryption
from steersman.storage.encryption.configuration import ConfigurationError
from steersman.storage.encryption.transformers import DataKeyUnknownError, DecryptionError

if TYPE_CHECKING:
    from steersman.storage.encryption.transformers import Transformer

_HEAD = b"kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1\n"
_SECRET = b"a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="
TOKENS = (_HEAD, b"resources:\n- resources: [secrets]\n  providers:\n", b"  - aesgcm: {keys: [{name: a, secret: " + _SECRET + b"}]}\n",
          b"  - aescbc: {keys: [{name: a, secret: " + _SECRET + b"}]}\n", b"  - secretbox: {keys: [{name: a, secret: " + _SECRET + b"}]}\n",
          b"  - kms: {apiVersion: v2, name: v, endpoint: 'unix:///x', timeout: 3s}\n", b"  - identity: {}\n", b"*.*", b"*.apps", b"cachesize: 1", b"k8s:enc:",
          b"aesgcm:v1:a:", b"aescbc:v1:a:", b"secretbox:v1:a:", b"kms:v2:v:", b"\x0a\x01x", b"\x12\x01k", b"\x1a\x01c", b"\x22\x06\x0a\x01a\x12\x01b", b"\x28\x01")  # fmt: skip
CONTEXT = b"/registry/secrets/default/a"


def run(data: bytes) -> None:
    if data.startswith(b"k8s:enc:"):
        _read_value(data)
        return
    try:
        encryption = load_encryption(data, "f", clock=FakeClock(), open_kms=lambda _: Plugin())
    except ConfigurationError as error:
        assert str(error)
        return
    for resource in (("secrets", ""), ("deployments", "apps"), ("x", "y.z")):
        transformer = encryption.transformers.get(resource)
        if transformer is None or encryption.plugins:
            continue
        assert transformer.decrypt(transformer.encrypt(b"value", CONTEXT), CONTEXT) == (b"value", False)


def _read_value(data: bytes) -> None:
    try:
        _all_providers().decrypt(data, CONTEXT)
    except (DecryptionError, DataKeyUnknownError) as error:
        assert str(error) or isinstance(error, DataKeyUnknownError)


@cache
def _all_providers() -> Transformer:
    lines = b"".join(token for token in TOKENS if token.startswith(b"  - "))
    text = _HEAD + TOKENS[1] + lines
    encryption = load_encryption(text, "f", clock=FakeClock(), open_kms=lambda _: Plugin())
    transformer = encryption.transformers.get(("secrets", ""))
    assert transformer is not None
    return transformer
