"""Validation of webhook client configurations (URL or Service) and review versions, for admission and conversion
webhooks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from steersman.apimachinery import field, names
from steersman.apimachinery.go_urls import url_fault
from steersman.apiserver.kinds.shared.validation import repeat_positions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

#: Versions of AdmissionReview and ConversionReview that API servers send.
REVIEW_VERSIONS: Final = ("v1", "v1beta1")

_FORM: Final = "; desired format: https://host[/path]"


def validate_client(config: Tree, path: Path) -> Iterator[FieldError]:
    """Validate that exactly one of ``url`` and ``service`` is set, and its value."""
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        yield field.required(path, "exactly one of url or service is required")
    elif url is not None:
        yield from _validate_url(url, path.child("url"))
    elif service is not None:
        yield from _validate_service(service, path.child("service"))


def validate_review_versions(
    versions: Sequence[str], path: Path, *, must_be_known: bool = True, if_empty: str = ""
) -> Iterator[FieldError]:
    """Validate review versions, at least one of which the API server must support."""
    if not versions:
        yield field.required(path, if_empty)
        return
    repeats = repeat_positions(versions)
    for position, version in enumerate(versions):
        item_path = path.index(position)
        if position in repeats:
            yield field.invalid(item_path, version, "duplicate version")
            continue
        for fault in names.check_dns1035_label(version):
            yield field.invalid(item_path, version, fault)
    if must_be_known and not set(versions) & set(REVIEW_VERSIONS):
        yield field.invalid(path, versions, f"must include at least one of {', '.join(REVIEW_VERSIONS)}")


def _validate_url(url: str, path: Path) -> Iterator[FieldError]:
    try:
        fault = url_fault(url)
        parts = urlsplit("" if fault else url)
    except ValueError as error:  # an address in brackets that is none
        fault = str(error)
    if fault:
        yield field.required(path, f"url must be a valid URL: {fault}{_FORM}")
        return
    user, separator, _ = parts.netloc.rpartition("@")
    if parts.scheme != "https":
        yield field.invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    if not parts.netloc:
        yield field.invalid(path, "", f"host must be specified{_FORM}")
    if separator:
        yield field.invalid(path, user, "user information is not permitted in the URL")
    if parts.fragment:
        yield field.invalid(path, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        yield field.invalid(path, parts.query, "query parameters are not permitted in the URL")


def _validate_service(service: Tree, path: Path) -> Iterator[FieldError]:
    for name in ("name", "namespace"):
        if not service.get(name):
            yield field.required(path.child(name), f"service {name} is required")
    port = service.get("port") or 0
    faults = names.check_port_number(port)
    if faults:
        yield field.invalid(path.child("port"), port, f"port is not valid: {', '.join(faults)}")
    url_path = service.get("path")
    if not url_path or url_path == "/":
        return
    field_path = path.child("path")
    if not url_path.startswith("/"):
        yield field.invalid(field_path, url_path, "must start with a '/'")
    for position, step in enumerate(url_path[1:].removesuffix("/").split("/")):
        if not step:
            yield field.invalid(field_path, url_path, f"segment[{position}] may not be empty")
            continue
        for fault in names.check_dns1123_subdomain(step):
            yield field.invalid(field_path, url_path, f"segment[{position}]: {fault}")
