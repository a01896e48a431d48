"""What the rules for a pod spec depend on besides the spec: whose it is, and what its older self got away with."""

from __future__ import annotations

import msgspec


class PodRules(msgspec.Struct, frozen=True):
    """For a pod template as it is; for pods, and for changes of old objects, with some fields set."""

    #: The spec is a Pod's own, not a template's.
    is_pod: bool = False
    #: Name of the pod, where it is known: claims of ephemeral volumes are named after it.
    pod_name: str = ""
    #: Selectors may hold values that no label can have, as the old object's do.
    allow_invalid_selector_values: bool = False
    #: So may the required node affinity.
    allow_invalid_node_affinity_values: bool = False
    #: So may the selectors of spread constraints.
    allow_invalid_spread_selectors: bool = False
    #: Paths of projected tokens may lead anywhere.
    allow_any_token_path: bool = False
    #: Huge pages may come in fractions of a page.
    allow_partial_huge_pages: bool = False
    #: ``--allow-privileged``.
    allow_privileged: bool = True

    def besides_name(self) -> tuple[bool, ...]:
        """All of it but the pod's name."""
        return (
            self.is_pod,
            self.allow_invalid_selector_values,
            self.allow_invalid_node_affinity_values,
            self.allow_invalid_spread_selectors,
            self.allow_any_token_path,
            self.allow_partial_huge_pages,
            self.allow_privileged,
        )


#: For templates, which no rule is bent for.
TEMPLATE_RULES = PodRules()
