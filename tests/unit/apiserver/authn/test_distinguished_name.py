"""Certificate subjects as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.authn import distinguished_name

VALUES = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1)


def test_from_ssl_writes_last_rdn_first():
    subject = ((("organizationName", "system:masters"),), (("commonName", "admin"),))
    assert distinguished_name.from_ssl(subject) == "CN=admin,O=system:masters"


@given(st.lists(st.tuples(st.sampled_from(["commonName", "organizationName"]), VALUES), min_size=1))
def test_parse_inverts_from_ssl(attributes):
    text = distinguished_name.from_ssl([[attribute] for attribute in attributes])
    short = {"commonName": "CN", "organizationName": "O"}
    assert distinguished_name.parse(text) == [(short[kind], value) for kind, value in attributes]


def test_parse_reads_multi_valued_rdns():
    assert distinguished_name.parse("CN=a+O=b,O=c") == [("O", "c"), ("CN", "a"), ("O", "b")]


def test_parse_raises_for_malformed_text():
    with pytest.raises(ValueError, match="not a distinguished name"):
        distinguished_name.parse("admin")
