"""Warnings about configuration that is stored and validated but has no effect in this server yet.

Each function returns the texts of Warning headers for one object; they go away with the feature that makes the object
effective. ``docs/compatibility.md`` lists the same limits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apimachinery.trees import Tree


def conversion_webhook_warnings(definition: Tree) -> Sequence[str]:
    """Yield a warning about a CustomResourceDefinition with webhook conversion."""
    conversion = (definition.get("spec") or {}).get("conversion") or {}
    if conversion.get("strategy") != "Webhook":
        return ()
    effect = 'objects are converted as with strategy "None"'
    return (f"spec.conversion.strategy: this server does not call conversion webhooks yet: {effect}",)
