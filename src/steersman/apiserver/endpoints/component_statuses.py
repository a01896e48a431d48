"""``componentstatuses``: whether the other parts of a control plane answer on this machine. Deprecated, and never stored.

Upstream asks the controller manager and the scheduler at their usual ports of the loopback address, whenever it is asked.
"""

from __future__ import annotations

import asyncio
import ssl
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.codec import encode
from steersman.apimachinery.errors import method_not_supported, not_found
from steersman.apiserver.endpoints.list_options import read_list_options
from steersman.apiserver.endpoints.negotiation import negotiate
from steersman.apiserver.endpoints.representation import render_list, render_object
from steersman.apiserver.registry.entry import Entry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from steersman.apiserver.http import Request, Response
    from steersman.apiserver.registry.served import ServedResource

    Tree = dict[str, Any]
    #: Asks the part at a loopback port; whether it is healthy, and what it or the way to it says.
    Probe = Callable[[int], Awaitable[tuple[bool, str]]]

#: Part → its usual port.
COMPONENTS: Final[Mapping[str, int]] = {"controller-manager": 10257, "scheduler": 10259}
_HOST: Final = "127.0.0.1"
_PROBE_SECONDS: Final = 5.0
_ANSWER_BYTES_MAX: Final = 10 * 1024
_REQUEST: Final = b"GET /healthz HTTP/1.1\r\nHost: %b:%d\r\nConnection: close\r\n\r\n"


def component_endpoints(
    served: ServedResource, probe: Probe | None = None
) -> Mapping[str, Callable[[Request], Awaitable[Response]]]:
    """They can be listed and read; a list that asks to be watched is refused in words of its own."""
    probe = probe or probe_loopback
    return {
        "get": partial(get_component, served, probe),
        "list": partial(list_components, served, probe),
        "watch": partial(refuse_watch, served),
    }


async def list_components(served: ServedResource, probe: Probe, request: Request) -> Response:
    """All parts that selectors let through. Raises 400, 406, 422."""
    form = negotiate(request)
    options = read_list_options(served, request)
    entries = await asyncio.gather(*(_entry(served, probe, name) for name in COMPONENTS))
    return await render_list(served, request, options.selection.of(entries), form=form, metadata={})


async def refuse_watch(served: ServedResource, request: Request) -> Response:
    """405."""
    del request
    raise method_not_supported(served.resource.group_resource, "watch")


async def get_component(served: ServedResource, probe: Probe, request: Request) -> Response:
    """One part. Raises 404, 406."""
    form = negotiate(request)
    name = request.info.name
    if name not in COMPONENTS:
        raise not_found("componentstatus", name)
    return await render_object(served, request, await _entry(served, probe, name), form=form)


async def _entry(served: ServedResource, probe: Probe, name: str) -> Entry:
    is_healthy, message = await probe(COMPONENTS[name])
    condition: Tree = {"type": "Healthy", "status": "True" if is_healthy else "False"}
    if message:
        condition["message"] = message
    raw = encode({"metadata": {"name": name}, "conditions": [condition]})
    return Entry(served.cache.key("", name), raw, 0)


async def probe_loopback(port: int) -> tuple[bool, str]:
    """Ask ``/healthz`` by HTTPS, whoever's certificate it is."""
    url = f'Get "https://{_HOST}:{port}/healthz"'
    try:
        async with asyncio.timeout(_PROBE_SECONDS):
            return _verdict(await _ask(port))
    except ConnectionRefusedError:
        return False, f"{url}: dial tcp {_HOST}:{port}: connect: connection refused"
    except TimeoutError:
        return False, f"{url}: context deadline exceeded"
    except (OSError, ssl.SSLError, ValueError) as error:
        return False, f"{url}: {error}"


async def _ask(port: int) -> bytes:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    reader, writer = await asyncio.open_connection(_HOST, port, ssl=context)
    try:
        writer.write(_REQUEST % (_HOST.encode(), port))
        await writer.drain()
        return await reader.read(_ANSWER_BYTES_MAX)
    finally:
        writer.transport.abort()  # an orderly end of TLS would wait for the other side's part of it


def _verdict(answer: bytes) -> tuple[bool, str]:
    """Of a raw HTTP answer. Raises ValueError."""
    head, _, body = answer.partition(b"\r\n\r\n")
    code = int(head.split(maxsplit=2)[1]) if len(head.split(maxsplit=2)) > 1 else 0
    if 200 <= code < 400:
        return True, body.decode("utf-8", "replace")
    return False, f"HTTP probe failed with statuscode: {code}"
