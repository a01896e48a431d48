from __future__ import annotations

import pytest

from steersman.apimachinery.typemodel import ListOf, ListType, MapOf, Scalar, ScalarKind, Struct
from steersman.schema import loader
from steersman.schema.resources import table


def fields(definition: str):
    return loader.struct(definition).fields


def test_struct_for_every_resource_has_metadata():
    structs = [loader.struct(resource.definition) for resource in table().resources]
    assert {struct.fields["kind"].type.kind for struct in structs} == {ScalarKind.STRING}


def test_definitions_of_all_groups_load():
    names = [name for group, version in table().modules for name in loader.definitions(group, version)]
    assert all(loader.struct(name).name == name for name in names)


def test_struct_is_loaded_once():
    pod = loader.struct_for("", "v1", "Pod")
    template = fields("io.k8s.api.apps.v1.DeploymentSpec")["template"].type
    assert isinstance(template, Struct)
    assert template.fields["spec"].type is pod.fields["spec"].type


def test_struct_may_be_recursive():
    schema = loader.struct_for("apiextensions.k8s.io", "v1", "JSONSchemaProps")
    properties = schema.fields["properties"].type
    assert isinstance(properties, MapOf)
    assert properties.value is schema


def test_struct_lists_have_keys_and_defaults():
    ports = fields("io.k8s.api.core.v1.Container")["ports"]
    assert isinstance(ports.type, ListOf)
    assert ports.type.list_type is ListType.MAP
    assert ports.type.keys == ("containerPort", "protocol")
    assert ports.type.key_defaults == {"protocol": "TCP"}
    assert (ports.patch_strategies, ports.patch_merge_key) == (("merge",), "containerPort")


def test_struct_fields_have_patch_strategies_in_order():
    volumes = fields("io.k8s.api.core.v1.PodSpec")["volumes"]
    assert volumes.patch_strategies == ("merge", "retainKeys")


def test_struct_marks_atomic_structs_and_maps():
    selector = fields("io.k8s.api.core.v1.ServiceSpec")["selector"].type
    assert isinstance(selector, MapOf)
    assert selector.atomic
    assert loader.struct(f"{loader.META_V1}.LabelSelector").atomic


def test_struct_field_may_override_an_atomic_struct():
    claim = fields("io.k8s.api.core.v1.PersistentVolumeSpec")["claimRef"].type
    whole = loader.struct("io.k8s.api.core.v1.ObjectReference")
    assert (whole.atomic, claim.atomic) == (True, False)
    assert claim.fields is whole.fields


@pytest.mark.parametrize(
    ("definition", "field", "kind"),
    [
        ("io.k8s.api.core.v1.ServicePort", "targetPort", ScalarKind.INT_OR_STRING),
        ("io.k8s.api.core.v1.EmptyDirVolumeSource", "sizeLimit", ScalarKind.QUANTITY),
        ("io.k8s.api.coordination.v1.LeaseSpec", "renewTime", ScalarKind.MICRO_TIME),
        (loader.OBJECT_META, "creationTimestamp", ScalarKind.TIME),
        ("io.k8s.api.certificates.v1.CertificateSigningRequestSpec", "request", ScalarKind.BYTES),
        ("io.k8s.api.apps.v1.ControllerRevision", "data", ScalarKind.RAW),
        (f"{loader.META_V1}.ManagedFieldsEntry", "fieldsV1", ScalarKind.ANY),
    ],
)
def test_struct_leaves_have_the_kind_of_their_go_type(definition, field, kind):
    type_ = fields(definition)[field].type
    assert isinstance(type_, Scalar)
    assert type_.kind is kind


def test_struct_for_finds_common_kinds_in_each_group():
    assert loader.struct_for("apps", "v1", "DeleteOptions") is loader.struct_for("", "v1", "DeleteOptions")


def test_struct_for_finds_subresource_kinds_of_other_groups():
    assert loader.struct_for("autoscaling", "v1", "Scale").name == "io.k8s.api.autoscaling.v1.Scale"
    assert loader.struct_for("policy", "v1", "Eviction").name == "io.k8s.api.policy.v1.Eviction"


@pytest.mark.parametrize(("group", "version", "kind"), [("", "v1", "Nothing"), ("apps", "v9", "Deployment")])
def test_struct_for_raises_for_a_custom_kind(group, version, kind):
    with pytest.raises(KeyError):
        loader.struct_for(group, version, kind)


def test_struct_raises_for_an_unknown_definition():
    with pytest.raises(KeyError):
        loader.struct("io.k8s.api.nothing.v1.Nothing")


def test_struct_for_caches_no_group_that_a_client_chooses():
    status = loader.struct_for("group", "v1", "Status")
    before = loader._struct_of.cache_info().currsize
    for number in range(100):
        assert loader.struct_for(f"group{number}", "v1", "Status") is status
        with pytest.raises(KeyError, match=f"group{number}/v1, Kind=Unknown{number}"):
            loader.struct_for(f"group{number}", "v1", f"Unknown{number}")
    assert loader._struct_of.cache_info().currsize == before
