"""Configuration of simulated nodes."""

from steersman.nodes.kubelet.configz import kubelet_configuration

NODE = {
    "metadata": {"name": "n"},
    "spec": {"podCIDR": "10.1.0.0/24", "providerID": "kwok://n"},
    "status": {
        "addresses": [{"type": "Hostname", "address": "n"}, {"type": "InternalIP", "address": "192.0.2.1"}],
        "capacity": {"pods": "110", "cpu": "4"},
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
    },
}


def test_configuration_is_that_of_the_node():
    configuration = kubelet_configuration(NODE)["kubeletconfig"]
    expected = {
        "kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1", "maxPods": 110, "port": 10250,
        "address": "192.0.2.1", "podCIDR": "10.1.0.0/24", "providerID": "kwok://n", "nodeLeaseDurationSeconds": 40,
        "nodeStatusUpdateFrequency": "10s", "nodeStatusReportFrequency": "5m0s",
    }  # fmt: skip
    assert {name: configuration[name] for name in expected} == expected


def test_fields_that_the_node_lacks_are_absent():
    node = {"metadata": {"name": "n"}, "status": {"capacity": {"pods": "1k"}}}
    configuration = kubelet_configuration(node)["kubeletconfig"]
    assert not configuration.keys() & {"maxPods", "port", "address", "podCIDR", "providerID"}
