from steersman.client import tree
from steersman.client.decoding import decoding_of
from steersman.controllers.shared.object_part import object_part
from steersman.runtime.owners import owners_of


def test_object_part_decodes_only_its_fields():
    reference = b'{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"1","controller":true}'
    metadata = (
        b'{"name":"x","namespace":"n","uid":"2","managedFields":[{"manager":"m"}],"ownerReferences":['
        + reference
        + b"]}"
    )
    decoded = decoding_of(object_part(tree("v1", "Secret"))).decode_object(b'{"metadata":' + metadata + b',"data":{}}')
    assert (decoded.metadata.name, decoded.metadata.uid) == ("x", "2")
    assert [owner.uid for owner in owners_of(decoded)] == ["1"]
    assert not hasattr(decoded.metadata, "managedFields")


def test_object_part_requests_partial_metadata():
    resource = object_part(tree("v1", "Secret"))
    assert (resource.info.name, resource.accept_as) == ("secrets", "PartialObjectMetadata")
