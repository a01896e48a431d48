"""TLS versions, cipher suites and curves of servers, by the names and numbers of Go's ``crypto/tls``.

TLS 1.3 has its own cipher suites, which cannot be chosen: a list concerns TLS 1.2 only, as in Go.
Upstream: ``k8s.io/component-base/cli/flag`` (``ciphersuites_flag.go``, ``curve_flag.go``).
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.asynckit.client_certificates import server_context

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

TLS_VERSIONS: Final = {
    "": ssl.TLSVersion.TLSv1_2,
    "VersionTLS10": ssl.TLSVersion.TLSv1_2,
    "VersionTLS11": ssl.TLSVersion.TLSv1_2,
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}
#: Cipher suites of Go's ``tls.CipherSuites`` and OpenSSL's names, in order of preference; empty for suites of TLS 1.3.
_SECURE: Final = {
    "TLS_AES_128_GCM_SHA256": "",
    "TLS_AES_256_GCM_SHA384": "",
    "TLS_CHACHA20_POLY1305_SHA256": "",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
}
#: The same of ``tls.InsecureCipherSuites``.
_INSECURE: Final = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256": "ECDHE-ECDSA-AES128-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256": "ECDHE-RSA-AES128-SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "TLS_RSA_WITH_AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    "TLS_RSA_WITH_AES_128_CBC_SHA256": "AES128-SHA256",
    "TLS_RSA_WITH_AES_128_CBC_SHA": "AES128-SHA",
    "TLS_RSA_WITH_AES_256_CBC_SHA": "AES256-SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA": "ECDHE-RSA-DES-CBC3-SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA": "DES-CBC3-SHA",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA": "ECDHE-ECDSA-RC4-SHA",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA": "ECDHE-RSA-RC4-SHA",
    "TLS_RSA_WITH_RC4_128_SHA": "RC4-SHA",
}
CIPHER_SUITES: Final = {**_SECURE, **_INSECURE}
#: Go's ``tls.CurveID`` and OpenSSL's names of groups.
CURVES: Final = {
    23: "prime256v1",
    24: "secp384r1",
    25: "secp521r1",
    29: "X25519",
    4587: "SecP256r1MLKEM768",
    4588: "X25519MLKEM768",
    4589: "SecP384r1MLKEM1024",
}
_CURVE_MAX: Final = 65_535


class TLSPolicy(NamedTuple):
    """Settings of a server's handshakes; empty ones are OpenSSL's defaults, with TLS 1.2 or newer."""

    #: Name in ``TLS_VERSIONS``.
    minimum_version: str = ""
    cipher_suites: tuple[str, ...] = ()
    curves: tuple[int, ...] = ()

    def create_context(self) -> ssl.SSLContext:
        """Return a context for TLS servers (``client_certificates.server_context``). Raises ``ValueError``."""
        context = server_context(_supported_groups(self.curves) if self.curves else ())
        context.minimum_version = TLS_VERSIONS[self.minimum_version]
        if self.cipher_suites:
            suites = [name for name in CIPHER_SUITES if name in self.cipher_suites and _is_of_openssl(name)]
            if suites:
                context.set_ciphers(":".join(CIPHER_SUITES[name] for name in suites))
            else:
                context.minimum_version = ssl.TLSVersion.TLSv1_3
        return context

    def warnings(self) -> list[str]:
        """Return warnings about insecure cipher suites, and about suites and curves that OpenSSL does not have."""
        texts = [f"Use of insecure cipher '{name}' detected." for name in self.cipher_suites if name in _INSECURE]
        texts += [
            f"cipher suite {name} is not used: OpenSSL does not implement it"
            for name in self.cipher_suites
            if CIPHER_SUITES[name] and not _is_of_openssl(name)
        ]
        if self.curves:
            supported = _supported_groups(self.curves)
            texts += [
                f"curve preference {curve} is not used: OpenSSL does not implement it"
                for curve in self.curves
                if CURVES[curve] not in supported
            ]
        return texts


#: OpenSSL's defaults.
DEFAULT_POLICY: Final = TLSPolicy()


def check_cipher_suites(names: Iterable[str]) -> None:
    """Raise ``ValueError`` for the first name of an unknown suite. Upstream: ``TLSCipherSuites``."""
    for name in names:
        if name not in CIPHER_SUITES:
            raise ValueError(f"Cipher suite {name} not supported or doesn't exist")


def check_curves(curves: Sequence[int]) -> None:
    """Raise ``ValueError`` for the first invalid curve, and if OpenSSL has none of them. Upstream: ``TLSCurvePreferences``."""
    for position, curve in enumerate(curves):
        if not 0 < curve <= _CURVE_MAX:
            raise ValueError(f"curve preference {curve} is out of range (must be 1-{_CURVE_MAX})")
        if curve in curves[:position]:
            raise ValueError(f"duplicate curve preference {curve}")
        if curve not in CURVES:
            raise ValueError(f"curve preference {curve} is not supported by the current Go version")
    if curves:
        groups = _supported_groups(curves)
        if not groups:
            raise ValueError(f"OpenSSL implements none of the curves {', '.join(map(str, curves))}")
        server_context(groups)


def _is_of_openssl(name: str) -> bool:
    """Report whether OpenSSL implements a suite of TLS 1.2; False for suites of TLS 1.3."""
    if not CIPHER_SUITES[name]:
        return False
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).set_ciphers(CIPHER_SUITES[name])
    except ssl.SSLError:
        return False
    return True


def _supported_groups(curves: Iterable[int]) -> list[str]:
    """Return the names of those curves that OpenSSL implements."""
    groups = []
    for curve in curves:
        try:
            server_context((CURVES[curve],))
        except ValueError:
            continue
        groups.append(CURVES[curve])
    return groups
