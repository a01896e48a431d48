"""Server of webhooks: admission, conversion, authentication and authorization, for any conformant cluster.

Promises: a handler that raises, returns something else or takes too long never lets a request pass; the patch of a mutating
handler changes only what the handler changed; conversions keep order, number and metadata of the objects, but for labels
and annotations.

Upstream: controller-runtime's ``pkg/webhook``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.extras import load_attribute

if TYPE_CHECKING:
    from steersman.webhooks.admission import AdmissionRequest, AdmissionResponse, allowed, denied, mutated
    from steersman.webhooks.certificates import CertificateFiles
    from steersman.webhooks.conversion import ConversionError, Converter
    from steersman.webhooks.injection import CABundleInjector
    from steersman.webhooks.self_signed import SecretCertificate, SelfSignedCertificate
    from steersman.webhooks.server import WebhookServer
    from steersman.webhooks.spec_reviews import ImageReviewSpec, ImageReviewStatus

__all__ = [
    "AdmissionRequest",
    "AdmissionResponse",
    "CABundleInjector",
    "CertificateFiles",
    "ConversionError",
    "Converter",
    "ImageReviewSpec",
    "ImageReviewStatus",
    "SecretCertificate",
    "SelfSignedCertificate",
    "WebhookServer",
    "allowed",
    "denied",
    "mutated",
]

_MODULES: Final = {
    "AdmissionRequest": "admission",
    "AdmissionResponse": "admission",
    "CABundleInjector": "injection",
    "CertificateFiles": "certificates",
    "ConversionError": "conversion",
    "Converter": "conversion",
    "ImageReviewSpec": "spec_reviews",
    "ImageReviewStatus": "spec_reviews",
    "SecretCertificate": "self_signed",
    "SelfSignedCertificate": "self_signed",
    "WebhookServer": "server",
    "allowed": "admission",
    "denied": "admission",
    "mutated": "admission",
}


def __getattr__(name: str) -> Any:
    """Import an exported name on first use: handlers need neither the HTTP server nor the metrics in their tests."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Certificates are created with a package of the server.
    extras = ("toolkit", "server") if _MODULES[name] in ("injection", "self_signed") else ("toolkit",)
    return load_attribute(f"{__name__}.{_MODULES[name]}", name, f"{__name__}.{name}", *extras)
