"""Specs of backends and TLS to them."""

import ssl
import tracemalloc
from datetime import timedelta

import pytest
from tests.unit.apiserver.webhooks.servers import ca_bundle, server_tls
from tests.unit.flooding import BODY_BYTES, BUFFERED_BYTES_MAX, Flood
from tests.unit.listening import listening
from tests.unit.serving_certificates import make_authority

from steersman.apiserver.aggregation import backend_openapi
from steersman.apiserver.aggregation.backend import Backend, BackendSpec, BackendTLSError, make_tls, spec_of
from steersman.apiserver.proxying.connections import Connections, DialError
from steersman.apiserver.proxying.kubelet import Location
from steersman.apiserver.proxying.pool import PoolGroup
from steersman.asynckit.certificates import make_client
from steersman.asynckit.clock import RealClock

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


async def test_get_reads_an_answer_up_to_its_limit_only():
    flood, clock, size_max = Flood(), RealClock(), backend_openapi._SWAGGER_BYTES_MAX
    backend = Backend(SPEC, None, Connections(clock), None, clock=clock, pools=PoolGroup())
    async with listening(flood, tls=server_tls((SPEC.server_hostname,))) as port:
        tracemalloc.start()
        try:
            with pytest.raises(DialError, match=f"the answer has more than {size_max} bytes"):
                await backend.get(Location("127.0.0.1", str(port)), "/openapi/v2", size_max=size_max)
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
            backend.close()
    assert flood.sent_bytes < size_max + BUFFERED_BYTES_MAX < BODY_BYTES
    assert peak_bytes < 2 * size_max + BUFFERED_BYTES_MAX


def test_make_tls_reports_missing_client_certificates(tmp_path):
    with pytest.raises(BackendTLSError, match="unable to load the client certificate"):
        make_tls(SPEC, (tmp_path / "crt", tmp_path / "key"))


async def test_renewed_connections_use_the_present_files(tmp_path):
    clock = RealClock()
    identity = (tmp_path / "crt", tmp_path / "key")
    backend = Backend(SPEC, None, Connections(clock), identity, clock=clock, pools=PoolGroup())
    with pytest.raises(BackendTLSError):
        await backend.pool()
    authority = make_authority()
    client = make_client("aggregator", [], authority, now=clock.now(), life=timedelta(days=1))
    identity[0].write_bytes(client.certificate)
    identity[1].write_bytes(client.key)
    first = await backend.pool()
    assert await backend.pool() is first
    backend.renew_connections()
    assert await backend.pool() is not first
    backend.close()
