"""Pages about a component: ``/statusz`` and ``/flagz``, as text or as objects of ``config.k8s.io``.

Without ``Accept`` they are text. Objects must be asked for by name: ``application/json;g=config.k8s.io;v=v1beta1;as=Statusz``.
Upstream: ``k8s.io/apiserver/pkg/server`` (``statusz``, ``flagz``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.apimachinery.codec import encode
from steersman.apimachinery.errors import not_acceptable
from steersman.apimachinery.timestamps import format_time
from steersman.apimachinery.yaml_codec import encode_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from steersman.apimachinery.trees import Tree

GROUP: Final = "config.k8s.io"
VERSIONS: Final = ("v1alpha1", "v1beta1")
#: Feature gates of the pages.
STATUSZ_GATE: Final = "ComponentStatusz"
FLAGZ_GATE: Final = "ComponentFlagz"
TEXT: Final = "text/plain; charset=utf-8"
JSON: Final = "application/json"
YAML: Final = "application/yaml"

_ACCEPTED: Final = (JSON, YAML, "application/vnd.kubernetes.protobuf", "text/plain")
_WARNING: Final = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is"
    " for debugging purposes only.\n"
)
#: First segments of paths that do not help with debugging.
_UNLISTED: Final = frozenset({"", "apis", "api", "openid", "openapi", ".well-known"})


class Build(NamedTuple):
    """Versions of a component."""

    #: Of the language's implementation, where upstream has Go's.
    runtime: str
    binary: str
    emulation: str


class Format(NamedTuple):
    """Negotiated form of a page."""

    content_type: str
    #: API version of the object; empty for text.
    version: str = ""


class PageContent(NamedTuple):
    """A page as text and as an object without type."""

    kind: str
    text: str
    fields: Tree

    def encode(self, form: Format) -> bytes:
        """Return the page in a negotiated form."""
        if not form.version:
            return self.text.encode()
        tree = {"kind": self.kind, "apiVersion": f"{GROUP}/{form.version}", **self.fields}
        return encode(tree) + b"\n" if form.content_type == JSON else encode_yaml(tree)


def negotiate_page(accept: str, kind: str) -> Format:
    """Return the form that the client prefers. Raises a 406 ``StatusError``."""
    if not accept.strip():
        return Format(TEXT)
    for media_type, parameters in sorted(_clauses(accept), key=lambda clause: -_quality(clause[1])):
        for offered in _ACCEPTED:
            if _matches(media_type, offered) and (form := _form(offered, parameters, kind)) is not None:
                return form
    raise not_acceptable(_ACCEPTED)


def _form(offered: str, parameters: Mapping[str, str], kind: str) -> Format | None:
    is_conversion = any(name in parameters for name in ("as", "g", "v"))
    if offered == "text/plain":
        return None if is_conversion else Format(TEXT)
    requested_form = (parameters.get("as"), parameters.get("g"), parameters.get("v"))
    is_known = requested_form[:2] == (kind, GROUP) and requested_form[2] in VERSIONS
    return Format(offered, str(requested_form[2])) if offered in (JSON, YAML) and is_known else None


def _clauses(accept: str) -> Iterable[tuple[str, dict[str, str]]]:
    for clause in accept.split(","):
        media_type, *parameters = (part.strip() for part in clause.split(";"))
        pairs = (parameter.partition("=") for parameter in parameters)
        yield media_type.lower(), {name.strip(): value.strip().strip('"') for name, _, value in pairs}


def _quality(parameters: Mapping[str, str]) -> float:
    try:
        return float(parameters.get("q", "1"))
    except ValueError:
        return 1.0


def _matches(media_type: str, offered: str) -> bool:
    return media_type in (offered, "*/*", f"{offered.partition('/')[0]}/*")


def statusz(component: str, paths: Iterable[str], build: Build, *, started: datetime, now: datetime) -> PageContent:
    """Return the content of ``/statusz``; of ``paths`` the first segments are listed."""
    seconds = max(0, int((now - started).total_seconds()))
    listed = sorted({f"/{path.split('/')[1]}" for path in paths if path.split("/")[1] not in _UNLISTED})
    lines = {
        "Started": f"{started:%a %b %e %H:%M:%S UTC %Y}",
        "Up": f"{seconds // 3600} hr {seconds // 60 % 60:02} min {seconds % 60:02} sec",
        "Python version": build.runtime,
        "Binary version": build.binary,
        "Emulation version": build.emulation,
        "Paths": " ".join(listed),
    }
    text = f"\n{component} statusz\n{_WARNING}\n" + "".join(f"{name}: {value}\n" for name, value in lines.items())
    fields = {
        "metadata": {"name": component},
        "startTime": format_time(started),
        "uptimeSeconds": seconds,
        "goVersion": build.runtime,
        "binaryVersion": build.binary,
        "emulationVersion": build.emulation,
        "paths": listed,
    }
    return PageContent("Statusz", text, fields)


def flagz(component: str, flags: Mapping[str, str]) -> PageContent:
    """Return the content of ``/flagz``."""
    ordered: dict[str, Any] = dict(sorted(flags.items()))
    lines = "".join(f"{name}={value}\n" for name, value in ordered.items())
    text = f"\n{component} flagz\n{_WARNING}\n{lines}"
    return PageContent("Flagz", text, {"metadata": {"name": component}, "flags": ordered})
