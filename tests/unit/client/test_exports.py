"""What users import from the package is listed, and there."""

import pytest

from steersman import client


def test_the_list_is_in_order_and_without_doubles():
    assert client.__all__ == sorted(set(client.__all__))


@pytest.mark.parametrize("name", client.__all__)
def test_every_name_is_there(name):
    assert getattr(client, name) is not None


def test_other_names_are_not():
    with pytest.raises(AttributeError):
        client.nothing  # noqa: B018 — asking is the test
