"""Validation of security contexts of Pods and containers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field, names
from steersman.apiserver.kinds.shared.go_form import go_form
from steersman.apiserver.kinds.shared.podspec.validate_sources import check_descending_path
from steersman.apiserver.kinds.shared.validation import check_all, validate_dns_subdomain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.kinds.shared.podspec.rules import PodRules

_ID_MAX: Final = (1 << 31) - 1
_SYSCTL_SEGMENT: Final = r"[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL_PATTERN: Final = rf"({_SYSCTL_SEGMENT}[\./])*{_SYSCTL_SEGMENT}"
_SYSCTL: Final = re.compile(_SYSCTL_PATTERN)
_SYSCTL_LENGTH_MAX: Final = 253
#: Prefixes of sysctls of the network or IPC namespace.
_NET_SYSCTLS: Final = ("net.",)
_IPC_SYSCTLS: Final = ("kernel.sem", "kernel.shm", "kernel.msg", "fs.mqueue.")
_PROFILE_TYPES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_PROFILE_LENGTH_MAX: Final = 4095
_CREDENTIAL_SPEC_MAX_KIB: Final = 64
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_NET_BIOS: Final = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_DNS_LABEL: Final = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DNS_DOMAIN: Final = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*")
_USER_WRONG: Final = re.compile(r'["/\\:;|=,+*?<>@\[\]]')


def _check_id(context: Tree, name: str, path: Path) -> Iterator[FieldError]:
    value = context.get(name)
    if value is not None:
        yield from check_all(path.child(name), value, names.check_in_range(value, 0, _ID_MAX))


def _check_one_of(context: Tree, name: str, path: Path, supported: Sequence[str]) -> Iterator[FieldError]:
    value = context.get(name)
    if value is not None and value not in supported:
        yield field.not_supported(path.child(name), value, supported)


def validate_pod_security(spec: Tree, path: Path) -> Iterator[FieldError]:
    """Validate a PodSecurityContext."""
    context = spec.get("securityContext") or {}
    for name in ("fsGroup", "runAsUser", "runAsGroup"):
        yield from _check_id(context, name, path)
    for position, group in enumerate(context.get("supplementalGroups") or ()):
        item_path = path.child("supplementalGroups").index(position)
        yield from check_all(item_path, group, names.check_in_range(group, 0, _ID_MAX))
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield field.invalid(path.child("shareProcessNamespace"), value=True, detail=detail)
    yield from _validate_sysctls(spec, context, path.child("sysctls"))
    yield from _check_one_of(context, "fsGroupChangePolicy", path, ("Always", "OnRootMismatch"))
    yield from _validate_seccomp(context.get("seccompProfile"), path.child("seccompProfile"))
    yield from _validate_windows(context.get("windowsOptions"), path.child("windowsOptions"))
    yield from check_app_armor(context.get("appArmorProfile"), path.child("appArmorProfile"))
    yield from _check_one_of(context, "supplementalGroupsPolicy", path, ("Merge", "Strict"))
    yield from _check_one_of(
        context, "seLinuxChangePolicy", path, ("Recursive",)
    )  # MountOption is missing: the gate SELinuxMount is off


def _validate_sysctls(spec: Tree, context: Tree, path: Path) -> Iterator[FieldError]:
    seen: set[str] = set()
    for position, sysctl in enumerate(context.get("sysctls") or ()):
        name_path = path.index(position).child("name")
        name = sysctl.get("name") or ""
        if not name:
            yield field.required(name_path)
        elif len(name) > _SYSCTL_LENGTH_MAX or not _SYSCTL.fullmatch(name):
            detail = f"must have at most {_SYSCTL_LENGTH_MAX} characters and match regex ^{_SYSCTL_PATTERN}$"
            yield field.invalid(name_path, name, detail)
        elif name in seen:
            yield field.duplicate(name_path, name)
        seen.add(name)
        dotted = _dotted(name)
        if spec.get("hostNetwork") and dotted.startswith(_NET_SYSCTLS):
            yield field.invalid(name_path, name, "may not be specified when 'hostNetwork' is true")
        elif spec.get("hostIPC") and dotted.startswith(_IPC_SYSCTLS):
            yield field.invalid(name_path, name, "may not be specified when 'hostIPC' is true")


def _dotted(name: str) -> str:
    """Normalize a sysctl name with slashes as separators to dots (dots then become slashes)."""
    separator = re.search(r"[./]", name)
    if separator is None or separator[0] == ".":
        return name
    return name.translate(str.maketrans("./", "/."))


def _validate_seccomp(profile: Tree | None, path: Path) -> Iterator[FieldError]:
    if profile is None:
        return
    kind, local = profile.get("type"), profile.get("localhostProfile")
    if not kind:
        yield field.required(path.child("type"), "type is required when seccompProfile is set")
    elif kind not in _PROFILE_TYPES:
        yield field.not_supported(path.child("type"), kind, _PROFILE_TYPES)
    localhost_profile_path = path.child("localhostProfile")
    if kind == "Localhost":
        if local is None:
            yield field.required(localhost_profile_path, "must be set when seccomp type is Localhost")
        else:
            yield from check_descending_path(local, localhost_profile_path)
    elif local is not None:
        yield field.invalid(
            localhost_profile_path, go_form("Profile", profile), "can only be set when seccomp type is Localhost"
        )


def check_app_armor(profile: Tree | None, path: Path) -> Iterator[FieldError]:
    """Validate ``appArmorProfile`` of a Pod or container."""
    if profile is None:
        return
    kind, local = profile.get("type"), profile.get("localhostProfile")
    localhost_profile_path = path.child("localhostProfile")
    if kind == "Localhost":
        if local is None or not local:
            yield field.required(localhost_profile_path, "must be set when AppArmor type is Localhost")
        elif local != local.strip():
            yield field.invalid(localhost_profile_path, local, "must not be padded with whitespace")
        if len(local or "") > _PROFILE_LENGTH_MAX:
            yield field.too_long(localhost_profile_path, max_bytes=_PROFILE_LENGTH_MAX)
    elif kind in _PROFILE_TYPES:
        if local is not None:
            yield field.invalid(localhost_profile_path, local, "can only be set when AppArmor type is Localhost")
    elif not kind:
        yield field.required(path.child("type"), "type is required when appArmorProfile is set")
    else:
        yield field.not_supported(path.child("type"), kind, _PROFILE_TYPES)


def validate_container_security(
    context: Tree | None, path: Path, *, host_users: bool, rules: PodRules
) -> Iterator[FieldError]:
    """Validate a container's SecurityContext. ``host_users``: the Pod has no user namespace."""
    if not context:
        return
    privileged = context.get("privileged")
    if privileged and not rules.allow_privileged:
        yield field.forbidden(path.child("privileged"), "disallowed by cluster policy")
    for name in ("runAsUser", "runAsGroup"):
        yield from _check_id(context, name, path)
    yield from _check_one_of(context, "procMount", path, ("Default", "Unmasked"))
    if host_users and context.get("procMount") == "Unmasked":
        yield field.invalid(path.child("procMount"), "Unmasked", "`hostUsers` must be false to use `Unmasked`")
    yield from _validate_seccomp(context.get("seccompProfile"), path.child("seccompProfile"))
    if context.get("allowPrivilegeEscalation") is False:
        if privileged:
            detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            yield field.invalid(path, go_form("SecurityContext", context), detail)
        for capability in (context.get("capabilities") or {}).get("add") or ():
            if capability == "CAP_SYS_ADMIN":
                detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
                yield field.invalid(path, go_form("SecurityContext", context), detail)
    yield from _validate_windows(context.get("windowsOptions"), path.child("windowsOptions"))
    yield from check_app_armor(context.get("appArmorProfile"), path.child("appArmorProfile"))


# -- Windows ----------------------------------------------------------------------------------------------------------


def _validate_windows(options: Tree | None, path: Path) -> Iterator[FieldError]:
    if not options:
        return
    name = options.get("gmsaCredentialSpecName")
    if name is not None:
        yield from validate_dns_subdomain(name, path.child("gmsaCredentialSpecName"))
    spec = options.get("gmsaCredentialSpec")
    if spec is not None:
        context_path = path.child("gmsaCredentialSpec")
        if not spec:
            yield field.invalid(context_path, spec, "gmsaCredentialSpec cannot be an empty string")
        elif len(spec) > _CREDENTIAL_SPEC_MAX_KIB * 1024:
            detail = f"gmsaCredentialSpec size must be under {_CREDENTIAL_SPEC_MAX_KIB} KiB"
            yield field.invalid(context_path, spec, detail)
    user = options.get("runAsUserName")
    if user is not None:
        yield from check_all(path.child("runAsUserName"), user, _user_faults(user))


_USER_CHARACTERS: Final = r"""runAsUserName's User cannot contain the following characters: "/\:;|=,+*?<>@[]"""


def _user_faults(name: str) -> Iterator[str]:
    """Yield the errors of ``runAsUserName``, with an optional domain and backslash."""
    if not name:
        yield "runAsUserName cannot be an empty string"
        return
    if _CONTROL.search(name):
        yield "runAsUserName cannot contain control characters"
        return
    domain, separator, user = name.rpartition("\\")
    if "\\" in domain:
        yield "runAsUserName cannot contain more than one backslash"
        return
    if len(domain) >= 256:
        yield "runAsUserName's Domain length must be under 256 characters"
    if separator and not (_NET_BIOS.fullmatch(domain) or _DNS_DOMAIN.fullmatch(domain)):
        yield "runAsUserName's Domain doesn't match the NetBios nor the DNS format"
    if not user:
        yield "runAsUserName's User cannot be empty"
    elif len(user) > 104:
        yield "runAsUserName's User length must not be longer than 104 characters"
    if user and not user.strip(". "):
        yield "runAsUserName's User cannot contain only periods or spaces"
    if _USER_WRONG.search(user):
        yield _USER_CHARACTERS


def has_host_process(spec: Tree) -> bool:
    """Report whether a Pod or one of its containers has Windows options, to which the rules of HostProcess apply."""
    if _host_process(spec) is not None:
        return True
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(kind) or ():
            if container.get("securityContext") and _host_process(container) is not None:
                return True
    return False


def validate_host_process(spec: Tree, path: Path) -> Iterator[FieldError]:
    """Validate Windows HostProcess containers: all or none, with ``hostNetwork``."""
    pod_wide = _host_process(spec)
    count = total = 0
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for position, container in enumerate(spec.get(kind) or ()):
            total += 1
            own = _host_process(container)
            if pod_wide is not None and own is not None and pod_wide != own:
                host_process_path = (
                    path.child(kind).index(position).child("securityContext", "windowsOptions", "hostProcess")
                )
                shown = str(pod_wide).lower()
                detail = f"pod hostProcess value must be identical if both are specified, was {shown}"
                yield field.invalid(host_process_path, own, detail)
            count += bool(own if own is not None else pod_wide)
    if not count:
        return
    if count != total:
        detail = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        yield field.invalid(path, "", detail)
    if not spec.get("hostNetwork"):
        detail = "hostNetwork must be true if pod contains any hostProcess containers"
        yield field.invalid(path.child("hostNetwork"), value=False, detail=detail)


def _host_process(holder: Tree) -> Any:
    context = holder.get("securityContext")
    options = context.get("windowsOptions") if context else None
    return options.get("hostProcess") if options else None
