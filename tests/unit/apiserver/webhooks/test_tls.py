"""TLS to webhooks: verification of host names."""

import ssl

import pytest

from steersman.apiserver.webhooks.tls import CABundleError, HostNameError, tls_context, tls_error_text, verify_host


def certificate(*names: str, addresses: tuple[str, ...] = (), common_name: str = "") -> dict[str, object]:
    alternatives = [*(("DNS", name) for name in names), *(("IP Address", address) for address in addresses)]
    subject = ((("commonName", common_name),),) if common_name else ()
    return {"subject": subject, "subjectAltName": tuple(alternatives)}


@pytest.mark.parametrize("host", ["a.ns.svc", "A.NS.svc", "a.ns.svc."])
def test_verify_host_accepts_names(host: str):
    verify_host(certificate("b.ns.svc", "a.ns.svc"), host)


def test_verify_host_accepts_wildcard_for_first_label_only():
    verify_host(certificate("*.ns.svc"), "a.ns.svc")
    for host in ("ns.svc", "a.b.ns.svc"):
        with pytest.raises(HostNameError):
            verify_host(certificate("*.ns.svc"), host)
    for pattern in ("a*.ns.svc", "*", "a.*.svc"):
        with pytest.raises(HostNameError):
            verify_host(certificate(pattern), "ab.ns.svc")


def test_verify_host_compares_addresses():
    verify_host(certificate(addresses=("127.0.0.1", "0:0:0:0:0:0:0:1")), "::1")
    with pytest.raises(HostNameError, match=r"certificate is valid for 127\.0\.0\.1, not 10\.0\.0\.1"):
        verify_host(certificate(addresses=("127.0.0.1",)), "10.0.0.1")
    with pytest.raises(HostNameError, match="because it doesn't contain any IP SANs"):
        verify_host(certificate("127.0.0.1"), "127.0.0.1")


def test_verify_host_rejects_certificates_without_names():
    with pytest.raises(HostNameError, match="relies on legacy Common Name field"):
        verify_host(certificate(common_name="a.svc"), "a.svc")
    with pytest.raises(HostNameError, match=r"not valid for any names, but wanted to match a\.svc"):
        verify_host({}, "a.svc")


def test_tls_context_verifies_and_rejects_bundle_without_certificate():
    assert tls_context(b"").verify_mode is ssl.CERT_REQUIRED
    for bundle in (b"x", b"\xff"):
        with pytest.raises(CABundleError):
            tls_context(bundle)


def test_tls_error_text_names_the_alert():
    error = ssl.SSLError(1, "x")
    error.reason = "TLSV1_ALERT_ACCESS_DENIED"
    assert tls_error_text(error) == "remote error: tls: tlsv1 alert access denied"
