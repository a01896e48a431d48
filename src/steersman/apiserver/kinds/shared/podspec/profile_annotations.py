"""Deprecated annotations for AppArmor and seccomp profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apiserver.kinds.shared.podspec.validate_security import check_app_armor
from steersman.apiserver.kinds.shared.podspec.validate_sources import check_descending_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
_PREFIXES: Final = (APP_ARMOR, SECCOMP_POD, SECCOMP_CONTAINER)
_LOCAL: Final = "localhost/"
#: Profile types and their annotation values.
_TEXTS: Final = {"RuntimeDefault": ("runtime/default",), "Unconfined": ("unconfined",)}
_SECCOMP_TEXTS: Final = {**_TEXTS, "RuntimeDefault": ("runtime/default", "docker/default")}
_KINDS: Final = ("initContainers", "containers", "ephemeralContainers")


def has_profiles(annotations: Mapping[str, str]) -> bool:
    """Report whether any annotation sets a profile."""
    return any(name.startswith(_PREFIXES) for name in annotations)


def apply_app_armor_annotations(pod: Tree) -> Iterator[str]:
    """Set ``appArmorProfile`` fields from annotations. Returns warnings. Upstream: ``applyAppArmorVersionSkew``."""
    annotations = pod["metadata"].get("annotations") or {}
    spec = pod["spec"]
    if not has_profiles(annotations) or (spec.get("os") or {}).get("name") == "windows":
        return
    pod_wide = (spec.get("securityContext") or {}).get("appArmorProfile")
    for kind in _KINDS:
        for container in spec.get(kind) or ():
            name = APP_ARMOR + container.get("name", "")
            context = container.get("securityContext") or {}
            if name not in annotations or context.get("appArmorProfile") is not None:
                continue
            profile = profile_of(annotations[name])
            if profile is not None and profile == pod_wide:
                continue
            if profile is not None:
                container["securityContext"] = {**context, "appArmorProfile": profile}
            yield app_armor_warning(f"metadata.annotations[{name}]")


def app_armor_warning(path: str) -> str:
    """Return the warning that the annotation is deprecated."""
    return f'{path}: deprecated since v1.30; use the "appArmorProfile" field instead'


def profile_of(text: str) -> Tree | None:
    """Return the profile for an annotation value; None if it is invalid."""
    if text.startswith(_LOCAL):
        profile = {"type": "Localhost", "localhostProfile": text.removeprefix(_LOCAL)}
        return None if any(check_app_armor(profile, field.Path("x"))) else profile
    return next(({"type": kind} for kind, texts in _TEXTS.items() if text in texts), None)


# -- validation -------------------------------------------------------------------------------------------------------


def validate_profile_annotations(annotations: Mapping[str, str], spec: Tree, path: Path) -> Iterator[FieldError]:
    """Validate that each annotation names an existing container and a valid profile."""
    if not has_profiles(annotations):
        return
    if SECCOMP_POD in annotations:
        yield from _check_seccomp(annotations[SECCOMP_POD], path.child(SECCOMP_POD))
    for name in sorted(annotations):
        if name.startswith(SECCOMP_CONTAINER):
            yield from _check_seccomp(annotations[name], path.child(name))
    container_names = {container.get("name") for kind in _KINDS for container in spec.get(kind) or ()}
    for name in sorted(annotations):
        if name.startswith(APP_ARMOR):
            container, text = name.removeprefix(APP_ARMOR), annotations[name]
            if container not in container_names:
                yield field.invalid(path.key(name), container, "container not found")
            if text and not text.startswith(_LOCAL) and profile_of(text) is None:
                yield field.invalid(path.key(name), text, f'invalid AppArmor profile name: "{text}"')


def _check_seccomp(text: str, path: Path) -> Iterator[FieldError]:
    if text.startswith(_LOCAL):
        yield from check_descending_path(text.removeprefix(_LOCAL), path)
    elif not any(text in texts for texts in _SECCOMP_TEXTS.values()):
        yield field.invalid(path, text, "must be a valid seccomp profile")


def validate_profiles_match(annotations: Mapping[str, str], spec: Tree, path: Path) -> Iterator[FieldError]:
    """Validate that fields and annotations that set the same profile agree."""
    if not has_profiles(annotations):
        return
    context = spec.get("securityContext") or {}
    if (profile := context.get("seccompProfile")) is not None and SECCOMP_POD in annotations:
        seccomp_profile_path = path.child("securityContext", "seccompProfile")
        yield from _check_match(annotations[SECCOMP_POD], profile, seccomp_profile_path, "seccomp")
    places = [(kind, i, container) for kind in _KINDS for i, container in enumerate(spec.get(kind) or ())]
    for kind, position, container in places:
        profile = (container.get("securityContext") or {}).get("seccompProfile")
        name = SECCOMP_CONTAINER + container.get("name", "")
        if profile is not None and name in annotations:
            seccomp_profile_path = path.child(kind).index(position).child("securityContext", "seccompProfile")
            yield from _check_match(annotations[name], profile, seccomp_profile_path, "seccomp")
    if (spec.get("os") or {}).get("name") == "windows":
        return
    for kind, position, container in places:
        profile = (container.get("securityContext") or {}).get("appArmorProfile") or context.get("appArmorProfile")
        name = APP_ARMOR + container.get("name", "")
        if profile is not None and name in annotations:
            app_armor_profile_path = path.child(kind).index(position).child("securityContext", "appArmorProfile")
            yield from _check_match(annotations[name], profile, app_armor_profile_path, "apparmor")


def _check_match(text: str, profile: Tree, path: Path, profile_name: str) -> Iterator[FieldError]:
    kind = profile.get("type")
    if kind == "Localhost":
        if not text.startswith(_LOCAL):
            yield field.forbidden(path.child("type"), f"{profile_name} type in annotation and field must match")
        elif text.removeprefix(_LOCAL) != profile.get("localhostProfile"):
            localhost_profile_path = path.child("localhostProfile")
            yield field.forbidden(localhost_profile_path, f"{profile_name} profile in annotation and field must match")
    elif kind in _TEXTS and text not in (_SECCOMP_TEXTS if profile_name == "seccomp" else _TEXTS)[kind]:
        yield field.forbidden(path.child("type"), f"{profile_name} type in annotation and field must match")
