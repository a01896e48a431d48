"""Validation and warnings of Services."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import STAMP, copy, error_texts, tree

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.core.service.validation import (
    service_warnings,
    validate_load_balancer_ingress,
    validate_service,
    validate_service_status,
    validate_service_update,
)

PORT = {"port": 80, "protocol": "TCP", "targetPort": 80}
USUAL = {"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster", "ports": [PORT]}
OUTSIDE = {"externalTrafficPolicy": "Cluster"}
NODES = {"type": "NodePort", **OUTSIDE}
BALANCER = {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": True, **OUTSIDE}
HEADLESS = {"clusterIP": "None", "clusterIPs": ["None"]}


def service(annotations: dict | None = None, **spec: object) -> dict:
    whole = {key: value for key, value in {**copy(USUAL), **copy(spec)}.items() if value is not None}
    return tree({"annotations": annotations or {}}, spec=whole)


def faults(**spec: object) -> list[str]:
    return error_texts(validate_service(service(**spec)))


@pytest.mark.parametrize(
    "spec",
    [
        {},
        NODES,
        BALANCER,
        {**BALANCER, "loadBalancerClass": "example.com/c", "loadBalancerSourceRanges": ["10.0.0.0/8"]},
        {"type": "ExternalName", "externalName": "a.b.", "ports": [], "internalTrafficPolicy": None},
        {**HEADLESS, "ports": []},
        {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 86400}}},
        {"externalIPs": ["8.8.8.8"], **OUTSIDE},
        {"trafficDistribution": "PreferSameNode"},
    ],
)
def test_validate_service_accepts_valid_services(spec: dict):
    assert faults(**spec) == []


ONLY_BALANCER = "may only be used when `type` is 'LoadBalancer'"


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"ports": []}, "spec.ports: Required value"),
        (
            {"type": "Pipe", "internalTrafficPolicy": None},
            (
                'spec.type: Unsupported value: "Pipe": '
                'supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"'
            ),
        ),
        (
            {"ports": [{**PORT, "port": 0}]},
            "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
        ),
        (
            {"ports": [{**PORT, "targetPort": 0}]},
            "spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive",
        ),
        (
            {"ports": [{**PORT, "protocol": "X"}]},
            'spec.ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"',
        ),
        (
            {"ports": [{**PORT, "nodePort": 30000}]},
            "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
        ),
        (
            {**NODES, **HEADLESS},
            "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services",
        ),
        (
            {"type": "ExternalName", "ports": [], "internalTrafficPolicy": None},
            "spec.externalName: Required value",
        ),
        (
            {"sessionAffinity": "Always"},
            'spec.sessionAffinity: Unsupported value: "Always": supported values: "ClientIP", "None"',
        ),
        (
            {"sessionAffinity": "ClientIP"},
            "spec.sessionAffinityConfig: Required value: when session affinity type is ClientIP",
        ),
        (
            {"sessionAffinityConfig": {}},
            "spec.sessionAffinityConfig: Forbidden: must not be set when session affinity is None",
        ),
        (
            {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 86401}}},
            (
                "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: "
                "must be greater than 0 and less than 86400"
            ),
        ),
        ({"loadBalancerClass": "c"}, f"spec.loadBalancerClass: Forbidden: {ONLY_BALANCER}"),
        ({"allocateLoadBalancerNodePorts": True}, f"spec.allocateLoadBalancerNodePorts: Forbidden: {ONLY_BALANCER}"),
        ({**BALANCER, "allocateLoadBalancerNodePorts": None}, "spec.allocateLoadBalancerNodePorts: Required value"),
        ({"loadBalancerSourceRanges": ["10.0.0.0/8"]}, f"spec.LoadBalancerSourceRanges: Forbidden: {ONLY_BALANCER}"),
        (
            {"externalTrafficPolicy": "Local"},
            'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
        ),
        (
            {**NODES, "externalTrafficPolicy": "X"},
            'spec.externalTrafficPolicy: Unsupported value: "X": supported values: "Cluster", "Local"',
        ),
        (
            {"healthCheckNodePort": 30000},
            (
                "spec.healthCheckNodePort: Invalid value: 30000: "
                "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
            ),
        ),
        ({"internalTrafficPolicy": None}, "spec.internalTrafficPolicy: Required value"),
        (
            {"internalTrafficPolicy": ""},
            'spec.internalTrafficPolicy: Unsupported value: "": supported values: "Cluster", "Local"',
        ),
        (
            {"trafficDistribution": "Far"},
            (
                'spec.trafficDistribution: Unsupported value: "Far": '
                'supported values: "PreferClose", "PreferSameZone", "PreferSameNode"'
            ),
        ),
        (
            {"externalIPs": ["127.0.0.1"], **OUTSIDE},
            (
                'spec.externalIPs[0]: Invalid value: "127.0.0.1": '
                "may not be in the loopback range (127.0.0.0/8, ::1/128)"
            ),
        ),
    ],
)
def test_validate_service_reports_single_error(spec: dict, fault: str):
    assert faults(**spec) == [fault]


def test_validate_service_requires_unique_names_of_several_ports():
    assert faults(ports=[{**PORT, "name": "a"}, {**PORT, "name": "a", "port": 81}, {**PORT, "port": 82}]) == [
        'spec.ports[1].name: Duplicate value: "a"',
        "spec.ports[2].name: Required value",
    ]


def test_validate_service_rejects_duplicate_ports():
    ports = [{**PORT, "name": "a"}, {**PORT, "name": "b"}]
    assert faults(ports=ports) == [
        'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}'
    ]
    assert faults(ports=[ports[0], {**ports[1], "protocol": "UDP"}]) == []


def test_validate_service_accepts_source_ranges_in_annotation():
    name = "service.beta.kubernetes.io/load-balancer-source-ranges"
    assert error_texts(validate_service(service({name: "10.0.0.0/8, 192.168.0.0/16"}, **BALANCER))) == []
    assert error_texts(validate_service(service({name: "10.0.0.0/8"}))) == [
        f"metadata.annotations[{name}]: Forbidden: {ONLY_BALANCER}"
    ]


def test_validate_service_checks_annotation_when_it_changes():
    name = "service.beta.kubernetes.io/load-balancer-source-ranges"
    odd, other = (service({name: ranges}, **BALANCER) for ranges in ("10.1.0.0/8", "10.2.0.0/8"))
    assert error_texts(validate_service_update(odd, odd)) == []
    assert error_texts(validate_service_update(other, odd)) == [
        f'metadata.annotations[{name}]: Invalid value: "10.2.0.0/8": must not have bits set beyond the prefix length'
    ]


def test_validate_service_requires_equal_topology_annotations():
    hints, mode = "service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"
    assert error_texts(validate_service(service({hints: "Auto", mode: "Off"}))) == [
        f'metadata.annotations[{mode}]: Invalid value: "Off": must match annotations[{hints}] when both are specified'
    ]


def test_validate_service_accepts_legacy_addresses_of_old_service():
    odd = service(externalIPs=["010.1.1.1"], **OUTSIDE)
    assert error_texts(validate_service(odd)) != []
    assert error_texts(validate_service_update(odd, odd)) == []


def test_validate_service_update_rejects_change_of_load_balancer_class():
    new, old = (service(**BALANCER, loadBalancerClass=name) for name in ("example.com/b", "example.com/a"))
    assert error_texts(validate_service_update(new, old)) == [
        'spec.loadBalancerClass: Invalid value: "example.com/b": may not change once set'
    ]


def test_validate_service_update_reports_load_balancer_class_twice():
    fault = f"spec.loadBalancerClass: Forbidden: {ONLY_BALANCER}"
    assert error_texts(validate_service_update(service(loadBalancerClass="example.com/b"), service())) == [fault, fault]


def test_validate_service_update_rejects_change_of_addresses():
    new, old = (service(clusterIP=ip, clusterIPs=[ip]) for ip in ("10.0.0.2", "10.0.0.1"))
    assert error_texts(validate_service_update(new, old)) == [
        'spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set'
    ]


# -- status ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "faults_"),
    [
        ({"ip": "1.2.3.4", "ipMode": "VIP"}, []),
        ({"hostname": "a.b"}, []),
        ({"ip": "1.2.3.4"}, []),
        ({"ipMode": "VIP"}, ["i.ipMode: Forbidden: may not be specified when `ip` is not set"]),
        ({"ip": "1.2.3.4", "ipMode": "X"}, ['i.ipMode: Unsupported value: "X": supported values: "Proxy", "VIP"']),
        ({"hostname": "1.2.3.4"}, ['i.hostname: Invalid value: "1.2.3.4": must be a DNS name, not an IP address']),
    ],
)
def test_validate_service_status_accepts_addresses_and_names(item: dict, faults_: list[str]):
    assert error_texts(validate_load_balancer_ingress(item, Path("i"))) == faults_


def test_validate_service_status_rejects_ingress_of_other_types():
    status = {"loadBalancer": {"ingress": [{"ip": "1.2.3.4", "ipMode": "VIP"}]}}
    assert error_texts(validate_service_status({**service(), "status": status})) == [
        "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'"
    ]
    assert error_texts(validate_service_status({**service(**BALANCER), "status": status})) == []


# -- warnings -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "warning"),
    [
        ({**HEADLESS, "loadBalancerIP": "1.1.1.1"}, "spec.loadBalancerIP is ignored for headless services"),
        ({**HEADLESS, "externalIPs": ["1.1.1.1"]}, "spec.externalIPs is ignored for headless services"),
        ({**HEADLESS, "sessionAffinity": "ClientIP"}, "spec.SessionAffinity is ignored for headless services"),
        (
            {"type": "ExternalName", "externalName": "a", "externalIPs": ["1.1.1.1"]},
            'spec.externalIPs is ignored when spec.type is "ExternalName"',
        ),
        ({"externalName": "a"}, 'spec.externalName is ignored when spec.type is not "ExternalName"'),
        (
            {"trafficDistribution": "PreferClose"},
            'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',
        ),
        (
            {"clusterIP": "FD00::1", "clusterIPs": ["FD00::1"]},
            'spec.clusterIPs[0]: IPv6 address "FD00::1" should be in RFC 5952 canonical format ("fd00::1")',
        ),
        (
            {"loadBalancerSourceRanges": ["10.1.0.0/8"]},
            (
                'spec.loadBalancerSourceRanges[0]: CIDR value "10.1.0.0/8" is ambiguous in this context '
                '(should be "10.0.0.0/8" or "10.1.0.0/32"?)'
            ),
        ),
    ],
)
def test_service_warnings_about_deprecated_and_ineffective_fields(spec: dict, warning: str):
    assert list(service_warnings(service(**spec))) == [warning]


def test_service_warnings_is_empty_for_deleted_service():
    obj = service(externalName="a")
    obj["metadata"]["deletionTimestamp"] = STAMP
    assert list(service_warnings(obj)) == []


def test_service_warnings_about_topology_hints_with_any_value():
    hints, mode = "service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"
    assert list(service_warnings(service({hints: "Auto", mode: "Auto"}))) == [
        f"annotation {hints} is deprecated, please use {mode} instead"
    ]


def test_service_warnings_are_ordered():
    spec = {"externalIPs": ["FD00::1"], "loadBalancerIP": "FD00::2", "externalName": "a"}
    assert [text.partition(":")[0] for text in service_warnings(service(**spec))] == [
        "spec.externalIPs[0]",
        "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
        "spec.loadBalancerIP",
        'spec.externalName is ignored when spec.type is not "ExternalName"',
    ]


def test_validate_service_reports_duplicate_node_ports_after_forbidden_ones():
    ports = [
        {**PORT, "name": name, "port": number, "nodePort": 30000} for name, number in (("a", 1), ("b", 2), ("c", 3))
    ]
    assert [fault.partition(":")[0] for fault in faults(ports=ports)] == [
        "spec.ports[0].nodePort",
        "spec.ports[1].nodePort",
        "spec.ports[2].nodePort",
        "spec.ports[1].nodePort",
        "spec.ports[2].nodePort",
    ]
