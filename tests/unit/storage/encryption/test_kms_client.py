"""gRPC client of KMS plugins, against a server of grpcio on a unix socket."""

from __future__ import annotations

import contextlib
import sys

import pytest
from tests.busy_machine import HANG_SECONDS
from tests.unit.storage.encryption.plugin import Plugin, serve

from steersman.asynckit.clock import RealClock
from steersman.extras import MissingPackagesError
from steersman.storage.encryption.kms import KMSUnavailableError, Status
from steersman.storage.encryption.kms_client import GrpcKMSService, socket_path
from steersman.storage.encryption.metrics import EncryptionMetrics

pytest.importorskip("grpc", reason="the dev extra is not installed")


@pytest.fixture
async def service(tmp_path):
    """A plugin, and a client that is connected to it."""
    plugin = Plugin()
    server = await serve(plugin, f"{tmp_path}/kms.sock")
    client = GrpcKMSService(f"unix://{tmp_path}/kms.sock", clock=RealClock(), timeout_seconds=HANG_SECONDS)
    yield plugin, client
    await client.close()
    await server.stop(None)


async def test_calls_carry_all_fields(service):
    _, client = service
    assert await client.status() == Status("v2", "ok", "1")
    key = await client.encrypt("uid", b"plain")
    assert (key.ciphertext, key.key_id, key.annotations) == (b"nialp", "1", (("a.example.com", b"\x00note"),))
    assert await client.decrypt("uid", key) == b"plain"


async def test_absent_plugin_is_an_error_with_gos_code(tmp_path):
    client = GrpcKMSService(f"unix://{tmp_path}/none.sock", clock=RealClock(), timeout_seconds=HANG_SECONDS)
    with pytest.raises(KMSUnavailableError, match="rpc error: code = Unavailable desc = "):
        await client.status()
    await client.close()


async def test_requests_are_measured_by_method_and_status(tmp_path):
    metrics = EncryptionMetrics(RealClock())
    options = {"clock": RealClock(), "timeout_seconds": HANG_SECONDS, "name": "vault", "metrics": metrics}
    server = await serve(Plugin(), f"{tmp_path}/kms.sock")
    for name in ("kms", "none"):
        client = GrpcKMSService(f"unix://{tmp_path}/{name}.sock", **options)
        with contextlib.suppress(KMSUnavailableError):
            await client.status()
        await client.close()
    await server.stop(None)
    path = "/v2.KeyManagementService/Status"
    assert {labels: durations.count for labels, durations in metrics.operations.items()} == {
        ("vault", path, "OK"): 1,
        ("vault", path, "Unavailable"): 1,
    }


def test_endpoint_may_be_in_the_abstract_namespace():
    assert socket_path("unix:///run/kms.sock") == "/run/kms.sock"
    assert socket_path("unix:///@kms") == "\0kms"


def test_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "hpack", None)
    with pytest.raises(
        MissingPackagesError, match=r"kms needs hpack, which is not installed: pip install 'steersman.*\[encryption\]'"
    ):
        GrpcKMSService("unix:///x", clock=RealClock(), timeout_seconds=1.0)
