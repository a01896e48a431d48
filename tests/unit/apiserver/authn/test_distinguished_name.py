"""Names of certificates as text and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.authn import distinguished_name

VALUES = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1)


def test_the_last_part_comes_first_as_in_rfc_4514():
    subject = ((("organizationName", "system:masters"),), (("commonName", "admin"),))
    assert distinguished_name.from_ssl(subject) == "CN=admin,O=system:masters"


@given(st.lists(st.tuples(st.sampled_from(["commonName", "organizationName"]), VALUES), min_size=1))
def test_what_was_written_is_read_back(attributes):
    text = distinguished_name.from_ssl([[attribute] for attribute in attributes])
    short = {"commonName": "CN", "organizationName": "O"}
    assert distinguished_name.parse(text) == [(short[kind], value) for kind, value in attributes]


def test_several_attributes_of_one_part_are_read():
    assert distinguished_name.parse("CN=a+O=b,O=c") == [("O", "c"), ("CN", "a"), ("O", "b")]


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="not a distinguished name"):
        distinguished_name.parse("admin")
