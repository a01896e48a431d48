"""Extenders of a ``KubeSchedulerConfiguration``: fields, validation and settings.

Upstream: ``Extender`` in staging/src/k8s.io/kube-scheduler/config/v1/types.go, ``validateExtenders`` in
pkg/scheduler/apis/config/validation/validation.go.
"""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apimachinery import field
from steersman.apimachinery.names import check_qualified_name
from steersman.scheduler.configuration.plugin_args import seconds_of
from steersman.workloads.resources import is_extended

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

#: Upstream: ``DefaultExtenderTimeout``.
TIMEOUT_SECONDS: Final = 5.0


class ExtenderTLS(msgspec.Struct, frozen=True, kw_only=True):
    """``tlsConfig``; data takes precedence over the file of the same name."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: bytes = b""
    key_data: bytes = b""
    ca_data: bytes = b""


class ExtenderSettings(msgspec.Struct, frozen=True, kw_only=True):
    """One extender. An empty verb: the extender does not take part in this step."""

    url_prefix: str
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    bind_verb: str = ""
    #: Factor of the scores of ``prioritize_verb``.
    weight: int = 0
    #: Without a certificate authority the server's certificate is not verified.
    enable_https: bool = False
    tls: ExtenderTLS = ExtenderTLS()
    timeout_seconds: float = TIMEOUT_SECONDS
    #: True: nodes are sent as names, victims as UIDs.
    node_cache_capable: bool = False
    #: Only pods that name one of these resources are sent; empty: all pods.
    managed_resources: frozenset[str] = frozenset()
    #: True: errors of the extender do not fail the scheduling of a pod.
    ignorable: bool = False


def check_extenders(extenders: Sequence[Tree], path: Path) -> Iterator[FieldError]:
    """Validate ``extenders``."""
    seen: set[str] = set()
    for number, extender in enumerate(extenders):
        item_path, weight = path.index(number), extender.get("weight") or 0
        if extender.get("prioritizeVerb") and weight <= 0:
            yield field.invalid(item_path.child("weight"), weight, "must have a positive weight applied to it")
        timeout = extender.get("httpTimeout") or ""
        fault = seconds_of(timeout)[1] if timeout else ""
        if fault:
            yield field.invalid(item_path.child("httpTimeout"), timeout, fault)
        for place, resource in enumerate(extender.get("managedResources") or ()):
            name_path, name = item_path.child("managedResources").index(place).child("name"), resource["name"]
            yield from _check_extended_resource(name, name_path)
            if name in seen:
                yield field.invalid(name_path, name, "duplicate extender managed resource name")
            seen.add(name)
    binders = sum(bool(extender.get("bindVerb")) for extender in extenders)
    if binders > 1:
        count_text = f"found {binders} extenders implementing bind"
        yield field.invalid(path, count_text, "only one extender can implement bind")


def _check_extended_resource(name: str, path: Path) -> Iterator[FieldError]:
    faults = list(check_qualified_name(name))
    if not faults and not is_extended(name):
        faults = ["is an invalid extended resource name"]
    return (field.invalid(path, name, fault) for fault in faults)


def extender_settings(extender: Tree) -> ExtenderSettings:
    """Return the settings of a valid extender."""
    tls = extender.get("tlsConfig") or {}
    managed = extender.get("managedResources") or ()
    return ExtenderSettings(
        url_prefix=extender["urlPrefix"],
        filter_verb=extender.get("filterVerb") or "",
        preempt_verb=extender.get("preemptVerb") or "",
        prioritize_verb=extender.get("prioritizeVerb") or "",
        bind_verb=extender.get("bindVerb") or "",
        weight=extender.get("weight") or 0,
        enable_https=extender.get("enableHTTPS") or False,
        tls=ExtenderTLS(
            insecure=tls.get("insecure") or False,
            server_name=tls.get("serverName") or "",
            cert_file=tls.get("certFile") or "",
            key_file=tls.get("keyFile") or "",
            ca_file=tls.get("caFile") or "",
            cert_data=b64decode(tls.get("certData") or ""),
            key_data=b64decode(tls.get("keyData") or ""),
            ca_data=b64decode(tls.get("caData") or ""),
        ),
        timeout_seconds=seconds_of(extender.get("httpTimeout") or "0s")[0] or TIMEOUT_SECONDS,
        node_cache_capable=extender.get("nodeCacheCapable") or False,
        managed_resources=frozenset(resource["name"] for resource in managed),
        ignorable=extender.get("ignorable") or False,
    )


def ignored_resources(extenders: Sequence[Tree]) -> list[str]:
    """Return the managed resources that NodeResourcesFit ignores. Upstream: ``buildExtenders``."""
    return [
        resource["name"]
        for extender in extenders
        for resource in extender.get("managedResources") or ()
        if resource.get("ignoredByScheduler")
    ]
