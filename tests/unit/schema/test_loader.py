from __future__ import annotations

import pytest

from steersman.apimachinery.typemodel import ListOf, ListType, MapOf, Scalar, ScalarKind, Struct
from steersman.schema import loader
from steersman.schema.resources import table


def fields(definition: str):
    return loader.struct(definition).fields


def test_every_served_resource_has_a_type_with_metadata():
    structs = [loader.struct(resource.definition) for resource in table().resources]
    assert {struct.fields["kind"].type.kind for struct in structs} == {ScalarKind.STRING}


def test_all_definitions_of_all_groups_load():
    names = [name for group, version in table().modules for name in loader.definitions(group, version)]
    assert all(loader.struct(name).name == name for name in names)


def test_a_type_is_loaded_once_and_shared():
    pod = loader.struct_for("", "v1", "Pod")
    template = fields("io.k8s.api.apps.v1.DeploymentSpec")["template"].type
    assert isinstance(template, Struct)
    assert template.fields["spec"].type is pod.fields["spec"].type


def test_types_may_hold_themselves():
    schema = loader.struct_for("apiextensions.k8s.io", "v1", "JSONSchemaProps")
    properties = schema.fields["properties"].type
    assert isinstance(properties, MapOf)
    assert properties.value is schema


def test_map_lists_know_their_keys_and_key_defaults():
    ports = fields("io.k8s.api.core.v1.Container")["ports"]
    assert isinstance(ports.type, ListOf)
    assert ports.type.list_type is ListType.MAP
    assert ports.type.keys == ("containerPort", "protocol")
    assert ports.type.key_defaults == {"protocol": "TCP"}
    assert (ports.patch_strategies, ports.patch_merge_key) == (("merge",), "containerPort")


def test_strategic_merge_directives_come_in_order():
    volumes = fields("io.k8s.api.core.v1.PodSpec")["volumes"]
    assert volumes.patch_strategies == ("merge", "retainKeys")


def test_atomic_structs_and_maps_are_marked():
    selector = fields("io.k8s.api.core.v1.ServiceSpec")["selector"].type
    assert isinstance(selector, MapOf)
    assert selector.atomic
    assert loader.struct(f"{loader.META_V1}.LabelSelector").atomic


def test_a_field_may_take_an_atomic_struct_apart():
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
def test_leaves_have_the_kind_of_their_go_type(definition, field, kind):
    type_ = fields(definition)[field].type
    assert isinstance(type_, Scalar)
    assert type_.kind is kind


def test_kinds_that_all_groups_share_are_found_in_each():
    assert loader.struct_for("apps", "v1", "DeleteOptions") is loader.struct_for("", "v1", "DeleteOptions")


def test_kinds_of_other_groups_subresources_are_found_in_their_own():
    assert loader.struct_for("autoscaling", "v1", "Scale").name == "io.k8s.api.autoscaling.v1.Scale"
    assert loader.struct_for("policy", "v1", "Eviction").name == "io.k8s.api.policy.v1.Eviction"


@pytest.mark.parametrize(("group", "version", "kind"), [("", "v1", "Nothing"), ("apps", "v9", "Deployment")])
def test_a_kind_that_is_not_built_in_is_a_key_error(group, version, kind):
    with pytest.raises(KeyError):
        loader.struct_for(group, version, kind)


def test_a_definition_that_does_not_exist_is_a_key_error():
    with pytest.raises(KeyError):
        loader.struct("io.k8s.api.nothing.v1.Nothing")
