"""What a stage's templates make of an object: the patches that it turns into."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.timestamps import format_time
from steersman.apimachinery.yaml_codec import decode_yaml
from steersman.nodes.gotemplate import Template, TemplateRenderError, parse
from steersman.nodes.node_object import HEALTHY_CONDITIONS
from steersman.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from steersman.nodes.stages import Surroundings

    Tree = dict[str, Any]

#: What templates may ask of the place that the object is in.
NAMES: Final = frozenset(
    {
        "Now", "now", "StartTime", "Version", "NodeConditions", "NodeName", "NodeIP", "NodePort", "NodeIPWith",
        "PodIP", "PodIPWith",
    }
)  # fmt: skip
_NODE_CONDITIONS: Final = [
    dict(zip(("type", "status", "reason", "message"), each, strict=True))
    for each in (
        *HEALTHY_CONDITIONS,
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

    return {
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
        "PodIPWith": lambda _name, on_host=False, *_of_pod: around.host_ip if on_host else around.pod_ip,
    }


def rendered(template: Template, obj: Tree, around: Surroundings) -> Any:
    """The tree that the template writes as YAML. Raises TemplateRenderError."""
    text = template.render(obj, _functions(around))
    try:
        return decode_yaml(text.encode()).tree
    except DecodeError as error:
        raise TemplateRenderError(f"{error}: {text}") from None
