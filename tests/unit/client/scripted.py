"""Transport with scripted responses that records its requests."""

import asyncio
import json
from contextlib import asynccontextmanager

from steersman.client.transport import Response


def answer(tree=None, *, status=200, headers=None, body=None):
    return Response(status, headers or {}, json.dumps(tree).encode() if body is None else body)


def refusal(code, reason="", message="refused", *, headers=None, **details):
    tree = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
    }
    return answer({**tree, **({"details": details} if details else {})}, status=code, headers=headers)


def event(kind, tree):
    return json.dumps({"type": kind, "object": tree}, separators=(",", ":")).encode() + b"\n"


def bookmark(version, *, ends_initial=False):
    annotations = {"annotations": {"k8s.io/initial-events-end": "true"}} if ends_initial else {}
    return event("BOOKMARK", {"kind": "ConfigMap", "metadata": {"resourceVersion": version, **annotations}})


def config_map(name, version, *, uid="", labels=None, **data):
    metadata = {"name": name, "namespace": "default", "resourceVersion": str(version), "uid": uid or f"uid-{name}"}
    return {"metadata": {**metadata, **({"labels": labels} if labels else {})}, "data": data}


def listing(*items, version, continue_token=""):
    return answer({"items": list(items), "metadata": {"resourceVersion": str(version), "continue": continue_token}})


class Stream:
    """Stream of chunks; exceptions among them are raised. Stays open at its end unless ``ends``."""

    def __init__(self, *pieces, status=200, headers=None, ends=False):
        self.status = status
        self.headers = headers or {}
        self.pieces = list(pieces)
        self._ends = ends

    async def __aiter__(self):
        for piece in self.pieces:
            if isinstance(piece, Exception):
                raise piece
            yield piece
        if not self._ends:
            await asyncio.get_running_loop().create_future()


class ScriptedTransport:
    """Each request consumes the next step of the script: a response, a stream or an exception."""

    host = "scripted"

    def __init__(self, *script):
        self.script = list(script)
        self.requests = []
        self.closed = False

    def add(self, *script):
        self.script += script

    def _next(self, request):
        self.requests.append(request)
        if not self.script:
            raise AssertionError(f"nothing is scripted for {request.method} {request.target}")
        step = self.script.pop(0)
        if isinstance(step, Exception):
            raise step
        return step

    async def request(self, request):
        step = self._next(request)
        if step is None:
            await asyncio.get_running_loop().create_future()
        return step

    @asynccontextmanager
    async def open(self, request):
        step = self._next(request)
        yield (
            Stream(step.body, status=step.status, headers=step.headers, ends=True)
            if isinstance(step, Response)
            else step
        )

    async def close(self):
        self.closed = True

    @property
    def targets(self):
        return [f"{request.method} {request.target}" for request in self.requests]
