"""``PodSecurityConfiguration``: defaults and exemptions. Loaded when the plugin has a configuration.

Upstream: staging/src/k8s.io/pod-security-admission/admission/api/{types.go,load/load.go,validation/validation.go}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery import field
from steersman.apimachinery.config_file import convert_config
from steersman.apimachinery.field import FieldError, Path
from steersman.apimachinery.names import check_dns1123_label, check_dns1123_subdomain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_GROUP: Final = "pod-security.admission.config.k8s.io"
_API_VERSIONS: Final = tuple(f"{_GROUP}/{version}" for version in ("v1", "v1beta1", "v1alpha1"))


_MODES: Final = ("enforce", "audit", "warn")
# Defined at run time, because compiled classes do not know the types of items and other names of fields.
_Defaults: Final = msgspec.defstruct(
    "Defaults", [(f"{mode}{suffix}", str, "") for mode in _MODES for suffix in ("", "_version")], rename="kebab"
)
_Exemptions: Final = msgspec.defstruct(
    "Exemptions",
    [(name, tuple[str, ...], ()) for name in ("usernames", "namespaces", "runtime_classes")],
    rename="camel",
)
_Configuration: Final = msgspec.defstruct(
    "Configuration", [("defaults", _Defaults | None, None), ("exemptions", _Exemptions | None, None)]
)


def read_pod_security_configuration(tree: Any) -> tuple[dict[str, str], dict[str, Sequence[str]]]:
    """Return defaults and exemptions of a document by field. Raises ValueError."""
    configuration = msgspec.to_builtins(
        convert_config(tree, _Configuration, kind="PodSecurityConfiguration", api_versions=_API_VERSIONS)
    )
    exempt: dict[str, Sequence[str]] = configuration["exemptions"] or {}
    errors = [
        *_name_errors(exempt, "namespaces", check_dns1123_label),
        *_name_errors(exempt, "runtimeClasses", check_dns1123_subdomain),
        *_name_errors(exempt, "usernames", None),
    ]
    if errors:
        raise ValueError(str(field.aggregate(errors)))
    return configuration["defaults"] or {}, exempt


def _name_errors(
    exempt: Mapping[str, Sequence[str]], dimension: str, check: Callable[[str], Sequence[str]] | None
) -> Iterator[FieldError]:
    names, path = exempt.get(dimension, ()), Path("exemptions", dimension)
    for position, name in enumerate(names):
        if check is None and not name:
            yield field.required(path.index(position), "")
        elif check is not None and (faults := check(name)):
            yield field.invalid(path.index(position), name, ", ".join(faults))
        elif name in names[:position]:
            yield field.duplicate(path.index(position), name)
