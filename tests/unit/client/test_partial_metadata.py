"""Metadata alone."""

import msgspec
from lightkube.models.core_v1 import Pod

from steersman.client.partial_metadata import PartialObjectMetadata, metadata_only
from steersman.client.resource_types import typed


def test_it_is_the_same_resource_seen_otherwise():
    found = metadata_only(Pod)
    assert (found.info, found.model) == (typed(Pod).info, PartialObjectMetadata)
    assert found != typed(Pod)
    assert metadata_only(typed(Pod)) == found


def test_the_rest_is_not_read():
    raw = b'{"metadata":{"name":"a"},"spec":{"big":1}}'
    assert msgspec.json.decode(raw, type=PartialObjectMetadata).metadata.name == "a"
