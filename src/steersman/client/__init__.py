"""A client for any Kubernetes cluster, and what controllers build on it.

Promises: nothing here knows the API server of this project; nothing is retried that may have had effect; every refusal
carries the server's ``Status``; all waiting goes through a ``Clock``; a third-party HTTP library is imported only when
a client over TCP is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.extras import load_attribute

if TYPE_CHECKING:
    from steersman.client.changes import Added, Change, Deleted, Updated
    from steersman.client.client import Client, resource_type
    from steersman.client.connecting import connect
    from steersman.client.credentials import ConfigError
    from steersman.client.decoding import Bookmark, ObjectList, WatchEvent
    from steersman.client.errors import ApiError, ClientError
    from steersman.client.informer import Informer
    from steersman.client.informer_factory import InformerFactory
    from steersman.client.kubeconfig import in_cluster, load_kubeconfig
    from steersman.client.listeners import Overflow
    from steersman.client.partial_metadata import PartialObjectMetadata, metadata_only
    from steersman.client.reflector import ReflectorOptions
    from steersman.client.requests import PatchType
    from steersman.client.resource_types import ResourceType, custom, tree, typed, typed_model
    from steersman.client.sharing import drop_managed_fields
    from steersman.client.store import Lister

__all__ = [
    "Added",
    "ApiError",
    "Bookmark",
    "Change",
    "Client",
    "ClientError",
    "ConfigError",
    "Deleted",
    "Informer",
    "InformerFactory",
    "Lister",
    "ObjectList",
    "Overflow",
    "PartialObjectMetadata",
    "PatchType",
    "ReflectorOptions",
    "ResourceType",
    "Updated",
    "WatchEvent",
    "connect",
    "custom",
    "drop_managed_fields",
    "in_cluster",
    "load_kubeconfig",
    "metadata_only",
    "resource_type",
    "tree",
    "typed",
    "typed_model",
]

_MODULES: Final = {
    "Added": "changes",
    "ApiError": "errors",
    "Bookmark": "decoding",
    "Change": "changes",
    "Client": "client",
    "ClientError": "errors",
    "ConfigError": "credentials",
    "Deleted": "changes",
    "Informer": "informer",
    "InformerFactory": "informer_factory",
    "Lister": "store",
    "ObjectList": "decoding",
    "Overflow": "listeners",
    "PartialObjectMetadata": "partial_metadata",
    "PatchType": "requests",
    "ReflectorOptions": "reflector",
    "ResourceType": "resource_types",
    "Updated": "changes",
    "WatchEvent": "decoding",
    "connect": "connecting",
    "custom": "resource_types",
    "drop_managed_fields": "sharing",
    "in_cluster": "kubeconfig",
    "load_kubeconfig": "kubeconfig",
    "metadata_only": "partial_metadata",
    "resource_type": "client",
    "tree": "resource_types",
    "typed": "resource_types",
    "typed_model": "resource_types",
}


def __getattr__(name: str) -> Any:
    """Load what is asked for: the API server's own loops use a client, and no informer before they run."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load_attribute(f"{__name__}.{_MODULES[name]}", name, f"{__name__}.{name}", "toolkit")
