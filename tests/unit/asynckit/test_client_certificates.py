"""Handshakes with client certificates that verify and that do not. ``test_peer`` has the attacks."""

import asyncio
import ssl
import subprocess
import sys
import threading

import pytest
from tests.busy_machine import HANG_SECONDS
from tests.unit import serving_certificates
from tests.unit.listening import connected_to

from steersman.asynckit import client_certificates
from steersman.asynckit.client_certificates import server_context, verified_chain
from steersman.asynckit.clock import RealClock
from steersman.controlplane.serving_certificates import make_self_signed

SHARED_LIBSSL = hasattr(__import__("_ssl"), "__file__")
needs_shared_libssl = pytest.mark.skipif(not SHARED_LIBSSL, reason="libssl is part of the interpreter")


@pytest.fixture
def authority():
    return serving_certificates.make_authority()


@pytest.fixture
def prepare(tmp_path, authority):
    """Function that loads a certificate into a server context and asks for client certificates of the authority."""

    def prepared(context):
        pair = make_self_signed("test", "", now=RealClock().now())
        (tmp_path / "pair.pem").write_bytes(pair.certificate + pair.key)
        context.load_cert_chain(tmp_path / "pair.pem")
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_verify_locations(cadata=authority.certificate.decode())
        context.num_tickets = 0
        return context

    return prepared


async def chain_length(server, client):
    """Return the number of certificates in the verified chain that the server sees; raise if the handshake fails."""
    lengths = []

    async def accept(_, writer):
        lengths.append(len(verified_chain(writer.get_extra_info("ssl_object"))))
        writer.write(b"x")
        writer.close()

    listening = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=server)
    port = listening.sockets[0].getsockname()[1]
    async with listening, connected_to("127.0.0.1", port, tls=client) as (reader, _):
        if await reader.read(1) != b"x":
            raise ConnectionError
    return lengths[0]


@needs_shared_libssl
async def test_only_chain_of_the_authority_is_verified(tmp_path, authority, prepare):
    server = prepare(server_context())
    other = serving_certificates.make_authority()
    existing = serving_certificates.client_context(tmp_path, authority, user="ann")
    foreign = serving_certificates.client_context(tmp_path, other, user="bob")
    without = serving_certificates.client_context(tmp_path)
    assert [await chain_length(server, client) for client in (existing, foreign, without, existing)] == [2, 0, 0, 2]


@needs_shared_libssl
async def test_required_certificate_must_exist_but_need_not_verify(tmp_path, prepare):
    server = prepare(server_context())
    server.verify_mode = ssl.CERT_REQUIRED
    foreign = serving_certificates.client_context(tmp_path, serving_certificates.make_authority(), user="bob")
    assert await chain_length(server, foreign) == 0
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await chain_length(server, serving_certificates.client_context(tmp_path))


#: Contexts call into these as long as the process lives.
REFERENCES = []


@pytest.fixture
def load_libssl(monkeypatch):
    """Let each new context load libssl again."""
    load = client_certificates._openssl.__wrapped__

    def load_and_keep():
        REFERENCES.append(load())
        return REFERENCES[-1]

    monkeypatch.setattr(client_certificates, "_openssl", load_and_keep)


@pytest.fixture
def no_libssl(monkeypatch, load_libssl):
    """Make every libssl that is loaded lack a function."""
    monkeypatch.setattr(client_certificates, "_SIGNATURES", (("SSL_CTX_no_such_function", None, ()),))


@pytest.fixture
def other_libssl(monkeypatch, load_libssl):
    """Make contexts come from a libssl that reports none of them, as another copy in the process would."""
    monkeypatch.setattr(client_certificates._OpenSSL, "_record_created", lambda *_: None)


@pytest.mark.parametrize("libssl", ["no_libssl", pytest.param("other_libssl", marks=needs_shared_libssl)])
async def test_handshake_with_foreign_certificate_fails_without_access_to_libssl(
    request, libssl, tmp_path, authority, prepare
):
    request.getfixturevalue(libssl)
    server = prepare(server_context())
    assert await chain_length(server, serving_certificates.client_context(tmp_path, authority, user="ann")) == 2
    foreign = serving_certificates.client_context(tmp_path, serving_certificates.make_authority(), user="bob")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await chain_length(server, foreign)


@needs_shared_libssl
@pytest.mark.usefixtures("load_libssl")
@pytest.mark.parametrize("is_before", [True, False])
async def test_exception_in_the_callback_leaves_no_verified_chain(monkeypatch, tmp_path, authority, prepare, is_before):
    verify = client_certificates._OpenSSL._is_verified

    def fail(*arguments):
        if not is_before:
            assert verify(*arguments)
        raise KeyboardInterrupt

    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: reported.append(report.exc_type))
    monkeypatch.setattr(client_certificates._OpenSSL, "_is_verified", fail)
    server = prepare(server_context())
    client = serving_certificates.client_context(tmp_path, authority, user="ann")
    try:
        length = await chain_length(server, client)
    except (ssl.SSLError, ConnectionError):  # ctypes returns any number after an exception
        length = 0
    assert length == 0
    assert KeyboardInterrupt in reported


@needs_shared_libssl
async def test_other_contexts_of_the_process_are_as_before(tmp_path, prepare):
    server_context()
    plain = prepare(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
    foreign = serving_certificates.client_context(tmp_path, serving_certificates.make_authority(), user="bob")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await chain_length(plain, foreign)


@needs_shared_libssl
def test_contexts_created_by_other_threads_are_not_captured(caplog):
    stopping = threading.Event()

    def create():
        while not stopping.is_set():
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    thread = threading.Thread(target=create)
    thread.start()
    try:
        contexts = [server_context() for _ in range(50)]
    finally:
        stopping.set()
        thread.join()
    assert len(contexts) == 50
    assert not caplog.records


def test_process_that_created_contexts_exits_cleanly():
    code = "from steersman.asynckit.client_certificates import server_context as s; a = [s(), s()]"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=HANG_SECONDS
    )
    assert (done.returncode, done.stderr) == (0, "")
