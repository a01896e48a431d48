"""Webhook configurations for a webhook server on this machine.

Upstream: ``WebhookInstallOptions`` and ``modifyConversionWebhooks`` of controller-runtime's ``pkg/envtest``.
"""

from __future__ import annotations

import base64
import copy
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from steersman.apimachinery.trees import Tree

_CONFIGURATIONS: Final = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


def local_webhooks(objects: Iterable[Tree], *, url: str, ca_bundle: bytes) -> list[Tree]:
    """Return copies of objects whose ``clientConfig`` leads to ``url`` in place of a Service.

    Webhook configurations and definitions with conversion webhooks are changed: the path of the Service is appended to the URL,
    and ``ca_bundle`` is the authority in PEM. Webhooks that have a URL, and all other objects, stay the same.
    """
    copies = [copy.deepcopy(obj) for obj in objects]
    for obj in copies:
        for client_config in _client_configs(obj):
            service = client_config.pop("service", None)
            if service is not None:
                path = (service.get("path") or "").removeprefix("/")
                client_config["url"] = f"{url}/{path}"
                client_config["caBundle"] = base64.b64encode(ca_bundle).decode()
    return copies


def _client_configs(obj: Tree) -> Iterator[dict[str, Any]]:
    if obj.get("kind") in _CONFIGURATIONS:
        webhooks: list[Tree] = obj.get("webhooks") or []
    elif obj.get("kind") == "CustomResourceDefinition":
        conversion: Tree = (obj.get("spec") or {}).get("conversion") or {}
        webhooks = [conversion.get("webhook") or {}]
    else:
        return
    for webhook in webhooks:
        client_config = webhook.get("clientConfig")
        if client_config:
            yield client_config
