"""Certificates of clients, over real TLS connections."""

import asyncio
import datetime as dt
import ssl

import msgspec
import pytest
from tests.unit.listening import hang_up

from steersman.apiserver.server.http1.peer import NEVER, tls_extension, validity
from steersman.apiserver.server.http1.tls import TLSFiles, tls_context
from steersman.asynckit import certificates

DAY = dt.timedelta(days=1)
NOW = dt.datetime.now(dt.UTC)  # noqa: TID251
VERSIONS = pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])


def write(directory, name, pems):
    (directory / f"{name}.crt").write_bytes(pems.certificate)
    (directory / f"{name}.key").write_bytes(pems.key)
    return directory / f"{name}.crt", directory / f"{name}.key"


class Peers:
    """Server with a CA, and a client with a certificate signed by it."""

    def __init__(self, directory, *, ca=(NOW, DAY), client=(NOW, DAY), maximum=ssl.TLSVersion.TLSv1_3):
        server_ca = certificates.make_ca("server CA", now=NOW, life=DAY)
        self.client_ca = certificates.make_ca("clients", now=ca[0], life=ca[1])
        self.trusted, _ = write(directory, "ca", server_ca)
        accepted, _ = write(directory, "clients", self.client_ca)
        server = certificates.make_server("server", ["localhost"], server_ca, now=NOW, life=DAY)
        self.alice = certificates.make_client("alice", ["ops"], self.client_ca, now=client[0], life=client[1])
        self.server = tls_context(TLSFiles(*write(directory, "server", server), (accepted,)))
        self.server.maximum_version = maximum
        self.client = ssl.create_default_context(cafile=str(self.trusted))
        self.client.load_cert_chain(*write(directory, "alice", self.alice))

    async def extension(self):
        """Return the TLS extension of a connection."""
        created = asyncio.get_running_loop().create_future()

        async def accept(reader, writer):
            created.set_result(tls_extension(writer.transport))
            writer.close()

        listening = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=self.server)
        async with listening:
            port = listening.sockets[0].getsockname()[1]
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", port, ssl=self.client, server_hostname="localhost"
            )
            await reader.read()
            await hang_up(writer)
        if not created.done():
            raise ConnectionError("the connection was closed before it was accepted")
        return created.result()["tls"]


def is_valid(extension, at=NOW):
    first, last = extension["client_cert_valid"]
    return first <= at.timestamp() <= last


@VERSIONS
async def test_validity_is_intersection_of_chain(tmp_path, version):
    peers = Peers(tmp_path, ca=(NOW - 2 * DAY, 9 * DAY), maximum=version)
    extension = await peers.extension()
    assert extension["client_cert_name"] == "CN=alice,O=ops"
    assert is_valid(extension)
    assert not is_valid(extension, NOW - DAY)
    assert not is_valid(extension, NOW + 2 * DAY)


@VERSIONS
@pytest.mark.parametrize(
    "times",
    [
        {"client": (NOW - 9 * DAY, DAY), "ca": (NOW - 9 * DAY, 18 * DAY)},
        {"client": (NOW + 2 * DAY, DAY)},
        {"ca": (NOW - 9 * DAY, DAY)},
        {"ca": (NOW + 2 * DAY, DAY)},
    ],
    ids=["expired", "not yet valid", "CA expired", "CA not yet valid"],
)
async def test_expired_chain_connects_but_is_not_valid(tmp_path, version, times):
    extension = await Peers(tmp_path, maximum=version, **times).extension()
    assert extension["client_cert_name"] == "CN=alice,O=ops"
    assert not is_valid(extension)


FOREIGN = "x509: certificate signed by unknown authority, or not for clients"


def is_refused(extension):
    """Report whether nothing of a presented certificate counts."""
    return (
        len(extension["client_cert_chain"]) == 1
        and extension["client_cert_error"] == FOREIGN
        and extension["client_cert_name"] is None
        and extension["client_cert_valid"] == NEVER
        and not extension["client_cert_authorities"]
    )


@VERSIONS
async def test_certificate_of_other_ca_connects_but_does_not_count(tmp_path, version):
    peers = Peers(tmp_path, maximum=version)
    other = certificates.make_ca("clients", now=NOW, life=DAY)
    mallory = certificates.make_client("mallory", ["system:masters"], other, now=NOW, life=DAY)
    peers.client.load_cert_chain(*write(tmp_path, "mallory", mallory))
    assert is_refused(await peers.extension())


@VERSIONS
async def test_other_ca_sent_along_does_not_verify_its_certificate(tmp_path, version):
    peers = Peers(tmp_path, maximum=version)
    other = certificates.make_ca("clients", now=NOW, life=DAY)
    mallory = certificates.make_client("mallory", ["system:masters"], other, now=NOW, life=DAY)
    chain = msgspec.structs.replace(mallory, certificate=mallory.certificate + other.certificate)
    peers.client.load_cert_chain(*write(tmp_path, "mallory", chain))
    assert is_refused(await peers.extension())


@VERSIONS
async def test_serving_certificate_of_the_ca_does_not_count(tmp_path, version):
    peers = Peers(tmp_path, maximum=version)
    server = certificates.make_server("alice", ["localhost"], peers.client_ca, now=NOW, life=DAY)
    peers.client.load_cert_chain(*write(tmp_path, "server-usage", server))
    assert is_refused(await peers.extension())


@VERSIONS
async def test_certificate_of_a_client_signs_no_certificates(tmp_path, version):
    peers = Peers(tmp_path, maximum=version)
    mallory = certificates.make_client("root", ["system:masters"], peers.alice, now=NOW, life=DAY)
    chain = msgspec.structs.replace(mallory, certificate=mallory.certificate + peers.alice.certificate)
    peers.client.load_cert_chain(*write(tmp_path, "mallory", chain))
    assert is_refused(await peers.extension())


async def test_connections_are_verified_one_by_one(tmp_path):
    peers = Peers(tmp_path)
    other = certificates.make_ca("clients", now=NOW, life=DAY)
    mallory = certificates.make_client("mallory", [], other, now=NOW, life=DAY)
    foreign = ssl.create_default_context(cafile=str(peers.trusted))
    foreign.load_cert_chain(*write(tmp_path, "mallory", mallory))
    client = peers.client
    for _ in range(3):
        peers.client = foreign
        assert is_refused(await peers.extension())
        peers.client = client
        extension = await peers.extension()
        assert extension["client_cert_error"] is None
        assert is_valid(extension)


async def test_tls_1_3_sessions_are_not_resumed(tmp_path):
    server = Peers(tmp_path).server
    assert server.num_tickets == 0
    assert server.options & ssl.OP_NO_TICKET


def test_unknown_chain_is_never_valid():
    first, last = validity([])
    assert (first, last) == NEVER
    assert not first <= NOW.timestamp() <= last
