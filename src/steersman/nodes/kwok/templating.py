"""Rendering of stage templates: patches, and objects to apply."""

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

    from steersman.apimachinery.trees import Tree
    from steersman.nodes.stages import StageContext


#: Maximum length of a random text.
_RANDOM_TEXT_MAX: Final = 10_000
#: Functions of templates that return values of the stage context.
NAMES: Final = frozenset(
    {
        "Now", "now", "StartTime", "Version", "NodeConditions", "NodeName", "NodeIP", "NodePort", "NodeIPWith",
        "NodeIPsWith", "PodIP", "PodIPWith", "PodIPsWith", "randInt", "randAlpha", "randAlphaNum", "randNumeric",
        "uuidv4",
    }
)  # fmt: skip
#: Conditions in KWOK's order.
_NODE_CONDITIONS: Final = [
    dict(zip(("type", "status", "reason", "message"), condition, strict=True))
    for condition in (
        *sorted(HEALTHY_CONDITIONS, key=lambda condition: condition[0] != "Ready"),
        ("NetworkUnavailable", "False", "RouteCreated", "RouteController created a route"),
    )
]


@lru_cache(maxsize=1024)
def read(text: str) -> Template:
    """Parse a template. Raises TemplateSyntaxError."""
    return parse(text.strip(), NAMES)


def _functions(stage_context: StageContext) -> Mapping[str, Callable[..., Any]]:
    def now() -> str:
        return format_time(stage_context.now)

    def pod_ip(_name: str, on_host: bool = False, *_of_pod: str) -> str:  # noqa: FBT001, FBT002 — called by templates
        return stage_context.host_ip if on_host else stage_context.pod_ip

    return {
        **_random_functions(stage_context),
        "Now": now,
        "now": now,
        "StartTime": lambda: format_time(stage_context.started or stage_context.now),
        "Version": lambda: __version__,
        "NodeConditions": lambda: _NODE_CONDITIONS,
        "NodeName": lambda: stage_context.node_name,
        "NodeIP": lambda: stage_context.host_ip,
        "NodePort": lambda: stage_context.node_port,
        "NodeIPWith": lambda _name: stage_context.host_ip,
        "PodIP": lambda: stage_context.pod_ip,
        "NodeIPsWith": lambda _name: [stage_context.host_ip] if stage_context.host_ip else [],
        "PodIPWith": pod_ip,
        "PodIPsWith": lambda *of_pod: [ip] if (ip := pod_ip(*of_pod)) else [],
    }


def _random_functions(stage_context: StageContext) -> Mapping[str, Callable[..., Any]]:
    """Return sprig's random functions, drawn from the injected source."""

    def dice() -> Random:
        if stage_context.dice is None:
            raise TemplateRenderError("there is no source of random numbers")
        return stage_context.dice

    def text(letters: str) -> Callable[[int], str]:
        return lambda length: "".join(dice().choices(letters, k=min(length, _RANDOM_TEXT_MAX)))

    return {
        "randInt": lambda least, most: dice().randrange(least, most),
        "randAlpha": text(string.ascii_letters),
        "randAlphaNum": text(string.ascii_letters + string.digits),
        "randNumeric": text(string.digits),
        "uuidv4": lambda: str(UUID(int=dice().getrandbits(128), version=4)),
    }


def render_tree(template: Template, obj: Tree, stage_context: StageContext) -> Any:
    """Render the template and decode its YAML. Raises TemplateRenderError."""
    text = template.render(obj, _functions(stage_context))
    try:
        return decode_yaml(text.encode()).tree
    except DecodeError as error:
        raise TemplateRenderError(f"{error}: {text}") from None
