"""``/configz`` of the kubelet: the configuration of a simulated node, as far as its simulation has one.

Upstream: ``staging/src/k8s.io/kubelet/config/v1beta1`` (``KubeletConfiguration``), ``initConfigz`` of ``cmd/kubelet/app``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery.durations import format_duration
from steersman.nodes.registration import LEASE_DURATION_SECONDS, RENEW_INTERVAL_SECONDS, STATUS_REPORT_SECONDS

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree


def kubelet_configuration(node: Tree) -> Tree:
    """Return the body of the page. Fields that mean nothing to a simulated node are absent."""
    spec, status = node.get("spec") or {}, node.get("status") or {}
    addresses = {entry.get("type"): entry.get("address") for entry in status.get("addresses") or ()}
    endpoint = (status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}
    pods = str((status.get("capacity") or {}).get("pods", ""))
    configuration = {
        "kind": "KubeletConfiguration",
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "enableServer": True,
        "address": addresses.get("InternalIP"),
        "port": endpoint.get("Port"),
        "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": False}},
        "nodeStatusUpdateFrequency": format_duration(RENEW_INTERVAL_SECONDS),
        "nodeStatusReportFrequency": format_duration(STATUS_REPORT_SECONDS),
        "nodeLeaseDurationSeconds": LEASE_DURATION_SECONDS,
        "maxPods": int(pods) if pods.isdecimal() else None,
        "podCIDR": spec.get("podCIDR"),
        "providerID": spec.get("providerID"),
        "registerNode": True,
        "enableDebuggingHandlers": True,
    }
    return {"kubeletconfig": {name: value for name, value in configuration.items() if value is not None}}
