from __future__ import annotations

from codegen.sources import api_methods, definitions


def test_definitions_are_those_of_the_pinned_release():
    assert "io.k8s.api.core.v1.Pod" in definitions()


def test_methods_are_mapped_to_verbs_of_kubernetes():
    methods = {(method.parent, method.plural, method.action): method for method in api_methods()}
    assert methods[("", "v1"), "pods", ""].verbs == (
        "create",
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "update",
        "watch",
    )


def test_api_methods_of_a_subresource_have_its_kind_and_parent():
    [eviction] = [method for method in api_methods() if method.action == "eviction"]
    assert (eviction.group, eviction.kind, eviction.parent, eviction.plural) == (
        "policy",
        "Eviction",
        ("", "v1"),
        "pods",
    )
