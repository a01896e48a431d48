"""Inputs of process pods from the cluster: ConfigMaps, Secrets and tokens as files and variables, and access to the API."""

from __future__ import annotations

import base64
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from steersman.client import tree
from steersman.client.errors import ClientError, NotFound
from steersman.nodes.expansion import expand
from steersman.nodes.pod_status import container_field_path
from steersman.nodes.processes.environment import Sources, command_line, container_environment
from steersman.nodes.processes.fields import ContainerConfigError, grace_seconds_of
from steersman.nodes.processes.files import VolumeFile, inside, link, make_private, write_files
from steersman.nodes.processes.images import LocalImages
from steersman.nodes.processes.isolation import Mount, container_sandbox, hostname
from steersman.nodes.processes.process import Launch
from steersman.nodes.processes.volumes import host_path, is_directory, is_read_only, token_projections, volume_files
from steersman.nodes.termination_message import MESSAGE_BYTES_MAX, termination_message

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.client import Client
    from steersman.client.events.recorder import EventRecorder
    from steersman.nodes.processes.process import Guard
    from steersman.nodes.processes.volumes import TokenProjection


#: Mount path of the service account token in containers.
SERVICE_ACCOUNT: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
#: Variables with the container's root directory, and with a JSON object of mount paths and actual paths.
ROOT: Final = "STEERSMAN_ROOT"
MOUNTS: Final = "STEERSMAN_MOUNTS"
_INHERITED: Final = ("LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "SSL_CERT_FILE", "SSL_CERT_DIR")
_CONFIG_MAP, _SECRET, _ACCOUNT = tree("v1", "ConfigMap"), tree("v1", "Secret"), tree("v1", "ServiceAccount")


class ApiAddress(NamedTuple):
    """URL of the API server for processes of this machine."""

    url: str

    @property
    def variables(self) -> dict[str, str]:
        """Variables of the Service ``kubernetes``."""
        parts = urlsplit(self.url)
        port = str(parts.port or 443)
        return {
            "KUBERNETES_SERVICE_HOST": parts.hostname or "",
            "KUBERNETES_SERVICE_PORT": port,
            "KUBERNETES_SERVICE_PORT_HTTPS": port,
        }


class PodResources:
    """Private directory and volumes of one pod; the ``ContainerContext`` of its containers."""

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
        is_isolated: bool = False,
        images: LocalImages | None = None,
    ) -> None:
        """``is_isolated``: containers run in sandboxes; ``images``: local commands in place of images."""
        self._is_isolated = is_isolated
        self._images = images or LocalImages()
        self.clock = client.clock
        self._recorder = recorder
        self._claims = directory / "claims"
        self.guard = guard
        self._client = client
        #: Latest observed version of the pod.
        self.pod = pod
        self._node = node
        self._api = api
        metadata = pod["metadata"]
        self._namespace = metadata["namespace"]
        self.directory = directory / f"{self._namespace}_{metadata['name']}_{metadata['uid']}"

    def log_path(self, container: str, run: int) -> Path:
        """Return the path of the log of a run, by its number."""
        return make_private(self.directory / "logs" / container) / f"{run}.log"

    def describe(self, container: str) -> str:
        """Return container and pod in the format of the kubelet's messages."""
        metadata = self.pod["metadata"]
        return f"container={container} pod={metadata['name']}_{self._namespace}({metadata['uid']})"

    def event(self, kind: str, reason: str, message: str, *, container: str) -> None:
        """Record an event about a container of the pod."""
        field_path = container_field_path(self.pod, container)
        self._recorder.event(self.pod, kind, reason, message, field_path=field_path)

    def grace_seconds(self) -> float:
        """Return the pod's termination grace period."""
        return grace_seconds_of(self.pod)

    def observe(self, pod: Tree) -> None:
        """Use this version of the pod for containers that start from now on."""
        self.pod = pod

    async def refresh(self, pod: Tree) -> None:
        """Update the files of volumes. Raises ``ContainerConfigError``, ``ApiError``."""
        self.observe(pod)
        await self._write_volumes(await self._sources())

    async def launch(self, container: Tree) -> Launch:
        """Return the process to run. Raises ``ContainerConfigError``."""
        try:
            sources = await self._sources()
            await self._write_volumes(sources)
        except ClientError as error:
            raise ContainerConfigError(str(error)) from error
        private = make_private(self.directory / "containers" / container["name"])
        image = self._images.find(container.get("image") or "")
        path = ""
        if image is not None:
            container, path = image.applied_to(container), image.directory
        variables = _machine_environment(path) | self._api.variables | {"HOSTNAME": hostname(self.pod)}
        mounts = [self._mount(volume_mount, container, sources) for volume_mount in container.get("volumeMounts") or ()]
        return (self._isolated if self._is_isolated else self._exposed)(container, sources, mounts, private, variables)

    def _isolated(
        self, container: Tree, sources: Sources, mounts: Sequence[Mount], private: Path, variables: Mapping[str, str]
    ) -> Launch:
        """Return the launch in a sandbox, with volumes at their mount paths."""
        paths = {mount.path: mount.path for mount in mounts}
        base = {**variables, "HOME": "/tmp", ROOT: "/", MOUNTS: json.dumps(paths, separators=(",", ":"))}  # noqa: S108
        environment = container_environment(container, sources, base)
        sandbox = container_sandbox(self.pod, container, mounts, private=private)
        return Launch(command_line(container, environment), environment, Path("/"), sandbox)

    def _exposed(
        self, container: Tree, sources: Sources, mounts: Sequence[Mount], root: Path, variables: Mapping[str, str]
    ) -> Launch:
        """Return the launch without isolation: symbolic links below a private directory in place of mounts."""
        for mount in sorted(mounts, key=lambda launch: launch.path):
            link(inside(root, mount.path), Path(mount.source or ""))
        paths = {mount.path: mount.source or "" for mount in mounts}
        temporary = make_private(root / "tmp")
        base = {**variables, "HOME": str(root), "TMPDIR": str(temporary), ROOT: str(root)}
        base[MOUNTS] = json.dumps(paths, separators=(",", ":"))
        if SERVICE_ACCOUNT in paths:
            base["KUBECONFIG"] = str(_write_kubeconfig(root, paths[SERVICE_ACCOUNT], self._api.url, self._namespace))
        environment = container_environment(container, sources, base)
        directory = inside(root, container.get("workingDir") or "/")
        make_private(directory)
        return Launch(command_line(container, environment), environment, directory)

    def _mount(self, mount: Tree, container: Tree, sources: Sources) -> Mount:
        """Return the mount of a volume or of a path in it, which is created if it does not exist. Raises
        ``ContainerConfigError``, also for a path outside of the volume.
        """
        volume = next(volume for volume in self.pod["spec"]["volumes"] if volume["name"] == mount["name"])
        top = host_path(volume) if volume.get("hostPath") else self.directory / "volumes" / mount["name"]
        source, path = top, mount.get("subPath")
        if mount.get("subPathExpr"):
            path = expand(mount["subPathExpr"], container_environment(container, sources, {}))
        if path:
            source = inside(top, path)
            if not source.resolve().is_relative_to(top.resolve()):
                raise ContainerConfigError(f'failed to prepare subPath for volumeMount "{mount["name"]}"')
            if not source.exists():
                make_private(source)
        return Mount(mount["mountPath"], str(source), bool(mount.get("readOnly")) or is_read_only(volume))

    def termination_message(self, container: Tree, *, code: int, log: bytes) -> str:
        """Return the termination message of a container that exited with this code and log."""
        path = self.directory / "containers" / container["name"] / "termination-log"
        written = b""
        if self._is_isolated and path.is_file():
            with path.open("rb") as file:
                file.seek(max(0, path.stat().st_size - MESSAGE_BYTES_MAX))
                written = file.read(MESSAGE_BYTES_MAX)
        return termination_message(container, code=code, written=written, log=log)

    async def _sources(self) -> Sources:
        """Return the sources with the current ConfigMaps and Secrets that the pod references."""
        config_maps = {name: await self._config_map(name) for name in _referenced(self.pod, "configMap")}
        secrets = {name: await self._secret(name) for name in _referenced(self.pod, "secret")}
        return Sources(self.pod, self._node, config_maps.get, secrets.get)

    async def _config_map(self, name: str) -> Mapping[str, bytes] | None:
        try:
            config_map = await self._client.get(_CONFIG_MAP, name, namespace=self._namespace)
        except NotFound:
            return None
        binary = {key: base64.b64decode(value) for key, value in (config_map.get("binaryData") or {}).items()}
        return {key: value.encode() for key, value in (config_map.get("data") or {}).items()} | binary

    async def _secret(self, name: str) -> Mapping[str, bytes] | None:
        try:
            secret = await self._client.get(_SECRET, name, namespace=self._namespace)
        except NotFound:
            return None
        return {key: base64.b64decode(value) for key, value in (secret.get("data") or {}).items()}

    async def _write_volumes(self, sources: Sources) -> None:
        for volume in (self.pod.get("spec") or {}).get("volumes") or ():
            directory = self.directory / "volumes" / volume["name"]
            if volume.get("persistentVolumeClaim"):
                # Data of a claim outlives the pod, until this process ends.
                claim = f"{self._namespace}_{volume['persistentVolumeClaim']['claimName']}"
                link(directory, make_private(self._claims / claim))
                continue
            if is_directory(volume):
                make_private(directory)
                continue
            if volume.get("hostPath"):
                continue
            tokens = {projection: await self._token(projection) for projection in token_projections(volume)}
            write_files(directory, volume_files(volume, sources, tokens.__getitem__))

    async def _token(self, projection: TokenProjection) -> str:
        metadata = self.pod["metadata"]
        bound = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
        spec: Tree = {"expirationSeconds": projection.expiration_seconds, "boundObjectRef": bound, "audiences": []}
        if projection.audience:
            spec["audiences"] = [projection.audience]
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        account = (self.pod.get("spec") or {}).get("serviceAccountName") or "default"
        answer = await self._client.create_subresource(_ACCOUNT, account, "token", body, namespace=self._namespace)
        return str(answer["status"]["token"])


def _referenced(pod: Tree, kind: str) -> set[str]:
    """Return the names of ConfigMaps or Secrets that a pod references."""
    spec = pod.get("spec") or {}
    names = []
    for volume in spec.get("volumes") or ():
        sources = [volume, *((volume.get("projected") or {}).get("sources") or ())]
        references = [source[kind] for source in sources if source.get(kind) is not None]
        names += [reference.get("secretName") or reference.get("name") for reference in references]
    fields = ("containers", "initContainers", "ephemeralContainers")
    for container in (container for field in fields for container in spec.get(field) or ()):
        names += [(source.get(f"{kind}Ref") or {}).get("name") for source in container.get("envFrom") or ()]
        values = [variable.get("valueFrom") or {} for variable in container.get("env") or ()]
        names += [(value_source.get(f"{kind}KeyRef") or {}).get("name") for value_source in values]
    return {name for name in names if name}


def _machine_environment(folder: str) -> dict[str, str]:
    """Return the variables inherited from this machine. The directory of this Python interpreter comes first in
    ``PATH``.
    """
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    path = os.pathsep.join(filter(None, (folder, str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))))
    return {**inherited, "PATH": path}


def _write_kubeconfig(root: Path, account: str, url: str, namespace: str) -> Path:
    """Write a kubeconfig for clients that expect their token at the standard path, which cannot be created without
    root.
    """
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": url, "certificate-authority": f"{account}/ca.crt"}}],
        "users": [{"name": "u", "user": {"tokenFile": f"{account}/token"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": namespace}}],
        "current-context": "c",
    }
    write_files(root / ".kube", {"config": VolumeFile(json.dumps(config).encode())})
    return root / ".kube" / "config"
