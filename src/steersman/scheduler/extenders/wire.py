"""Messages between scheduler and extender.

Names of fields are Go's, without JSON tags; as Go's decoder does, answers may spell them in any case.
Upstream: staging/src/k8s.io/kube-scheduler/extender/v1/types.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from steersman.scheduler.framework import ExtenderError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from steersman.scheduler.framework import Victims
    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.pod_info import PodInfo

#: Scores of extenders range from 0 to 10 (``MaxExtenderPriority``).
PRIORITY_MAX: Final = 10
_INT64: Final = range(-(2**63), 2**63)


class FilterResult(NamedTuple):
    """``ExtenderFilterResult``."""

    #: Names of the nodes that passed.
    nodes: Sequence[str]
    #: Messages of the others by node.
    failed: Mapping[str, str]
    #: Messages of nodes on which preemption does not help; they take precedence over ``failed``.
    unresolvable: Mapping[str, str]


class MetaVictims(NamedTuple):
    """``MetaVictims``: UIDs of the pods to evict."""

    uids: Sequence[str]
    violations: int


def encode_args(pod: PodInfo, nodes: Iterable[NodeInfo], *, as_names: bool) -> bytes:
    """Encode ``ExtenderArgs``."""
    node_list = None if as_names else {"metadata": {}, "items": [node.node for node in nodes]}
    names = [node.name for node in nodes] if as_names else None
    return msgspec.json.encode({"Pod": pod.pod, "Nodes": node_list, "NodeNames": names})


def encode_preemption_args(pod: PodInfo, candidates: Iterable[Victims], *, as_uids: bool) -> bytes:
    """Encode ``ExtenderPreemptionArgs``."""
    victims = {
        candidate.node: {
            "Pods": [{"UID": victim.uid} if as_uids else victim.pod for victim in candidate.pods],
            "NumPDBViolations": candidate.violations,
        }
        for candidate in candidates
    }
    key, other = "NodeNameToVictims", "NodeNameToMetaVictims"
    if as_uids:
        key, other = other, key
    return msgspec.json.encode({"Pod": pod.pod, key: victims, other: None})


def encode_binding_args(pod: PodInfo, node: str) -> bytes:
    """Encode ``ExtenderBindingArgs``."""
    return msgspec.json.encode(
        {"PodName": pod.name, "PodNamespace": pod.namespace, "PodUID": pod.uid, "Node": node}
    )  # fmt: skip


def decode_filter_result(body: bytes, *, as_names: bool) -> FilterResult:
    """Decode ``ExtenderFilterResult``. Raises ``ExtenderError``, also for the error that the extender reports."""
    result = _Object("ExtenderFilterResult", _decode(body))
    _raise_reported(result)
    names = result.strings("NodeNames") if as_names else None
    if names is None:
        nodes = _Object("NodeList", result.get("Nodes"))
        metadata = [_Object("Node", node).get("metadata") for node in nodes.items("items")]
        names = [_Object("ObjectMeta", item).string("name") for item in metadata]
    return FilterResult(names, result.messages("FailedNodes"), result.messages("FailedAndUnresolvableNodes"))


def decode_priorities(body: bytes) -> list[tuple[str, int]]:
    """Decode ``HostPriorityList`` to scores by node. Raises ``ExtenderError``."""
    tree = _decode(body)
    if tree is not None and not isinstance(tree, list):
        raise _mismatch(tree, "value of type v1.HostPriorityList")
    priorities = [_Object("HostPriority", item) for item in tree or ()]
    return [(priority.string("Host"), priority.integer("Score")) for priority in priorities]


def decode_preemption_result(body: bytes) -> dict[str, MetaVictims]:
    """Decode ``ExtenderPreemptionResult`` to victims by node. Raises ``ExtenderError``."""
    result = _Object("ExtenderPreemptionResult", _decode(body))
    victims: dict[str, MetaVictims] = {}
    for node, value in result.mapping("NodeNameToMetaVictims").items():
        meta = _Object("MetaVictims", value)
        uids = [_Object("MetaPod", pod).string("UID") for pod in meta.items("Pods")]
        victims[node] = MetaVictims(uids, meta.integer("NumPDBViolations"))
    return victims


def check_binding_result(body: bytes) -> None:
    """Decode ``ExtenderBindingResult``. Raises ``ExtenderError``, also for the error that the extender reports."""
    _raise_reported(_Object("ExtenderBindingResult", _decode(body)))


def _raise_reported(result: _Object) -> None:
    error = result.string("Error")
    if error:
        raise ExtenderError(error)


def _decode(body: bytes) -> Any:
    if not body.strip():
        raise ExtenderError("EOF")
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ExtenderError(f"the answer is no JSON: {error}") from None


class _Object:
    """A decoded object, whose fields are read with a check of their type. null stands for the zero value."""

    def __init__(self, name: str, tree: Any) -> None:
        if tree is not None and not isinstance(tree, dict):
            raise _mismatch(tree, f"value of type v1.{name}")
        self._name = name
        self._tree: dict[str, Any] = tree or {}

    def get(self, key: str) -> Any:
        """Return a field; the exact spelling takes precedence."""
        if key in self._tree:
            return self._tree[key]
        folded = key.lower()
        return next((value for name, value in self._tree.items() if name.lower() == folded), None)

    def string(self, key: str) -> str:
        value = self.get(key)
        if value is None:
            return ""
        return str(self._checked(value, str, key, "string"))

    def integer(self, key: str) -> int:
        value = self.get(key)
        if value is None:
            return 0
        if not isinstance(value, int) or isinstance(value, bool) or value not in _INT64:
            raise self._mismatch(value, key, "int64")
        return value

    def items(self, key: str) -> list[Any]:
        value = self.get(key)
        return [] if value is None else list(self._checked(value, list, key, "slice"))

    def mapping(self, key: str) -> dict[str, Any]:
        value = self.get(key)
        return {} if value is None else dict(self._checked(value, dict, key, "map"))

    def strings(self, key: str) -> list[str] | None:
        value = self.get(key)
        if value is None:
            return None
        return [str(self._checked(item, str, key, "string")) for item in self.items(key)]

    def messages(self, key: str) -> dict[str, str]:
        checked = self.mapping(key).items()
        return {node: str(self._checked(message or "", str, key, "string")) for node, message in checked}

    def _checked(self, value: Any, type_: type, key: str, go_type: str) -> Any:
        if not isinstance(value, type_):
            raise self._mismatch(value, key, go_type)
        return value

    def _mismatch(self, value: Any, key: str, go_type: str) -> ExtenderError:
        return _mismatch(value, f"struct field {self._name}.{key} of type {go_type}")


def _mismatch(value: Any, place: str) -> ExtenderError:
    kind = {bool: "bool", str: "string", list: "array", dict: "object"}.get(type(value), "number")
    return ExtenderError(f"json: cannot unmarshal {kind} into Go {place}")
