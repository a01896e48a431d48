"""Label and field selectors.

Promises, checked by the tests:

* parsing the text of a selector returns an equal selector;
* a parsed selector is compiled: matching does not parse;
* selectors are immutable and may be shared.
"""

from steersman.apimachinery.selectors.fields import FieldRequirement, FieldSelector, parse_field_selector
from steersman.apimachinery.selectors.labels import (
    EVERYTHING,
    NOTHING,
    LabelSelector,
    Operator,
    Requirement,
    SelectorError,
    from_label_selector,
    requirement,
    validate_label_requirement,
    validate_label_selector,
)
from steersman.apimachinery.selectors.syntax import parse_label_selector

__all__ = [
    "EVERYTHING",
    "NOTHING",
    "FieldRequirement",
    "FieldSelector",
    "LabelSelector",
    "Operator",
    "Requirement",
    "SelectorError",
    "from_label_selector",
    "parse_field_selector",
    "parse_label_selector",
    "requirement",
    "validate_label_requirement",
    "validate_label_selector",
]
