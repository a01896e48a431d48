"""What a process pod gets of the cluster: ConfigMaps, Secrets and tokens as files and values, and a way to the API."""

from __future__ import annotations

import base64
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

from steersman.client import tree
from steersman.client.errors import ClientError, NotFound
from steersman.nodes.processes.environment import Sources, command_line, container_environment
from steersman.nodes.processes.fields import ConfigError
from steersman.nodes.processes.files import inside, link, make_private, write_files
from steersman.nodes.processes.process import Launch
from steersman.nodes.processes.volumes import is_directory, tokens_wanted, volume_files

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steersman.client import Client
    from steersman.client.events.recorder import EventRecorder
    from steersman.nodes.processes.process import Guard
    from steersman.nodes.processes.volumes import TokenWanted

    Tree = dict[str, Any]

#: Where clients look for their service account, inside of a container.
SERVICE_ACCOUNT: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
#: The container's folder, below which its mounts are; and a JSON object of mount paths and where they really are.
ROOT: Final = "STEERSMAN_ROOT"
MOUNTS: Final = "STEERSMAN_MOUNTS"
_KEPT: Final = ("LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "SSL_CERT_FILE", "SSL_CERT_DIR")
_CONFIG_MAP, _SECRET, _ACCOUNT = tree("v1", "ConfigMap"), tree("v1", "Secret"), tree("v1", "ServiceAccount")


class ApiAddress(NamedTuple):
    """Where the API server is for processes of this machine."""

    url: str

    @property
    def variables(self) -> dict[str, str]:
        """As the Service ``kubernetes`` is told to containers."""
        parts = urlsplit(self.url)
        port = str(parts.port or 443)
        return {
            "KUBERNETES_SERVICE_HOST": parts.hostname or "",
            "KUBERNETES_SERVICE_PORT": port,
            "KUBERNETES_SERVICE_PORT_HTTPS": port,
        }


class PodResources:
    """Of one pod: its private folder, and what lies there. Is the ``Surroundings`` of its containers."""

    def __init__(
        self,
        client: Client,
        pod: Tree,
        node: Tree,
        *,
        directory: Path,
        guard: Guard,
        api: ApiAddress,
        recorder: EventRecorder,
    ) -> None:
        self.clock = client.clock
        self._recorder = recorder
        self._claims = directory / "claims"
        self.guard = guard
        self._client = client
        #: As it was when its files were last written.
        self.pod = pod
        self._node = node
        self._api = api
        metadata = pod["metadata"]
        self._namespace = metadata["namespace"]
        self.directory = directory / f"{self._namespace}_{metadata['name']}_{metadata['uid']}"

    def log_path(self, container: str, run: int) -> Path:
        """Where the log of its nth run lies."""
        return make_private(self.directory / "logs" / container) / f"{run}.log"

    def describe(self, container: str) -> str:
        """It and its pod, for messages."""
        metadata = self.pod["metadata"]
        return f"container={container} pod={metadata['name']}_{self._namespace}({metadata['uid']})"

    def event(self, kind: str, reason: str, message: str) -> None:
        """Tell of something that has happened to the pod."""
        self._recorder.event(self.pod, kind, reason, message)

    async def refresh(self, pod: Tree) -> None:
        """Bring files of volumes up to date. Raises ``ConfigError``, ``ApiError``."""
        self.pod = pod
        await self._write_volumes(await self._sources())

    async def launch(self, container: Tree) -> Launch:
        """What to run. Raises ``ConfigError``."""
        try:
            sources = await self._sources()
            await self._write_volumes(sources)
        except ClientError as error:
            raise ConfigError(str(error)) from error
        root = make_private(self.directory / "containers" / container["name"])
        mounts = self._mount(container, root)
        given = {**_machine(root), **self._api.variables, "HOSTNAME": self.pod["metadata"]["name"]}
        given |= {ROOT: str(root), MOUNTS: json.dumps(mounts, separators=(",", ":"))}
        if SERVICE_ACCOUNT in mounts:
            given["KUBECONFIG"] = str(_write_kubeconfig(root, mounts[SERVICE_ACCOUNT], self._api.url, self._namespace))
        environment = container_environment(container, sources, given)
        directory = inside(root, container.get("workingDir") or "/")
        make_private(directory)
        return Launch(command_line(container, environment), environment, directory)

    def _mount(self, container: Tree, root: Path) -> dict[str, str]:
        """Symbolic links in place of mounts; where each really leads."""
        made = {}
        for mount in sorted(container.get("volumeMounts") or (), key=lambda each: each["mountPath"]):
            source = self.directory / "volumes" / mount["name"]
            if mount.get("subPath"):
                source = inside(source, mount["subPath"])
                if not source.exists():
                    make_private(source)
            link(inside(root, mount["mountPath"]), source)
            made[mount["mountPath"]] = str(source)
        return made

    async def _sources(self) -> Sources:
        """With all ConfigMaps and Secrets that the pod names, as they are now."""
        config_maps = {name: await self._config_map(name) for name in _named(self.pod, "configMap")}
        secrets = {name: await self._secret(name) for name in _named(self.pod, "secret")}
        return Sources(self.pod, self._node, config_maps.get, secrets.get)

    async def _config_map(self, name: str) -> Mapping[str, bytes] | None:
        try:
            found = await self._client.get(_CONFIG_MAP, name, namespace=self._namespace)
        except NotFound:
            return None
        binary = {key: base64.b64decode(value) for key, value in (found.get("binaryData") or {}).items()}
        return {key: value.encode() for key, value in (found.get("data") or {}).items()} | binary

    async def _secret(self, name: str) -> Mapping[str, bytes] | None:
        try:
            found = await self._client.get(_SECRET, name, namespace=self._namespace)
        except NotFound:
            return None
        return {key: base64.b64decode(value) for key, value in (found.get("data") or {}).items()}

    async def _write_volumes(self, sources: Sources) -> None:
        for volume in (self.pod.get("spec") or {}).get("volumes") or ():
            directory = self.directory / "volumes" / volume["name"]
            if volume.get("persistentVolumeClaim"):
                # What is written outlives the pod, as long as the nodes live.
                claim = f"{self._namespace}_{volume['persistentVolumeClaim']['claimName']}"
                link(directory, make_private(self._claims / claim))
                continue
            if is_directory(volume):
                make_private(directory)
                continue
            tokens = {wanted: await self._token(wanted) for wanted in tokens_wanted(volume)}
            write_files(directory, volume_files(volume, sources, tokens.__getitem__))

    async def _token(self, wanted: TokenWanted) -> str:
        metadata = self.pod["metadata"]
        bound = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
        spec: Tree = {"expirationSeconds": wanted.expiration_seconds, "boundObjectRef": bound, "audiences": []}
        if wanted.audience:
            spec["audiences"] = [wanted.audience]
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        account = (self.pod.get("spec") or {}).get("serviceAccountName") or "default"
        answer = await self._client.create_subresource(_ACCOUNT, account, "token", body, namespace=self._namespace)
        return str(answer["status"]["token"])


def _named(pod: Tree, kind: str) -> set[str]:
    """ConfigMaps or Secrets that a pod names anywhere."""
    spec = pod.get("spec") or {}
    found = []
    for volume in spec.get("volumes") or ():
        sources = [volume, *((volume.get("projected") or {}).get("sources") or ())]
        told = [source[kind] for source in sources if source.get(kind) is not None]
        found += [each.get("secretName") or each.get("name") for each in told]
    for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        found += [(each.get(f"{kind}Ref") or {}).get("name") for each in container.get("envFrom") or ()]
        values = [each.get("valueFrom") or {} for each in container.get("env") or ()]
        found += [(each.get(f"{kind}KeyRef") or {}).get("name") for each in values]
    return {name for name in found if name}


def _machine(root: Path) -> dict[str, str]:
    """What a process needs of this machine. Commands beside our own interpreter are found first."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    temporary = make_private(root / "tmp")
    return {**kept, "PATH": path, "HOME": str(root), "TMPDIR": str(temporary)}


def _write_kubeconfig(root: Path, account: str, url: str, namespace: str) -> Path:
    """For clients that look for their token at a fixed place, which only root could give them: all read this instead."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": url, "certificate-authority": f"{account}/ca.crt"}}],
        "users": [{"name": "u", "user": {"tokenFile": f"{account}/token"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": namespace}}],
        "current-context": "c",
    }
    write_files(root / ".kube", {"config": json.dumps(config).encode()})
    return root / ".kube" / "config"
