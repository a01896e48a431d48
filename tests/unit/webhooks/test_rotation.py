"""Rotation of certificates, over years."""

from __future__ import annotations

import datetime as dt

import pytest

from steersman.asynckit.certificates import check_ca, check_server
from steersman.webhooks.rotation import CA_CERT, CA_KEY, CERT, KEY, rotate

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)
HOSTS = ["webhook.system.svc", "0:0::1"]


def rotated(data, *, now, hosts=HOSTS):
    renewed = rotate(data, "webhook", hosts, now=now)
    assert renewed is not None
    return renewed


@pytest.fixture(scope="module")
def first():
    return rotated({}, now=START)


def test_empty_secret_gets_an_authority_and_a_certificate(first):
    assert check_ca(first[CA_CERT], first[CA_KEY])[0] == START + 3650 * DAY
    assert check_server(first[CERT], first[KEY], first[CA_CERT]) == (START + 90 * DAY, ["webhook.system.svc", "::1"])


def test_valid_secret_stays(first):
    assert rotate(first, "webhook", HOSTS, now=START + 59 * DAY) is None


def test_certificate_is_renewed_before_its_end(first):
    renewed = rotated(first, now=START + 61 * DAY)
    assert (renewed[CA_CERT], renewed[CA_KEY]) == (first[CA_CERT], first[CA_KEY])
    assert check_server(renewed[CERT], renewed[KEY], first[CA_CERT])[0] == START + 151 * DAY


def test_certificate_is_renewed_for_other_hosts(first):
    renewed = rotated(first, now=START, hosts=["other.system.svc"])
    assert check_server(renewed[CERT], renewed[KEY], first[CA_CERT])[1] == ["other.system.svc"]


@pytest.mark.parametrize("key", [CERT, KEY])
def test_invalid_certificate_is_renewed(first, key):
    for broken in ({**first, key: b"broken"}, {name: value for name, value in first.items() if name != key}):
        renewed = rotated(broken, now=START)
        assert renewed[CA_CERT] == first[CA_CERT]
        check_server(renewed[CERT], renewed[KEY], first[CA_CERT])


@pytest.mark.parametrize("key", [CA_CERT, CA_KEY])
def test_invalid_authority_is_replaced(first, key):
    renewed = rotated({**first, key: b"broken"}, now=START)
    check_ca(renewed[CA_CERT], renewed[CA_KEY])
    check_server(renewed[CERT], renewed[KEY], renewed[CA_CERT])
    assert renewed[CA_KEY] != first[CA_KEY]


def test_clients_with_the_former_bundle_trust_each_certificate_until_they_have_the_next(first):
    """The certificate of each month is trusted by the bundle of the month before, also while the authority is renewed."""
    data, bundles = first, [first[CA_CERT]]
    for month in range(1, 150):
        now = START + 30 * month * DAY
        data = rotate(data, "webhook", HOSTS, now=now) or data
        end, _ = check_server(data[CERT], data[KEY], bundles[-1])
        assert end > now + 29 * DAY
        bundles.append(data[CA_CERT])
    counts = [bundle.count(b"BEGIN") for bundle in bundles]
    assert (counts[0], max(counts), counts[-1]) == (1, 2, 1)
    assert first[CA_CERT] not in bundles[-1]


def test_authority_that_is_about_to_end_is_replaced_and_still_trusted(first):
    data = rotated(first, now=START + (3650 - 80) * DAY)
    assert data[CA_CERT].endswith(first[CA_CERT])
    assert data[CA_KEY] != first[CA_KEY]
    data = rotated(data, now=START + 3651 * DAY)
    assert first[CA_CERT] not in data[CA_CERT]
