"""Options of the simulated nodes: nodes, and stages of their objects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery.gotext import errno_text
from steersman.apimachinery.yaml_codec import decode_yaml
from steersman.nodes.chaos.rules import Chaos
from steersman.nodes.node_object import NodeTemplate, TemplateError, read_templates
from steersman.nodes.pod_stages import STAGE_SETS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.nodes.kwok.stage_files import KwokFile
    from steersman.nodes.processes.images import LocalImages
    from steersman.nodes.stages import Stage

_PODS: Final = ("v1", "Pod")
_NODES: Final = ("v1", "Node")
#: Values of ``process_isolation``.
ISOLATIONS: Final = ("auto", "namespaces", "none")


class NodesOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of ``steersman nodes``."""

    #: Kubeconfig file; None for ``$KUBECONFIG``, the pod's service account or ``~/.kube/config``.
    kubeconfig: Path | None = None
    #: Number of nodes of each template without ``count``.
    nodes: int = 1
    #: YAML file of node templates; None: one default template.
    node_template: Path | None = None
    #: Stages of pods, nodes and other objects: names of built-in sets and files, comma-separated. A later stage
    #: replaces an earlier one of the same name.
    stages: str = "default"
    #: YAML file of chaos rules: failures of pods and nodes, drawn from its seed.
    chaos: Path | None = None
    #: True to provision volumes for claims of the StorageClass ``simulated``, the default one; ignored without nodes.
    simulated_storage: bool = True
    #: True to record the kubelet's Normal events about pods, up to the event rate of one kubelet.
    pod_events: bool = True
    #: True to run pods that request it as local processes.
    process_pods: bool = False
    #: Isolation of their containers in namespaces: ``auto`` if supported by the machine, ``namespaces``, or ``none``.
    process_isolation: str = "auto"
    #: YAML file of local commands in place of images; None: containers need a command.
    process_images: Path | None = None
    #: Directory of their files; None for a directory below that of temporary files.
    process_dir: Path | None = None
    #: True to serve ``metrics.k8s.io`` with simulated usage, for ``kubectl top`` and HorizontalPodAutoscalers.
    metrics: bool = False
    #: Address at which the nodes' kubelet listens for API servers; port 0: any free one.
    kubelet_address: str = "127.0.0.1"
    kubelet_port: int = 0
    #: Serving certificate and CA of client certificates; without them the kubelet does not listen.
    kubelet_certificate_file: Path | None = None
    kubelet_key_file: Path | None = None
    kubelet_client_ca_file: Path | None = None

    @property
    def serves_kubelet(self) -> bool:
        """True if the serving certificate and the client CA are set."""
        return None not in (self.kubelet_certificate_file, self.kubelet_key_file, self.kubelet_client_ca_file)

    def check(self) -> None:
        """Raise TemplateError for a file or directory that cannot be used; it names the flag and the file."""
        self.templates(), self.pod_stages(), self.chaos_rules()
        self.local_images()
        if self.process_isolation not in ISOLATIONS:
            expected = ", ".join(ISOLATIONS)
            raise TemplateError(f'--process-isolation: "{self.process_isolation}": expected one of {expected}')
        if self.process_dir is not None and self.process_dir.exists() and not self.process_dir.is_dir():
            raise TemplateError(f"--process-dir: {self.process_dir} is a file, expected a directory")

    def templates(self) -> dict[str, NodeTemplate]:
        """Return the template of each node by the node's name. Raises TemplateError."""
        templates = [NodeTemplate()] if self.node_template is None else _read_template_file(self.node_template)
        by_name: dict[str, NodeTemplate] = {}
        for template in templates:
            for number in range(self.nodes if template.count is None else template.count):
                name = template.name_of(number)
                if name in by_name:
                    raise TemplateError(
                        f'--node-template: {self.node_template}: two nodes would have the name "{name}"'
                    )
                by_name[name] = template
        return by_name

    def chaos_rules(self) -> Chaos:
        """Return the rules of the chaos file; empty rules without one. Raises TemplateError."""
        if self.chaos is None:
            return Chaos()
        from steersman.nodes.chaos.format import read_rules  # noqa: PLC0415 — few starts need it

        document = _read_yaml("--chaos", self.chaos)
        try:
            return Chaos(*read_rules(document))
        except TemplateError as error:
            raise TemplateError(f"--chaos: {self.chaos}: {error}") from None

    def local_images(self) -> LocalImages | None:
        """Return the local images of process pods; None without a file. Raises TemplateError."""
        if self.process_images is None:
            return None
        from steersman.nodes.processes.images import ImagesError, read_images  # noqa: PLC0415 — few starts need it

        try:
            return read_images(_read_yaml("--process-images", self.process_images))
        except ImagesError as error:
            raise TemplateError(f"--process-images: {self.process_images}: {error}") from None

    def pod_stages(self) -> tuple[Stage, ...]:
        """Return the stages of pods; the default set if none is configured. Raises TemplateError."""
        return self._stages().get(_PODS) or STAGE_SETS["default"]

    def node_stages(self) -> tuple[Stage, ...]:
        """Return the stages of nodes. Raises TemplateError.

        Unless one of them writes the status, ``NodeController`` reports node statuses.
        """
        return self._stages().get(_NODES, ())

    def object_stages(self) -> dict[tuple[str, str], tuple[Stage, ...]]:
        """Return the stages of other objects by API version and template. Raises TemplateError."""
        return {kind: stages for kind, stages in self._stages().items() if kind not in (_PODS, _NODES)}

    def _stages(self) -> dict[tuple[str, str], tuple[Stage, ...]]:
        stages: dict[tuple[str, str], dict[str, Stage]] = {}
        for name, file in self._files():
            if file is None:
                stages.setdefault(_PODS, {}).update({stage.name: stage for stage in STAGE_SETS[name]})
            else:
                for of in file.stages:
                    stages.setdefault((of.api_version, of.kind), {})[of.stage.name] = of.stage
        return {kind: tuple(stages.values()) for kind, stages in stages.items()}

    def usage_documents(self) -> list[Any]:
        """Return the documents about usage and metrics in the files of ``stages``. Raises TemplateError."""
        files = [file for _, file in self._files() if file is not None]
        return [document for file in files for documents in file.others.values() for document in documents]

    def _files(self) -> Iterator[tuple[str, KwokFile | None]]:
        """Yield the configured names, and the contents of files among them."""
        for name in filter(None, map(str.strip, self.stages.split(","))):
            if name in STAGE_SETS:
                yield name, None
                continue
            path = Path(name).expanduser()
            if not path.exists():
                raise TemplateError(f'--stages: "{name}" is neither a file nor one of {", ".join(STAGE_SETS)}')
            from steersman.nodes.kwok.stage_files import read_stage_file  # noqa: PLC0415 — few write stages

            try:
                yield name, read_stage_file(path)
            except TemplateError as error:
                raise TemplateError(f"--stages: {error}") from None


def _read_template_file(path: Path) -> list[NodeTemplate]:
    """Read the templates of a YAML file. Raise TemplateError, which names the file and the field."""
    document = _read_yaml("--node-template", path)
    try:
        return read_templates(document)
    except TemplateError as error:
        raise TemplateError(f"--node-template: {path}: {error}") from None


def _read_yaml(flag: str, path: Path) -> Any:
    from steersman.apimachinery.codec import DecodeError  # noqa: PLC0415 — with the reader of YAML

    try:
        return decode_yaml(path.read_bytes()).tree
    except OSError as error:
        raise TemplateError(f"{flag}: cannot read {path}: {errno_text(error)}") from None
    except DecodeError as error:
        raise TemplateError(f"{flag}: {path}: {error}") from None
