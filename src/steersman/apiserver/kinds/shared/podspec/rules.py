"""Options of Pod spec validation, which vary with the object and its old version.

Upstream: ``PodValidationOptions``.
"""

from __future__ import annotations

import msgspec


class PodRules(msgspec.Struct, frozen=True):
    """Options of Pod spec validation; the defaults apply to Pod templates."""

    #: The spec is a Pod's, not a template's.
    is_pod: bool = False
    #: Name of the Pod if known; claims of ephemeral volumes derive their names from it.
    pod_name: str = ""
    #: Label selectors may have invalid values, as in the old object.
    allow_invalid_selector_values: bool = False
    #: The required node affinity may have invalid values.
    allow_invalid_node_affinity_values: bool = False
    #: Selectors of spread constraints may have invalid values.
    allow_invalid_spread_selectors: bool = False
    #: Paths of projected tokens may be unsafe.
    allow_any_token_path: bool = False
    #: Huge pages may be fractions of a page.
    allow_partial_huge_pages: bool = False
    #: ``--allow-privileged``.
    allow_privileged: bool = True

    def besides_name(self) -> tuple[bool, ...]:
        """Return all options but the Pod's name."""
        return (
            self.is_pod,
            self.allow_invalid_selector_values,
            self.allow_invalid_node_affinity_values,
            self.allow_invalid_spread_selectors,
            self.allow_any_token_path,
            self.allow_partial_huge_pages,
            self.allow_privileged,
        )


#: Options for templates.
TEMPLATE_RULES = PodRules()
