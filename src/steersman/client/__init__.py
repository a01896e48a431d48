"""Client for any Kubernetes cluster, with informers, work queues, event recorders and leader election.

Contract: no dependency on the API server of this project; a request is sent again only if it cannot have had effect;
every API error carries the server's ``Status``; all waiting uses a ``Clock``; the HTTP library is imported only for a
client over TCP.
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
    from steersman.client.metadata_interner import drop_managed_fields
    from steersman.client.partial_metadata import PartialObjectMetadata, metadata_only
    from steersman.client.reflector import ReflectorOptions
    from steersman.client.requests import PatchType
    from steersman.client.resource_types import ResourceType, custom, tree, typed, typed_model
    from steersman.client.sending import RetryPolicy
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
    "RetryPolicy",
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
    "RetryPolicy": "sending",
    "Updated": "changes",
    "WatchEvent": "decoding",
    "connect": "connecting",
    "custom": "resource_types",
    "drop_managed_fields": "metadata_interner",
    "in_cluster": "kubeconfig",
    "load_kubeconfig": "kubeconfig",
    "metadata_only": "partial_metadata",
    "resource_type": "client",
    "tree": "resource_types",
    "typed": "resource_types",
    "typed_model": "resource_types",
}


def __getattr__(name: str) -> Any:
    """Import an exported name on first use.

    The API server's bootstrap controller needs the client without the informers.
    """
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load_attribute(f"{__name__}.{_MODULES[name]}", name, f"{__name__}.{name}", "toolkit")
