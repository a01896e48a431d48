"""An external signer of service account tokens for tests: a gRPC server on a Unix socket."""

from __future__ import annotations

import asyncio
import base64
import json

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from steersman.apimachinery.protowire import boolean, integer, length_delimited, string, wire_fields


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Key:
    def __init__(self, kid: str, *, is_excluded: bool = False) -> None:
        self.kid, self.is_excluded = kid, is_excluded
        self._private = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def sign(self, text: str) -> str:
        return encoded(self._private.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256()))

    def message(self) -> bytes:
        der = self._private.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return string(1, self.kid) + length_delimited(2, der) + boolean(3, self.is_excluded)


class Signer:
    """Signs with the first key. Its attributes can be set to make it fail."""

    def __init__(self, *keys: Key) -> None:
        self.keys = list(keys)
        self.life_seconds, self.refresh_seconds = 7200, 30
        self.header: dict[str, object] = {}
        self.signature: str | None = None
        self.failing: set[str] = set()
        self.calls: list[str] = []
        self.fetched = asyncio.Event()

    async def call(self, method: str, request: bytes) -> bytes:
        self.calls.append(method)
        if method == "Metadata":
            return integer(1, self.life_seconds)
        if method == "FetchKeys":
            self.fetched.set()
            keys = b"".join(length_delimited(1, key.message()) for key in self.keys)
            return keys + length_delimited(2, integer(1, 1700000000)) + integer(3, self.refresh_seconds)
        claims = dict(wire_fields(request))[1].decode()
        header = encoded(json.dumps({"alg": "RS256", "kid": self.keys[0].kid, "typ": "JWT", **self.header}).encode())
        signature = self.keys[0].sign(f"{header}.{claims}") if self.signature is None else self.signature
        return string(1, header) + string(2, signature)


async def serve(signer: Signer, path: str):
    """Return a started gRPC server of the signer."""
    import grpc

    def handler(method):
        async def answer(request, context):
            if method in signer.failing:
                await context.abort(grpc.StatusCode.UNAVAILABLE, "down")
            return await signer.call(method, request)

        return grpc.unary_unary_rpc_method_handler(answer)

    server = grpc.aio.server()
    methods = {method: handler(method) for method in ("Sign", "FetchKeys", "Metadata")}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("v1.ExternalJWTSigner", methods),))
    server.add_insecure_port(f"unix:{path}")
    await server.start()
    return server
