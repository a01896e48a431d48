"""Cipher suites and curves: names, warnings, and handshakes between a client and a server with different settings."""

import ssl

import pytest
from tests.unit.listening import connected_to, listening

from steersman.asynckit.client_certificates import server_context
from steersman.asynckit.clock import RealClock
from steersman.asynckit.tls_policy import CIPHER_SUITES, TLSPolicy, check_cipher_suites, check_curves
from steersman.controlplane.serving_certificates import make_self_signed

P256, P384 = 23, 24
#: A suite that this OpenSSL was built without: Kubernetes accepts its name.
ABSENT = "TLS_RSA_WITH_RC4_128_SHA"


@pytest.fixture
def connect(tmp_path):
    """Function that connects a client to a server with a policy, and returns the negotiated suite."""
    pair = make_self_signed("test", "", now=RealClock().now())
    (tmp_path / "pair.pem").write_bytes(pair.certificate + pair.key)

    async def connected(policy, *, suites="", version=ssl.TLSVersion.TLSv1_2, curve=""):
        context = policy.create_context()
        context.load_cert_chain(tmp_path / "pair.pem")
        client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
        client.maximum_version = version
        if suites:
            client.set_ciphers(suites)
        if curve:
            client.set_ecdh_curve(curve)

        async def accept(_, writer):
            writer.write(b"x")

        async with (
            listening(accept, tls=context) as port,
            connected_to("127.0.0.1", port, tls=client) as (reader, writer),
        ):
            if await reader.read(1) != b"x":
                raise ConnectionError
            return writer.get_extra_info("ssl_object").cipher()[0]

    return connected


async def test_only_the_chosen_cipher_suites_of_tls_1_2_are_accepted(connect):
    policy = TLSPolicy(cipher_suites=("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",))
    assert await connect(policy) == "ECDHE-ECDSA-AES128-GCM-SHA256"
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await connect(policy, suites="ECDHE-ECDSA-AES256-GCM-SHA384")


async def test_cipher_suites_do_not_concern_tls_1_3(connect):
    policy = TLSPolicy(cipher_suites=("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",))
    assert (await connect(policy, version=ssl.TLSVersion.TLSv1_3)).startswith("TLS_")


@pytest.mark.parametrize("name", ["TLS_AES_128_GCM_SHA256", ABSENT])
async def test_tls_1_2_is_rejected_without_a_suite_for_it(connect, name):
    policy = TLSPolicy(cipher_suites=(name,))
    assert (await connect(policy, version=ssl.TLSVersion.TLSv1_3)).startswith("TLS_")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await connect(policy)


async def test_only_the_chosen_curves_are_accepted(connect):
    policy = TLSPolicy(curves=(P384, P256))
    for curve in ("prime256v1", "secp384r1"):
        await connect(policy, version=ssl.TLSVersion.TLSv1_3, curve=curve)
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await connect(policy, version=ssl.TLSVersion.TLSv1_3, curve="secp521r1")


@pytest.mark.parametrize("name", [name for name in CIPHER_SUITES if name.startswith("TLS_ECDHE") and "RC4" not in name and "3DES" not in name])  # fmt: skip
def test_openssl_has_the_modern_suites(name):
    assert not [text for text in TLSPolicy(cipher_suites=(name,)).warnings() if "not used" in text]


def test_insecure_suites_are_warned_about():
    names = ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_RSA_WITH_AES_128_CBC_SHA")
    assert TLSPolicy(cipher_suites=names).warnings() == [
        "Use of insecure cipher 'TLS_RSA_WITH_AES_128_CBC_SHA' detected."
    ]


def test_suites_that_openssl_does_not_have_are_warned_about():
    assert TLSPolicy(cipher_suites=(ABSENT,)).warnings() == [
        f"Use of insecure cipher '{ABSENT}' detected.",
        f"cipher suite {ABSENT} is not used: OpenSSL does not implement it",
    ]


def test_unknown_suite_is_rejected():
    with pytest.raises(ValueError, match=r"^Cipher suite TLS_FOO not supported or doesn't exist$"):
        check_cipher_suites(["TLS_AES_128_GCM_SHA256", "TLS_FOO"])


@pytest.mark.parametrize(
    ("curves", "message"),
    [
        ((0,), r"curve preference 0 is out of range \(must be 1-65535\)"),
        ((65536,), r"curve preference 65536 is out of range \(must be 1-65535\)"),
        ((23, 29, 23), "duplicate curve preference 23"),
        ((23, 30), "curve preference 30 is not supported by the current Go version"),
    ],
)
def test_invalid_curves_are_rejected(curves, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        check_curves(curves)


def test_curves_that_openssl_does_not_have_are_left_out_with_a_warning(monkeypatch):
    def without_hybrids(groups=()):
        if any("MLKEM" in group for group in groups):
            raise ValueError
        return server_context(groups)

    monkeypatch.setattr("steersman.asynckit.tls_policy.server_context", without_hybrids)
    check_curves((4588, 29))
    assert TLSPolicy(curves=(4588, 29)).warnings() == [
        "curve preference 4588 is not used: OpenSSL does not implement it"
    ]
    with pytest.raises(ValueError, match="OpenSSL implements none of the curves 4588"):
        check_curves((4588,))


def test_groups_that_openssl_does_not_have_raise():
    with pytest.raises(ValueError, match="OpenSSL does not support the groups nonsense"):
        server_context(("nonsense",))
