"""Cluster address and credentials from kubeconfig files, or from a pod's service account.

The rules are ``clientcmd``'s: the first file to set a value wins, paths are relative to the file that contains them,
inline data takes precedence over files. Malformed input raises ``ConfigError`` with its location.
"""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import msgspec

from steersman.asynckit.clock import RealClock
from steersman.client.credentials import (
    ConfigError,
    Credentials,
    ExecCredentials,
    Identity,
    StaticCredentials,
    TokenFile,
    with_bearer,
)
from steersman.client.exec_plugin import read_exec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.asynckit.clock import Clock


_SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
#: Section of the file → key of its entries.
_SECTIONS: Final = {"clusters": "cluster", "users": "user", "contexts": "context"}


class ClusterAccess(msgspec.Struct, frozen=True):
    """Configuration of a transport (client-go's ``rest.Config``)."""

    #: ``https://host:port``, optionally with a path, without a trailing slash.
    server: str
    credentials: Credentials
    #: CA bundle (PEM); None: the system's trust store.
    ca: bytes | None = None
    verify: bool = True
    #: Name to verify in the server's certificate; empty: the host's.
    tls_server_name: str = ""
    proxy_url: str = ""
    #: Request uncompressed responses: saves CPU of the server on fast networks.
    disable_compression: bool = False
    #: Namespace of the context.
    namespace: str = "default"


def kubeconfig_paths(environment: Mapping[str, str] | None = None) -> list[Path]:
    """Return the files that kubectl reads: those of ``$KUBECONFIG``, or ``~/.kube/config``."""
    listed = (os.environ if environment is None else environment).get("KUBECONFIG", "")
    paths = [Path(part) for part in listed.split(os.pathsep) if part]
    return paths or [Path.home() / ".kube" / "config"]


def load_kubeconfig(
    paths: Path | str | Sequence[Path] | None = None, *, context: str = "", clock: Clock | None = None
) -> ClusterAccess:
    """Return the access of a context (default: the current context). Raises ``ConfigError``.

    Missing files of ``$KUBECONFIG`` are skipped; a missing file in ``paths`` is an error.
    """
    if paths is None:
        existing = [path for path in kubeconfig_paths() if path.exists()]
        if not existing:
            names = ", ".join(map(str, kubeconfig_paths()))
            raise ConfigError(f"there is no kubeconfig: {names} does not exist, and KUBECONFIG names no other")
    else:
        existing = [Path(paths)] if isinstance(paths, str | Path) else list(paths)
    return _MergedConfig(existing).access(context, clock or RealClock())


def in_cluster(
    *, folder: Path = _SERVICE_ACCOUNT, environment: Mapping[str, str] | None = None, clock: Clock | None = None
) -> ClusterAccess:
    """Return the access of a pod's service account. Raises ``ConfigError`` outside of a pod."""
    environment = os.environ if environment is None else environment
    host, port = environment.get("KUBERNETES_SERVICE_HOST"), environment.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise ConfigError(
            "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined"
        )
    try:
        ca = (folder / "ca.crt").read_bytes()
        namespace_file = folder / "namespace"
        namespace = namespace_file.read_text(encoding="utf-8").strip() if namespace_file.exists() else ""
        (folder / "token").read_bytes()
    except OSError as error:
        raise ConfigError(f"unable to load in-cluster configuration: {error}") from error
    address = f"[{host}]" if ":" in host else host
    return ClusterAccess(
        server=f"https://{address}:{port}",
        credentials=TokenFile(folder / "token", clock=clock or RealClock()),
        ca=ca,
        namespace=namespace or "default",
    )


class _MergedConfig:
    """Several kubeconfig files merged into one; each entry keeps the folder of its file."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._entries: dict[str, dict[str, tuple[Tree, Path]]] = {section: {} for section in _SECTIONS}
        self._current = ""
        self._names = ", ".join(map(str, paths))
        for path in paths:
            self._add(path)

    def _add(self, path: Path) -> None:
        config = _read(path)
        self._current = self._current or str(config.get("current-context") or "")
        for section, key in _SECTIONS.items():
            entries = config.get(section) or []
            if not isinstance(entries, list):
                raise ConfigError(f"{path}: {section} must be a list")
            for at, entry in enumerate(entries):
                if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
                    raise ConfigError(f"{path}: {section}[{at}] has no name")
                value = entry.get(key) or {}
                if not isinstance(value, dict):
                    raise ConfigError(f"{path}: {section}[{at}].{key} must be an object")
                self._entries[section].setdefault(entry["name"], (value, path.parent))

    def access(self, context_name: str, clock: Clock) -> ClusterAccess:
        name = context_name or self._current
        if not name:
            raise ConfigError(f"{self._names}: there is no current-context, and none was asked for")
        context, _ = self._entry("contexts", name, "asked for" if context_name else "current-context")
        cluster, folder = self._entry("clusters", str(context.get("cluster") or ""), f"context {name!r}")
        server = cluster.get("server")
        if not isinstance(server, str) or not server.startswith(("https://", "http://")):
            raise ConfigError(f"cluster {context.get('cluster')!r}: server must be a URL, and is {server!r}")
        verify = not cluster.get("insecure-skip-tls-verify")
        ca = _data(cluster, "certificate-authority", folder, f"cluster {context.get('cluster')!r}")
        if not verify and ca is not None:
            raise ConfigError(
                f"cluster {context.get('cluster')!r}: specifying a root certificates file with the insecure flag is not allowed"
            )
        exec_cluster = {"server": server, "insecure-skip-tls-verify": not verify}
        if ca is not None:
            exec_cluster["certificate-authority-data"] = base64.b64encode(ca).decode()
        user_name = str(context.get("user") or "")
        return ClusterAccess(
            server=server.rstrip("/"),
            credentials=self._credentials(user_name, f"context {name!r}", exec_cluster, clock),
            ca=ca,
            verify=verify,
            tls_server_name=str(cluster.get("tls-server-name") or ""),
            proxy_url=str(cluster.get("proxy-url") or ""),
            disable_compression=bool(cluster.get("disable-compression")),
            namespace=str(context.get("namespace") or "default"),
        )

    def _entry(self, section: str, name: str, referrer: str) -> tuple[Tree, Path]:
        try:
            return self._entries[section][name]
        except KeyError:
            names = ", ".join(sorted(self._entries[section])) or "none"
            raise ConfigError(
                f"{self._names}: there is no {_SECTIONS[section]} {name!r} ({referrer}); known: {names}"
            ) from None

    def _credentials(self, name: str, referrer: str, cluster: Tree, clock: Clock) -> Credentials:
        if not name:
            return StaticCredentials(Identity())
        user, folder = self._entry("users", name, referrer)
        source = f"user {name!r}"
        certificate, key = _data(user, "client-certificate", folder, source), _data(user, "client-key", folder, source)
        if (certificate is None) != (key is None):
            raise ConfigError(f"{source}: a client certificate needs its key, and a key its certificate")
        base = Identity(_impersonation(user, source), certificate, key)
        if user.get("auth-provider"):
            raise ConfigError(f"{source}: auth-provider is no longer part of Kubernetes; use an exec plugin")
        if user.get("tokenFile"):
            return TokenFile(folder / str(user["tokenFile"]), clock=clock, base=base)
        if user.get("token"):
            return StaticCredentials(with_bearer(base, str(user["token"])))
        if user.get("username") or user.get("password"):
            pair = f"{user.get('username') or ''}:{user.get('password') or ''}".encode()
            basic = f"Basic {base64.b64encode(pair).decode()}"
            return StaticCredentials(msgspec.structs.replace(base, headers=(*base.headers, ("authorization", basic))))
        if user.get("exec"):
            if not isinstance(user["exec"], dict):
                raise ConfigError(f"{source}: exec must be an object")
            plugin = read_exec(user["exec"], source=source, folder=folder, cluster=cluster)
            return ExecCredentials(lambda: plugin.run(clock=clock), clock=clock, base=base)
        return StaticCredentials(base)


def _read(path: Path) -> Tree:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:  # ValueError: invalid UTF-8, or a null byte in the path
        raise ConfigError(f"the kubeconfig {path} cannot be read: {error}") from error
    config = _parse(text, path)
    if config is None:
        return {}
    if not isinstance(config, dict) or config.get("kind") not in (None, "", "Config"):
        raise ConfigError(f"{path} is no kubeconfig")
    return config


def _parse(text: str, path: Path) -> Any:
    """Return the tree of a file. JSON, which ``steersman up`` writes, is read without PyYAML, whose import alone takes 13 ms."""
    if text.startswith("{"):
        try:
            return msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            pass  # YAML may begin with a brace as well
    import yaml  # noqa: PLC0415 — deferred: a kubeconfig in JSON does without

    try:
        return yaml.safe_load(text)
    except (ValueError, RecursionError, yaml.YAMLError) as error:  # ValueError: an invalid date, e.g. 2024-99-05
        raise ConfigError(f"the kubeconfig {path} cannot be read: {error}") from error


def _data(entry: Tree, name: str, folder: Path, source: str) -> bytes | None:
    """Return the value of ``<name>-data``, or the content of the file ``<name>``; None without either."""
    encoded, file = entry.get(f"{name}-data"), entry.get(name)
    if encoded:
        try:
            return base64.b64decode(str(encoded), validate=True)
        except ValueError as error:
            raise ConfigError(f"{source}: {name}-data is no base64: {error}") from error
    if not file:
        return None
    try:
        return (folder / str(file)).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a null byte in the path
        raise ConfigError(f"{source}: unable to read {name} {file}: {error}") from error


def _impersonation(user: Tree, source: str) -> tuple[tuple[str, str], ...]:
    groups, extra = user.get("as-groups") or [], user.get("as-user-extra") or {}
    if not user.get("as"):
        if user.get("as-uid") or groups or extra:
            raise ConfigError(f"{source}: requesting uid, groups or user-extra without impersonating a user")
        return ()
    if not isinstance(groups, list) or not isinstance(extra, dict):
        raise ConfigError(f"{source}: as-groups must be a list, as-user-extra an object of lists")
    return (
        ("impersonate-user", str(user["as"])),
        *((("impersonate-uid", str(user["as-uid"])),) if user.get("as-uid") else ()),
        *(("impersonate-group", str(group)) for group in groups),
        *(
            (f"impersonate-extra-{quote(str(key), safe='').lower()}", str(value))
            for key, values in extra.items()
            for value in values or ()
        ),
    )
