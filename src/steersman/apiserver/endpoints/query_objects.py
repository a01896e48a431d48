"""Options objects in a query: ``PodLogOptions``, ``PodExecOptions`` and others.

Their types are not in the published schema, so their fields are listed here. Unknown parameters are ignored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.errors import bad_request
from steersman.apiserver.endpoints.options import integer
from steersman.schema.gotime import normalize_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from steersman.apimachinery.trees import Tree

    #: Decodes the values of a parameter; None if they are unset.
    Read = Callable[[Sequence[str]], Any]


def _text(values: Sequence[str]) -> str | None:
    return values[0] or None


def _flag(values: Sequence[str]) -> bool:
    return values[0].lower() not in ("false", "0")


def _number(values: Sequence[str]) -> int:
    return integer(values[0])


def _ports(values: Sequence[str]) -> list[int]:
    return [integer(value, bits=32) for value in values]


def _time(values: Sequence[str]) -> str | None:
    if values[0] in ("", "null"):
        return None
    try:
        return normalize_seconds(values[0])
    except ValueError as error:
        raise bad_request(str(error)) from None


_STREAMS: Final[Mapping[str, Read]] = {
    "stdin": _flag,
    "stdout": _flag,
    "stderr": _flag,
    "tty": _flag,
    "container": _text,
}
_KINDS: Final[Mapping[str, Mapping[str, Read]]] = {
    "PodLogOptions": {
        "container": _text,
        "follow": _flag,
        "previous": _flag,
        "sinceSeconds": _number,
        "sinceTime": _time,
        "timestamps": _flag,
        "tailLines": _number,
        "limitBytes": _number,
        "insecureSkipTLSVerifyBackend": _flag,
        "stream": _text,
    },
    "PodAttachOptions": _STREAMS,
    "PodExecOptions": {**_STREAMS, "command": list},
    "PodPortForwardOptions": {"ports": _ports},
    "PodProxyOptions": {"path": _text},
    "ServiceProxyOptions": {"path": _text},
    "NodeProxyOptions": {"path": _text},
}


def read_query_object(kind: str, query: Mapping[str, Sequence[str]]) -> Tree:
    """Return the options as admission sees them. Raises 400 for invalid numbers and times."""
    tree: Tree = {"kind": kind, "apiVersion": "v1"}
    for name, read in _KINDS[kind].items():
        values = query.get(name)
        value = read(values) if values else None
        if value is not None and value is not False:
            tree[name] = value
    return tree
