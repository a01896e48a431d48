"""Certificates and authorities of a listener that change on disk, by handshakes."""

import asyncio
import logging
import ssl
from datetime import timedelta

import pytest
from cryptography import x509
from tests.busy_machine import advance_until
from tests.unit import serving_certificates
from tests.unit.listening import connected_to, listening

from steersman.apiserver.server.http1.tls import TLSFileError, TLSFiles
from steersman.asynckit.certificates import make_server
from steersman.asynckit.client_certificates import verified_chain
from steersman.asynckit.clock import FakeClock, RealClock
from steersman.controlplane.bootstrap.authentication_config import AuthenticationInfo
from steersman.controlplane.dynamic_certificates import DynamicCertificates
from steersman.controlplane.sni_certificates import NamedCertKey

LIFE = timedelta(days=1)


class Files:
    """Certificates in a directory, and what the loaded ones applied."""

    def __init__(self, directory):
        self.directory = directory
        self.authority = serving_certificates.make_authority()
        self.applied = []
        self.write("default", "localhost")
        self.write("named", "a.example.com")
        self.trust(serving_certificates.make_authority())

    def write(self, stem, *hosts):
        pems = make_server(hosts[0], list(hosts), self.authority, now=RealClock().now(), life=LIFE)
        (self.directory / f"{stem}.crt").write_bytes(pems.certificate)
        (self.directory / f"{stem}.key").write_bytes(pems.key)

    def trust(self, authority):
        (self.directory / "clients.crt").write_bytes(authority.certificate)

    def load(self, *, named=False, clock=None):
        async def apply(authorities):
            self.applied.append(authorities)

        path = self.directory / "clients.crt"
        pair = NamedCertKey(self.directory / "named.crt", self.directory / "named.key")
        return DynamicCertificates(
            TLSFiles(self.directory / "default.crt", self.directory / "default.key", (path,)),
            [pair] if named else [],
            address="127.0.0.1",
            read_authorities=lambda: AuthenticationInfo(client_ca=path.read_text()),
            apply_authorities=apply,
            clock=clock or FakeClock(),
        )


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path)


async def handshake(certificates, tls, name="localhost"):
    """Return the common name of the server's certificate, and the number of verified certificates of the client."""
    lengths = []

    async def accept(_, writer):
        lengths.append(len(verified_chain(writer.get_extra_info("ssl_object"))))
        writer.write(b"x")

    async with (
        listening(accept, tls=certificates.tls.context) as port,
        connected_to("127.0.0.1", port, tls=tls, server_hostname=name) as (reader, writer),
    ):
        assert await reader.read(1) == b"x"
        encoded = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    subject = x509.load_der_x509_certificate(encoded).subject
    return str(next(iter(subject)).value), lengths[0]


async def test_certificate_is_chosen_by_the_server_name(files, tmp_path):
    certificates, client = files.load(named=True), serving_certificates.client_context(tmp_path)
    assert await handshake(certificates, client, "a.example.com") == ("a.example.com", 0)
    assert await handshake(certificates, client, "b.example.com") == ("localhost", 0)


async def test_client_certificates_are_verified_with_every_server_name(files, tmp_path):
    authority = serving_certificates.make_authority()
    files.trust(authority)
    certificates = files.load(named=True)
    client = serving_certificates.client_context(tmp_path, authority, user="a")
    for name in ("a.example.com", "b.example.com"):
        assert (await handshake(certificates, client, name))[1] == 2


async def test_changed_certificates_are_used_for_new_connections(files, tmp_path):
    certificates, client = files.load(named=True), serving_certificates.client_context(tmp_path)
    files.write("default", "new.example.org")
    files.write("named", "new.example.com", "a.example.com")
    await certificates.reload()
    assert (await handshake(certificates, client))[0] == "new.example.org"
    assert (await handshake(certificates, client, "a.example.com"))[0] == "new.example.com"


async def test_changed_authorities_verify_clients_and_are_applied(files, tmp_path):
    certificates, authority = files.load(), serving_certificates.make_authority()
    client = serving_certificates.client_context(tmp_path, authority, user="a")
    assert (await handshake(certificates, client))[1] == 0
    files.trust(authority)
    await certificates.reload()
    assert (await handshake(certificates, client))[1] == 2
    assert files.applied == [AuthenticationInfo(client_ca=authority.certificate.decode())]


async def test_nothing_is_applied_without_a_change(files):
    certificates = files.load()
    context = certificates.tls._contexts
    await certificates.reload()
    assert certificates.tls._contexts is context
    assert files.applied == []


@pytest.mark.parametrize("text", ["nonsense", None])
async def test_files_that_cannot_be_used_leave_the_former_ones_in_use(files, tmp_path, text):
    certificates, client = files.load(), serving_certificates.client_context(tmp_path)
    path = tmp_path / "default.key"
    path.unlink() if text is None else path.write_text(text)
    with pytest.raises(TLSFileError, match=str(path)):
        await certificates.reload()
    assert (await handshake(certificates, client))[0] == "localhost"
    files.write("default", "repaired")
    await certificates.reload()
    assert (await handshake(certificates, client))[0] == "repaired"


async def test_run_reloads_periodically_and_logs_errors(files, caplog):
    clock = FakeClock()
    certificates = files.load(clock=clock)
    running = asyncio.create_task(certificates.run())
    (files.directory / "clients.crt").write_text("nonsense")
    with caplog.at_level(logging.WARNING):
        await advance_until(lambda: "changed TLS files are not in use" in caplog.text, clock)
    files.trust(serving_certificates.make_authority())
    await advance_until(lambda: bool(files.applied), clock)
    running.cancel()
    await asyncio.wait([running])


def test_invalid_files_end_the_start(files):
    (files.directory / "default.crt").write_text("nonsense")
    with pytest.raises(TLSFileError):
        files.load()


def test_listener_asks_for_client_certificates(files):
    assert files.load().tls.context.verify_mode is ssl.CERT_OPTIONAL
