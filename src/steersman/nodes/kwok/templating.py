"""Rendering of stage templates: patches of objects, and objects to apply."""

from __future__ import annotations

import string
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.timestamps import format_time
from steersman.apimachinery.yaml_codec import decode_yaml
from steersman.nodes.gotemplate import Template, TemplateRenderError, parse
from steersman.nodes.node_object import HEALTHY_CONDITIONS
from steersman.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from steersman.nodes.stages import Surroundings

    Tree = dict[str, Any]

#: The longest random text.
_RANDOM_TEXT_MAX: Final = 10_000
#: What templates may ask of the place that the object is in.
NAMES: Final = frozenset(
    {
        "Now", "now", "StartTime", "Version", "NodeConditions", "NodeName", "NodeIP", "NodePort", "NodeIPWith",
        "NodeIPsWith", "PodIP", "PodIPWith", "PodIPsWith", "randInt", "randAlpha", "randAlphaNum", "randNumeric",
        "uuidv4",
    }
)  # fmt: skip
#: In KWOK's order: Ready is the first.
_NODE_CONDITIONS: Final = [
    dict(zip(("type", "status", "reason", "message"), each, strict=True))
    for each in (
        *sorted(HEALTHY_CONDITIONS, key=lambda condition: condition[0] != "Ready"),
        ("NetworkUnavailable", "False", "RouteCreated", "RouteController created a route"),
    )
]


@lru_cache(maxsize=1024)
def read(text: str) -> Template:
    """Raises TemplateSyntaxError."""
    return parse(text.strip(), NAMES)


def _functions(around: Surroundings) -> Mapping[str, Callable[..., Any]]:
    def now() -> str:
        return format_time(around.now)

    def pod_ip(_name: str, on_host: bool = False, *_of_pod: str) -> str:  # noqa: FBT001, FBT002 — called by templates
        return around.host_ip if on_host else around.pod_ip

    return {
        **_random_functions(around),
        "Now": now,
        "now": now,
        "StartTime": lambda: format_time(around.started or around.now),
        "Version": lambda: __version__,
        "NodeConditions": lambda: _NODE_CONDITIONS,
        "NodeName": lambda: around.node_name,
        "NodeIP": lambda: around.host_ip,
        "NodePort": lambda: around.node_port,
        "NodeIPWith": lambda _name: around.host_ip,
        "PodIP": lambda: around.pod_ip,
        "NodeIPsWith": lambda _name: [around.host_ip] if around.host_ip else [],
        "PodIPWith": pod_ip,
        "PodIPsWith": lambda *of_pod: [ip] if (ip := pod_ip(*of_pod)) else [],
    }


def _random_functions(around: Surroundings) -> Mapping[str, Callable[..., Any]]:
    """Random functions of sprig, drawn from the injected source."""

    def dice() -> Random:
        if around.dice is None:
            raise TemplateRenderError("there is no source of random numbers")
        return around.dice

    def text(letters: str) -> Callable[[int], str]:
        return lambda length: "".join(dice().choices(letters, k=min(length, _RANDOM_TEXT_MAX)))

    return {
        "randInt": lambda least, most: dice().randrange(least, most),
        "randAlpha": text(string.ascii_letters),
        "randAlphaNum": text(string.ascii_letters + string.digits),
        "randNumeric": text(string.digits),
        "uuidv4": lambda: str(UUID(int=dice().getrandbits(128), version=4)),
    }


def rendered(template: Template, obj: Tree, around: Surroundings) -> Any:
    """The tree that the template writes as YAML. Raises TemplateRenderError."""
    text = template.render(obj, _functions(around))
    try:
        return decode_yaml(text.encode()).tree
    except DecodeError as error:
        raise TemplateRenderError(f"{error}: {text}") from None
