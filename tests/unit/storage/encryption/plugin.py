"""A KMS plugin for tests: as an object, and as a gRPC server on a unix socket."""

from __future__ import annotations

import asyncio

from steersman.apimachinery.protowire import length_delimited, string, wire_fields
from steersman.storage.encryption.kms import EncryptedKey, KMSUnavailableError, Status


class Plugin:
    """Encrypts data keys by reversing them, under a key ID."""

    def __init__(self) -> None:
        self.key_id = "1"
        self.healthz = "ok"
        self.version = "v2"
        self.is_down = False
        self.calls: list[str] = []
        #: Set by the first data key that is encrypted.
        self.encrypted = asyncio.Event()

    def _record(self, call: str) -> None:
        self.calls.append(call)
        if self.is_down:
            raise KMSUnavailableError("rpc error: code = Unavailable desc = down", status="Unavailable")

    async def status(self) -> Status:
        self._record("status")
        return Status(self.version, self.healthz, self.key_id)

    async def encrypt(self, uid: str, plaintext: bytes) -> EncryptedKey:
        self._record("encrypt")
        self.encrypted.set()
        return EncryptedKey(plaintext[::-1], self.key_id, (("a.example.com", b"\x00note"),))

    async def decrypt(self, uid: str, key: EncryptedKey) -> bytes:
        self._record("decrypt")
        assert key.annotations == (("a.example.com", b"\x00note"),)
        return key.ciphertext[::-1]

    async def close(self) -> None:
        self.calls.append("close")


async def serve(plugin: Plugin, path: str):
    """Return a started gRPC server of the plugin on a unix socket."""
    import grpc

    async def status(request, context):
        answer = await plugin.status()
        return string(1, answer.version) + string(2, answer.healthz) + string(3, answer.key_id)

    async def encrypt(request, context):
        fields = dict(wire_fields(request))
        key = await plugin.encrypt(fields[2].decode(), fields[1])
        notes = [length_delimited(3, string(1, name) + length_delimited(2, value)) for name, value in key.annotations]
        return length_delimited(1, key.ciphertext) + string(2, key.key_id) + b"".join(notes)

    async def decrypt(request, context):
        fields = list(wire_fields(request))
        (note,) = [dict(wire_fields(value)) for number, value in fields if number == 4]
        named = dict(fields)
        key = EncryptedKey(named[1], named[3].decode(), ((note[1].decode(), note[2]),))
        return length_delimited(1, await plugin.decrypt(named[2].decode(), key))

    handlers = {"Status": status, "Encrypt": encrypt, "Decrypt": decrypt}
    server = grpc.aio.server()
    methods = {name: grpc.unary_unary_rpc_method_handler(handler) for name, handler in handlers.items()}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("v2.KeyManagementService", methods),))
    server.add_insecure_port(f"unix:{path}")
    await server.start()
    return server
