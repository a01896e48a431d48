"""Metadata-only resources."""

import msgspec
from lightkube.models.core_v1 import Pod

from steersman.client.partial_metadata import PartialObjectMetadata, metadata_only
from steersman.client.resource_types import typed


def test_metadata_only_keeps_the_resource():
    result = metadata_only(Pod)
    assert (result.info, result.model) == (typed(Pod).info, PartialObjectMetadata)
    assert result != typed(Pod)
    assert metadata_only(typed(Pod)) == result


def test_partial_object_metadata_ignores_other_fields():
    raw = b'{"metadata":{"name":"a"},"spec":{"big":1}}'
    assert msgspec.json.decode(raw, type=PartialObjectMetadata).metadata.name == "a"
