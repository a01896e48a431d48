"""An operator with an admission webhook server and a conversion webhook of its own, as kopf's users write them.

Its resource is stored in ``v1`` (``spec.size``) and handled in ``v2`` (``spec.width``, ``spec.height``). The directory in
``WEBHOOK_FILES`` has certificate, key and CA; the conversion webhook listens on the port ``CONVERSION_PORT``.
"""

import os
import ssl
from pathlib import Path
from typing import Any

import kopf
from aiohttp import web

FILES = Path(os.environ["WEBHOOK_FILES"])
SCREENS = ("example.com", "v2", "screens")


def converted(obj: dict[str, Any], api_version: str) -> dict[str, Any]:
    spec = dict(obj.get("spec") or {})
    if api_version.endswith("/v2") and "size" in spec:
        spec["width"], spec["height"] = map(int, spec.pop("size").split("x"))
    elif api_version.endswith("/v1") and "width" in spec:
        spec["size"] = f"{spec.pop('width')}x{spec.pop('height')}"
    return {**obj, "apiVersion": api_version, "spec": spec}


async def convert(request: web.Request) -> web.Response:
    review = await request.json()
    requested = review.pop("request")
    objects = [converted(item, requested["desiredAPIVersion"]) for item in requested["objects"]]
    response = {"uid": requested["uid"], "result": {"status": "Success"}, "convertedObjects": objects}
    return web.json_response({**review, "response": response})


@kopf.on.startup()
async def configure(settings: kopf.OperatorSettings, memo: kopf.Memo, **_: object) -> None:
    settings.posting.enabled = False
    settings.scanning.disabled = True
    files = {"certfile": FILES / "tls.crt", "pkeyfile": FILES / "tls.key", "cafile": FILES / "ca.crt"}
    settings.admission.server = kopf.WebhookServer(addr="127.0.0.1", host="127.0.0.1", **files)
    settings.admission.managed = "screens.example.com"
    app = web.Application()
    app.router.add_post("/convert", convert)
    memo.runner = web.AppRunner(app)
    await memo.runner.setup()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files["certfile"], files["pkeyfile"])
    await web.TCPSite(memo.runner, "127.0.0.1", int(os.environ["CONVERSION_PORT"]), ssl_context=context).start()


@kopf.on.cleanup()
async def stop(memo: kopf.Memo, **_: object) -> None:
    await memo.runner.cleanup()


@kopf.on.validate(*SCREENS)
def check_width(spec: kopf.Spec, **_: object) -> None:
    if spec["width"] > 1000:
        raise kopf.AdmissionError("too wide", code=422)


@kopf.on.mutate(*SCREENS)
def add_label(spec: kopf.Spec, patch: kopf.Patch, **_: object) -> None:
    patch.metadata.labels["shape"] = "wide" if spec["width"] > spec["height"] else "tall"


@kopf.on.create(*SCREENS)
@kopf.on.resume(*SCREENS)
@kopf.on.update(*SCREENS, field="spec")
def report_area(spec: kopf.Spec, patch: kopf.Patch, **_: object) -> None:
    patch.status["area"] = spec["width"] * spec["height"]
