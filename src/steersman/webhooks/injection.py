"""Controller that writes the authorities of a webhook server into the configurations of its webhooks.

Upstream: ``ReconcileWH`` in ``pkg/rotator`` of ``github.com/open-policy-agent/cert-controller``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.client.requests import PatchType
from steersman.client.resource_types import tree
from steersman.runtime.controller import Controller
from steersman.webhooks.rotation import CA_CERT
from steersman.webhooks.self_signed import SECRETS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.apimachinery.trees import Tree
    from steersman.client.informer import Informer
    from steersman.client.resource_types import ResourceType
    from steersman.runtime.context import ControllerContext

_ADMISSION: Final = "admissionregistration.k8s.io/v1"
_VALIDATING: Final = tree(_ADMISSION, "ValidatingWebhookConfiguration")
_MUTATING: Final = tree(_ADMISSION, "MutatingWebhookConfiguration")
_DEFINITIONS: Final = tree("apiextensions.k8s.io/v1", "CustomResourceDefinition")


class CABundleInjector(Controller):
    """Controller that keeps ``caBundle`` of webhook configurations and definitions equal to ``ca.crt`` of a Secret.

    Of a configuration it writes all webhooks. A definition without conversion webhook, and objects that do not exist, are left
    alone. Needs ``list``, ``watch`` and ``patch`` of the configurations, and ``list`` and ``watch`` of the Secret.
    """

    name: ClassVar[str] = "ca-bundle-injector"

    def __init__(
        self,
        context: ControllerContext,
        secret: str,
        *,
        namespace: str,
        validating: Iterable[str] = (),
        mutating: Iterable[str] = (),
        definitions: Iterable[str] = (),
    ) -> None:
        """``secret``: that of a ``SecretCertificate``. The others are names of objects of the three kinds."""
        super().__init__(context)
        self._secret_key = f"{namespace}/{secret}"
        #: Informer, resource and name by key, ``Kind/name``.
        self._targets: dict[str, tuple[Informer[Tree], ResourceType[Tree], str]] = {}
        for resource, names in ((_VALIDATING, validating), (_MUTATING, mutating), (_DEFINITIONS, definitions)):
            for name in names:
                self._add_target(resource, name)
        self._secrets = self.watch(
            SECRETS, namespace=namespace, field_selector=f"metadata.name={secret}", keys=lambda _: list(self._targets)
        )

    def _add_target(self, resource: ResourceType[Tree], name: str) -> None:
        key = f"{resource.info.kind}/{name}"
        informer = self.watch(resource, field_selector=f"metadata.name={name}", keys=lambda _: [key])
        self._targets[key] = (informer, resource, name)

    async def reconcile(self, key: str) -> None:
        """Patch one object if its ``caBundle`` differs."""
        informer, resource, name = self._targets[key]
        secret, target = self._secrets.lister.by_key(self._secret_key), informer.lister.by_key(name)
        # Values of Secrets and caBundle are in base64 alike.
        bundle = ((secret or {}).get("data") or {}).get(CA_CERT)
        if target is None or not bundle:
            return
        patch = plan_definition(target, bundle) if resource is _DEFINITIONS else plan_configuration(target, bundle)
        if patch is None:
            return
        patch["metadata"] = {"resourceVersion": target["metadata"]["resourceVersion"]}
        patch_type = PatchType.MERGE if resource is _DEFINITIONS else PatchType.STRATEGIC
        self.own_writes.note(key, informer, await self.client.patch(resource, name, patch, patch_type=patch_type))
        self.log.info("%s has the certificate authorities of %s", key, self._secret_key)


def plan_configuration(configuration: Tree, bundle: str) -> Tree | None:
    """Return the strategic merge patch of a webhook configuration; None if all its webhooks have the bundle."""
    changed = [
        {"name": webhook["name"], "clientConfig": {"caBundle": bundle}}
        for webhook in configuration.get("webhooks") or ()
        if (webhook.get("clientConfig") or {}).get("caBundle") != bundle
    ]
    return {"webhooks": changed} if changed else None


def plan_definition(definition: Tree, bundle: str) -> Tree | None:
    """Return the merge patch of a definition; None if it has the bundle, or no conversion webhook."""
    conversion: Any = (definition.get("spec") or {}).get("conversion") or {}
    webhook = conversion.get("webhook") or {}
    client_config = webhook.get("clientConfig")
    if conversion.get("strategy") != "Webhook" or client_config is None or client_config.get("caBundle") == bundle:
        return None
    return {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": bundle}}}}}
