"""``pods/log``, ``exec``, ``attach`` and ``portforward``: validation of the request, then a connection to the kubelet."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from steersman.apimachinery import field
from steersman.apimachinery.errors import bad_request, invalid, not_found
from steersman.apiserver.endpoints.negotiation import negotiate
from steersman.apiserver.endpoints.query_objects import read_query_object
from steersman.apiserver.http import Response
from steersman.apiserver.proxying.forwarding import read_from_kubelet, upgrade_at_kubelet
from steersman.apiserver.proxying.kubelet import node_location
from steersman.apiserver.websocket import bytes_over_websocket, is_websocket

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.endpoints.connecting import Connecter
    from steersman.apiserver.generic.served import ServedResource
    from steersman.apiserver.http import Request
    from steersman.apiserver.proxying.connections import Connections

    Endpoint = Callable[[Request], Awaitable[Response]]

_NOT_NEGATIVE: Final = "must be greater than or equal to 0"
_POSITIVE: Final = "must be greater than 0"


def log_endpoints(pods: ServedResource, nodes: ServedResource, connections: Connections) -> Mapping[str, Endpoint]:
    """Return the endpoint by verb: get."""
    return {"get": partial(read_log, pods, nodes, connections)}


def stream_endpoints(connecting: Connecter, nodes: ServedResource, connections: Connections) -> Mapping[str, Endpoint]:
    """Return the endpoints of a stream, which GET and POST open."""
    endpoint = partial(open_stream, connecting, nodes, connections)
    return {"get": endpoint, "create": endpoint}


async def read_log(pods: ServedResource, nodes: ServedResource, connections: Connections, request: Request) -> Response:
    """Return the log; 204 for an unscheduled pod. Raises 400, 404, 406, 422, 500 for an unreachable node, and the kubelet's errors."""
    negotiate(request)
    name = request.info.name
    options = read_query_object("PodLogOptions", request.query)
    errors = list(validate_log_options(options))
    if errors:
        raise invalid("PodLogOptions", name, errors)
    pod = await find_pod(pods, request.info.namespace, name)
    container = container_of(pod, options.get("container") or "")
    node = (pod.get("spec") or {}).get("nodeName")
    if not node:
        return Response(204, content_type=b"")
    await nodes.cache.wait_fresh()
    path = f"/containerLogs/{request.info.namespace}/{name}/{container}{_query(log_query(options))}"
    location = node_location(nodes, node, path, address_types=connections.address_types)
    response = await read_from_kubelet(connections, location, group_resource="pods", name=name)
    if response.stream is None or not is_websocket(request):
        return response
    return bytes_over_websocket(request, response.stream)


async def open_stream(
    connecting: Connecter, nodes: ServedResource, connections: Connections, request: Request
) -> Response:
    """Open a stream to the kubelet. Raises 400, 404, and 500 if the node cannot be reached."""
    info = request.info
    options = await connecting.admit(request)
    pod = await find_pod(connecting.served, info.namespace, info.name)
    path = f"/{info.subresource}/{info.namespace}/{info.name}"
    if info.subresource == "portforward":
        path = f"/portForward/{info.namespace}/{info.name}{_query(port_query(options))}"
    else:
        container = container_of(pod, options.get("container") or "")
        path = f"{path}/{container}{_query(stream_query(options, request.query))}"
    node = (pod.get("spec") or {}).get("nodeName")
    if not node:
        raise bad_request(f"pod {info.name} does not have a host assigned")
    await nodes.cache.wait_fresh()
    location = node_location(nodes, node, path, address_types=connections.address_types)
    return await upgrade_at_kubelet(connections, location, request)


def log_query(options: Tree) -> list[tuple[str, str]]:
    """Return the query of a kubelet request for logs."""
    parameters = [(name, "true") for name in ("follow", "previous", "timestamps") if options.get(name)]
    limits = ("sinceSeconds", "sinceTime", "tailLines", "limitBytes", "stream")
    parameters += [(name, str(options[name])) for name in limits if options.get(name) is not None]
    return sorted(parameters)


def stream_query(options: Tree, query: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Return the query of a kubelet request for a command and its streams. Output is on unless it is switched off."""
    streams = {"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"}
    requested = [
        name for name in streams if options.get(name) or (name in ("stdout", "stderr") and not query.get(name))
    ]
    return [(streams[name], "1") for name in requested] + [("command", word) for word in options.get("command") or ()]


def port_query(options: Tree) -> list[tuple[str, str]]:
    """Return the query of a port-forward: WebSocket clients name ports in it, SPDY clients per stream."""
    ports = options.get("ports") or ()
    return [("port", ",".join(map(str, ports)))] if ports else []


def _query(pairs: list[tuple[str, str]]) -> str:
    return f"?{urlencode(pairs)}" if pairs else ""


async def find_pod(pods: ServedResource, namespace: str, name: str) -> Tree:
    """Return the pod of the path. Raises 400, 404."""
    await pods.cache.wait_fresh()
    entry = pods.cache.get(pods.cache.requested_key(namespace, name))
    if entry is None:
        raise not_found("pods", name)
    return entry.tree()


def container_of(pod: Tree, requested: str) -> str:
    """Return the container of the request. Raises 400 if it is not named and there are several, or it does not exist."""
    name, spec = pod["metadata"]["name"], pod.get("spec") or {}
    kinds = ("initContainers", "containers", "ephemeralContainers")
    container_names = [container["name"] for kind in kinds for container in spec.get(kind) or []]
    if requested:
        if requested not in container_names:
            raise bad_request(f"container {requested} is not valid for pod {name}")
        return requested
    containers = spec.get("containers") or []
    if len(containers) == 1:
        return str(containers[0]["name"])
    choice = f", choose one of: [{' '.join(container_names)}]" if containers else ""
    raise bad_request(f"a container name must be specified for pod {name}{choice}")


def validate_log_options(options: Tree) -> Iterator[FieldError]:
    """Yield the errors of the limits of a log request."""
    lines, size, seconds = (options.get(name) for name in ("tailLines", "limitBytes", "sinceSeconds"))
    if lines is not None and lines < 0:
        yield field.invalid("tailLines", lines, _NOT_NEGATIVE)
    if size is not None and size < 1:
        yield field.invalid("limitBytes", size, _POSITIVE)
    if seconds is not None and options.get("sinceTime"):
        yield field.forbidden("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified")
    elif seconds is not None and seconds < 1:
        yield field.invalid("sinceSeconds", seconds, _POSITIVE)
    if options.get("stream"):
        yield field.forbidden("stream", "may not be specified")
