"""The flags of Kubernetes 1.36: which are accepted, in which forms, and with which defaults."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import yaml
from tests.unit.cli import kubeadm_lines

from steersman.apimachinery.durations import parse_duration
from steersman.cli import components, controller_manager, flags
from steersman.cli.apiserver_flags import API_SERVER_FLAGS
from steersman.cli.controller_manager_flags import CONTROLLER_MANAGER_FLAGS
from steersman.cli.scheduler_flags import SCHEDULER_FLAGS
from steersman.controllers.manager.options import ManagerOptions
from steersman.controlplane.options import APIServerOptions
from steersman.runtime.serving_options import ControllerManagerServing, SchedulerServing
from steersman.scheduler.options import SchedulerOptions

FACTS = Path(__file__).parents[4] / "shared" / "facts" / "flags.yaml"
needs_facts = pytest.mark.skipif(not FACTS.is_file(), reason="no recorded facts beside this checkout")

API_SERVER, MANAGER, SCHEDULER = COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
PARSERS = {
    API_SERVER: lambda: flags.parser("apiserver"),
    MANAGER: controller_manager.parser,
    SCHEDULER: lambda: components.parser("scheduler"),
}
TABLES = {API_SERVER: API_SERVER_FLAGS, MANAGER: CONTROLLER_MANAGER_FLAGS, SCHEDULER: SCHEDULER_FLAGS}
OPTIONS = {
    API_SERVER: (APIServerOptions,),
    MANAGER: (ManagerOptions, ControllerManagerServing),
    SCHEDULER: (SchedulerOptions, SchedulerServing),
}
#: Flags of upstream that the facts leave out.
NOT_RECORDED = {"version", "vmodule"}
#: Flags of this project.
PROCESS = {"die-with-parent", "help-all", "parent-pipe"}
OWN = {
    API_SERVER: PROCESS
    | {
        "apiserver-count",
        "data-dir",
        "ephemeral",
        "kubeconfig",
        "merge",
        "name",
        "port",
        "storage",
        "system-namespaces",
    },
    MANAGER: PROCESS
    | {"address", "coordinated-leader-election", "leader-elect-identity", "leader-elect-restart", "port"},
    SCHEDULER: PROCESS
    | {
        "address",
        "coordinated-leader-election",
        "leader-elect-restart",
        "percentage-of-nodes-to-score",
        "port",
        "scheduler-name",
    },
}
#: A value of each type of the facts.
SAMPLES = {
    "Level": "2", "bool": "true", "colonSeparatedMultimapStringString": "CoordinatedLeaderElection=true",
    "duration": "1m30s", "float": "0.5", "float32": "0.5", "int": "7", "int32": "7", "int32Slice": "23,24",
    "ip": "127.0.0.1", "mapStringString": "a=true", "namedCertKey": "a,b:c", "portRange": "30000-32767", "quantity": "1Mi",
    "string": "a", "stringArray": "a", "stringToString": "a=b", "strings": "a,b",
}  # fmt: skip
#: Values of flags that do not take every value of their type.
SPECIAL = {
    "cloud-provider": "external", "controllers": "*,-foo-controller", "emulated-version": "kube=1.36", "logging-format": "json",
    "min-compatibility-version": "kube=1.35", "tls-min-version": "VersionTLS12", "tls-curve-preferences": "23,24",
    "name": "dev", "goaway-chance": "0.01", "storage-backend": "etcd3", "show-hidden-metrics-for-version": "1.35",
}  # fmt: skip
#: Defaults that are not upstream's; ``docs/compatibility.md`` has the reasons.
OTHER_DEFAULTS = {
    (API_SERVER, "disable-http2-serving"),  # HTTP/2 costs a multiple (decision 0018)
    (API_SERVER, "authorization-mode"), (API_SERVER, "bind-address"), (API_SERVER, "requestheader-allowed-names"),
    (API_SERVER, "requestheader-extra-headers-prefix"), (API_SERVER, "requestheader-group-headers"),
    (API_SERVER, "requestheader-username-headers"), (API_SERVER, "service-account-issuer"),
    (API_SERVER, "service-cluster-ip-range"), (API_SERVER, "storage-media-type"), (MANAGER, "bind-address"), (MANAGER, "kube-api-qps"),
    (SCHEDULER, "bind-address"), (SCHEDULER, "kube-api-qps"),
}  # fmt: skip


def facts(component):
    return yaml.safe_load(FACTS.read_text())[component]


def names(parser):
    return {option[2:] for option in parser._option_string_actions if option.startswith("--")}


def sample(name, kind):
    return SPECIAL.get(name, SAMPLES[kind]).replace("-foo-controller", "-ttl-controller")


@needs_facts
@pytest.mark.parametrize("component", COMPONENTS)
def test_flags_are_those_of_upstream_and_our_own(component):
    assert names(PARSERS[component]()) == set(facts(component)) | NOT_RECORDED | OWN[component]


@needs_facts
@pytest.mark.parametrize("component", COMPONENTS)
def test_upstream_flags_are_accepted_in_every_form(component):
    parser = PARSERS[component]()
    refused = {flag.name for rows in TABLES[component].values() for flag in rows if flag.refused}
    for name, text in facts(component).items():
        kind = text.split()[0]
        if name == "help" or name in refused:
            continue
        value = sample(name, kind)
        source = [f"--{name}={value}"], [f"--{name.replace('-', '_')}={value}"]
        forms = [*source, [f"--{name}"] if kind == "bool" else [f"--{name}", value]]
        parsed = [vars(parser.parse_args(form)) for form in forms]
        assert parsed[0] == parsed[1] == parsed[2], name


@needs_facts
@pytest.mark.parametrize("component", COMPONENTS)
def test_defaults_of_options_are_upstreams(component):
    recorded = facts(component)
    defaults = {name: value for kind in OPTIONS[component] for name, value in msgspec.structs.asdict(kind()).items()}
    other = set()
    for flag in (flag for rows in TABLES[component].values() for flag in rows):
        if flag.target in defaults and flag.name in recorded:
            kind, _, default = recorded[flag.name].partition(" default ")
            if comparable(defaults[flag.target]) != recorded_default(kind, default):
                other.add((component, flag.name))
    assert other == {other_default for other_default in OTHER_DEFAULTS if other_default[0] == component}


def comparable(default):
    if isinstance(default, dict):
        return sorted(default.items())
    return list(default) if isinstance(default, tuple) else default or None


def recorded_default(kind, text):
    """Return the default of a flag in the facts as a Python value; None where it is the type's zero value."""
    if kind == "portRange":
        return [int(port) for port in text.split("-")]
    if kind in ("strings", "stringArray", "int32Slice", "namedCertKey", "stringToString", "mapStringString"):
        return [part for part in text.strip("[]").split(",") if part]
    if kind == "colonSeparatedMultimapStringString":
        return []
    if kind == "duration":
        return parse_duration(text) if text else None
    if kind == "bool":
        return text == "true" or None
    if kind in ("int", "int32", "float", "float32"):
        return float(text) if text else None
    return text.strip('"') or None


@pytest.mark.parametrize(
    ("component", "line"),
    [
        (API_SERVER, kubeadm_lines.API_SERVER),
        (MANAGER, kubeadm_lines.CONTROLLER_MANAGER),
        (SCHEDULER, kubeadm_lines.SCHEDULER),
    ],
)
def test_command_lines_of_kubeadm_are_accepted(component, line):
    parsed = vars(PARSERS[component]().parse_args(line))
    assert {word.removeprefix("--").partition("=")[0].replace("-", "_") for word in line} <= parsed.keys()


@pytest.mark.parametrize("component", COMPONENTS)
def test_flags_without_option_have_a_reason(component):
    """Without a reason are flags that another option stands for."""
    options = {name for kind in OPTIONS[component] for name in kind.__struct_fields__} | {
        "feature_gates",
        "write_config_to",
    }
    without = {
        flag.name
        for rows in TABLES[component].values()
        for flag in rows
        if flag.target not in options and not (flag.unused or flag.refused)
    }
    assert without <= ({"emulated-version"} if component == "kube-apiserver" else set())
