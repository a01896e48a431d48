"""Exports of the package."""

import pytest

from steersman import client


def test_all_is_sorted_and_unique():
    assert client.__all__ == sorted(set(client.__all__))


@pytest.mark.parametrize("name", client.__all__)
def test_every_exported_name_exists(name):
    assert getattr(client, name) is not None


def test_unknown_names_raise_attribute_error():
    with pytest.raises(AttributeError):
        client.nothing  # noqa: B018 — asking is the test
