"""Writer of YAML on PyYAML's emitter (libyaml)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from steersman.apimachinery.gotext import float_text
from steersman.apimachinery.yaml_scalars import TAG, needs_quotes

if TYPE_CHECKING:
    import re


class _Dumper(yaml.CSafeDumper):
    """Writes as Kubernetes does: keys sorted, lists not indented, no folding, texts in quotes where they need it."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}

    def ignore_aliases(self, data: Any) -> bool:
        del data
        return True


def _represent_text(dumper: yaml.CSafeDumper, text: str) -> yaml.ScalarNode:
    style: str | None = None
    if "\n" in text:
        style = "|"
    elif needs_quotes(text):
        style = '"'
    return dumper.represent_scalar(f"{TAG}str", text, style=style)


def _represent_float(dumper: yaml.CSafeDumper, value: float) -> yaml.ScalarNode:
    return dumper.represent_scalar(f"{TAG}str", float_text(value))


def _represent_plain(dumper: yaml.CSafeDumper, value: Any) -> yaml.ScalarNode:
    text = "null" if value is None else str(value).lower()
    return dumper.represent_scalar(f"{TAG}str", text)


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(float, _represent_float)
for _kind_of_scalar in (bool, int, type(None)):
    _Dumper.add_representer(_kind_of_scalar, _represent_plain)


def write_yaml(tree: Any) -> bytes:
    """Return a tree as YAML."""
    return yaml.dump(
        tree,
        Dumper=_Dumper,
        default_flow_style=False,
        sort_keys=True,
        allow_unicode=True,
        width=2**31 - 1,
        encoding="utf-8",
    )
