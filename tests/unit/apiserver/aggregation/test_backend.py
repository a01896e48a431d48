"""Specs of backends and TLS to them."""

import ssl

import pytest
from tests.unit.apiserver.webhooks.servers import ca_bundle

from steersman.apiserver.aggregation.backend import BackendSpec, BackendTLSError, make_tls, spec_of

SPEC = BackendSpec("g.example.com", "v1", "n", "s", 443, ca_bundle())


def test_spec_of_is_none_for_local_apiservices():
    assert spec_of({"spec": {"group": "g.example.com", "version": "v1"}}) is None


def test_spec_of_uses_the_default_port():
    service = {"namespace": "n", "name": "s"}
    spec = spec_of({"spec": {"group": "", "version": "v1", "service": service, "insecureSkipTLSVerify": True}})
    assert (spec.port, spec.is_insecure, spec.path, spec.server_hostname) == (443, True, "/api/v1", "s.n.svc")


def test_make_tls_verifies_with_the_bundle_unless_the_spec_is_insecure():
    assert make_tls(SPEC, None).verify_mode is ssl.CERT_REQUIRED
    insecure = BackendSpec("g.example.com", "v1", "n", "s", 443, is_insecure=True)
    assert make_tls(insecure, None).verify_mode is ssl.CERT_NONE


def test_make_tls_reports_missing_client_certificates(tmp_path):
    with pytest.raises(BackendTLSError, match="unable to load the client certificate"):
        make_tls(SPEC, (tmp_path / "crt", tmp_path / "key"))
