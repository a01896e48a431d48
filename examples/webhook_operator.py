"""Webhooks of a custom resource with two versions: defaults, validation and conversion, and their registration.

``v1`` of a Screen has ``size: 640x480``, ``v2``, which is stored, ``width`` and ``height``. Run it where the API server runs:
``python webhook_operator.py``. Its certificate is kept in the Secret ``screens-webhook``, and a controller injects the authorities.
"""

import asyncio
import logging
from typing import Any

import msgspec
from lightkube.models.meta_v1 import ObjectMeta

from steersman.client import connect, custom
from steersman.runtime import Manager
from steersman.webhooks import (
    AdmissionRequest,
    AdmissionResponse,
    CABundleInjector,
    ConversionError,
    Converter,
    SecretCertificate,
    WebhookServer,
    allowed,
    denied,
    mutated,
)

NAME = "screens.example.com"
PIXELS_MAX = 7680 * 4320


# The API


class SizeSpec(msgspec.Struct, omit_defaults=True):
    size: str = "640x480"


class ScreenV1(msgspec.Struct, omit_defaults=True):
    metadata: ObjectMeta
    spec: SizeSpec = msgspec.field(default_factory=SizeSpec)


class ScreenSpec(msgspec.Struct, omit_defaults=True):
    width: int = 0
    height: int = 0


class Screen(msgspec.Struct, omit_defaults=True):
    metadata: ObjectMeta
    spec: ScreenSpec = msgspec.field(default_factory=ScreenSpec)


V1 = custom("example.com/v1", "Screen", plural="screens", model=ScreenV1)
V2 = custom("example.com/v2", "Screen", plural="screens", model=Screen)


# The webhooks


def set_defaults(request: AdmissionRequest[Screen]) -> AdmissionResponse:
    screen = request.object
    if screen is None:
        return allowed()
    spec = screen.spec
    spec.width, spec.height = spec.width or 640, spec.height or 480
    return mutated(screen)


async def validate(request: AdmissionRequest[Screen]) -> AdmissionResponse:
    if request.object is None:
        return allowed()
    spec = request.object.spec
    if spec.width * spec.height > PIXELS_MAX:
        return denied(f"{spec.width}x{spec.height} has more than {PIXELS_MAX} pixels", code=422, reason="Invalid")
    if spec.width < spec.height:
        return allowed(warnings=["the screen stands upright"])
    return allowed()


def to_hub(old: ScreenV1) -> Screen:
    width, by, height = old.spec.size.partition("x")
    if not (by and width.isdecimal() and height.isdecimal()):
        raise ConversionError(f"spec.size {old.spec.size!r} is not WIDTHxHEIGHT")
    return Screen(old.metadata, ScreenSpec(int(width), int(height)))


def from_hub(screen: Screen) -> ScreenV1:
    return ScreenV1(screen.metadata, SizeSpec(f"{screen.spec.width}x{screen.spec.height}"))


def add_webhooks(server: WebhookServer) -> None:
    server.mutating("/default", V2)(set_defaults)
    server.validating("/validate", V2)(validate)
    converter = Converter(hub=V2)
    converter.add(V1, V2)(to_hub)
    converter.add(V2, V1)(from_hub)
    server.add_conversion("/convert", converter)


# The registration


def registration(url: str) -> list[dict[str, Any]]:
    """Return the definition and the webhook configurations, without ``caBundle``."""

    def configuration(kind: str, path: str) -> dict[str, Any]:
        rule = {"apiGroups": ["example.com"], "apiVersions": ["v2"], "resources": ["screens"]}
        webhook = {
            "name": NAME,
            "clientConfig": {"url": url + path},
            "rules": [rule | {"operations": ["CREATE", "UPDATE"]}],
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
        }
        return {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": NAME},
            "webhooks": [webhook],
        }

    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": {"url": f"{url}/convert"}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": "Screen", "plural": "screens", "singular": "screen"},
            "conversion": {"strategy": "Webhook", "webhook": webhook},
            "versions": [
                {"name": "v1", "served": True, "storage": False, "schema": schema},
                {"name": "v2", "served": True, "storage": True, "schema": schema},
            ],
        },
    }
    return [definition, configuration("Mutating", "/default"), configuration("Validating", "/validate")]


async def main() -> None:
    logging.basicConfig(level=logging.INFO)
    async with connect() as client:
        manager = Manager(client, health_port=0)
        certificate = SecretCertificate(client, "screens-webhook", namespace="default", hosts=["127.0.0.1"])
        server = WebhookServer(certificate, port=0)
        add_webhooks(server)
        server.add_to(manager)
        injector = CABundleInjector(
            manager.context,
            "screens-webhook",
            namespace="default",
            validating=[NAME],
            mutating=[NAME],
            definitions=[NAME],
        )
        manager.add(injector)

        async def register() -> None:
            await server.wait_until_listening()
            for obj in registration(f"https://127.0.0.1:{server.port}"):
                await client.apply(obj, field_manager="webhook-operator", force=True)

        manager.add_background("registration", register)
        manager.stop_on_signals()
        await manager.run()


if __name__ == "__main__":
    asyncio.run(main())
