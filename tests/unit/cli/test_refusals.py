"""Every refusal of a command line, with its full text: no traceback, at most two lines, nothing started."""

from __future__ import annotations

import gc
import socket
import sqlite3
from typing import TYPE_CHECKING

import pytest

from steersman.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_POLICY = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Loud}]\n"
_FILES = {
    "garbage": "neither YAML nor PEM nor a database\n",
    "policy.yaml": _POLICY,
    "nodes.yaml": "nodes:\n- name: a\n  capacity: {cpu: many}\n",
    "template.yaml": "size: large\n",
    "stage.yaml": "apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: {name: s}\nspec: {foo: 1}\n",
    "scheduler.yaml": "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nfoo: 1\n",
}
_QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"

#: What ``up`` and ``apiserver`` refuse: flags, then the reason.
_API_SERVER = [
    ("--ephemral", "unknown flag: --ephemral; did you mean --ephemeral?"),
    ("stray", 'unexpected argument "stray", the command takes only flags'),
    ("--data-dir", "flag needs an argument: --data-dir"),
    ("--data-dir=", 'invalid argument "" for "--data-dir" flag: must not be empty'),
    ("--ephemeral=maybe", 'invalid argument "maybe" for "--ephemeral" flag: must be true or false'),
    ("--port=70000", 'invalid argument "70000" for "--port" flag: must be a port between 0 and 65535'),
    ("--secure-port=x", 'invalid argument "x" for "--secure-port" flag: must be a port between 0 and 65535'),
    ("--v=x", 'invalid argument "x" for "--v" flag: must be a whole number, 0 or more'),
    (
        "--request-timeout=soon",
        'invalid argument "soon" for "--request-timeout" flag: must be a duration such as 30s or 1m30s',
    ),
    ("--request-timeout=0", "--request-timeout: must be greater than 0"),
    (
        "--min-request-timeout=1m",
        'invalid argument "1m" for "--min-request-timeout" flag: must be a whole number, 0 or more',
    ),
    (
        "--max-requests-inflight=-1",
        'invalid argument "-1" for "--max-requests-inflight" flag: must be a whole number, 0 or more',
    ),
    # addresses and ports
    (
        "--bind-address=nonsense",
        'invalid argument "nonsense" for "--bind-address" flag: failed to parse IP: "nonsense"',
    ),
    ("--advertise-address=x", 'invalid argument "x" for "--advertise-address" flag: failed to parse IP: "x"'),
    ("--advertise-address=0.0.0.0", '--advertise-address: "0.0.0.0" is not an address that clients can reach'),
    ("--service-cluster-ip-range=x", '--service-cluster-ip-range: "x" is not a CIDR such as 10.0.0.0/24'),
    ("--service-cluster-ip-range=10.0.0.0", '--service-cluster-ip-range: "10.0.0.0" is not a CIDR such as 10.0.0.0/24'),
    (
        "--service-cluster-ip-range=10.0.0.1/24",
        '--service-cluster-ip-range: "10.0.0.1/24" has host bits set, expected 10.0.0.0/24',
    ),
    (
        "--service-cluster-ip-range=10.0.0.0/30",
        '--service-cluster-ip-range: "10.0.0.0/30": must be at least 8 IP addresses',
    ),
    (
        "--service-cluster-ip-range=10.0.0.0/24,10.1.0.0/24",
        '--service-cluster-ip-range: "10.0.0.0/24,10.1.0.0/24" must be of different IP families',
    ),
    (
        "--service-cluster-ip-range=10.0.0.0/24,fd00::/112,fd01::/112",
        "--service-cluster-ip-range must not contain more than two entries",
    ),
    (
        "--service-node-port-range=9-1",
        'invalid argument "9-1" for "--service-node-port-range" flag: must be a range of ports such as 30000-32767',
    ),
    ("--service-node-port-range=0-10", "--service-node-port-range: 0-10: ports must be between 1 and 65535"),
    (
        "--kubernetes-service-node-port=80",
        "--kubernetes-service-node-port: service port range 30000-32767 doesn't contain 80",
    ),
    # authentication and authorization
    ("--anonymous-auth=perhaps", 'invalid argument "perhaps" for "--anonymous-auth" flag: must be true or false'),
    (
        "--authorization-mode=Nope",
        '--authorization-mode: "Nope" is not a valid mode, expected ABAC, AlwaysAllow, AlwaysDeny, Node, RBAC, Webhook',
    ),
    ("--authorization-mode=RBAC,RBAC", '--authorization-mode: "RBAC" has mode specified more than once'),
    ("--authorization-mode=", "--authorization-mode: at least one authorization-mode must be passed"),
    ("--service-account-issuer=", "--service-account-issuer is a required flag"),
    ("--service-account-issuer=::", "--service-account-issuer: \"::\" contains a ':' but is not a valid URL"),
    (
        "--service-account-jwks-uri=http://x",
        '--service-account-jwks-uri: "http://x" must be a URL that begins with https://',
    ),
    (
        "--service-account-max-token-expiration=1s",
        "--service-account-max-token-expiration must be between 1 hour and 2^32 seconds",
    ),
    ("--oidc-issuer-url=https://x", "--oidc-issuer-url and --oidc-client-id must be specified together"),
    ("--oidc-client-id=c", "--oidc-issuer-url and --oidc-client-id must be specified together"),
    (
        "--oidc-issuer-url=http://x --oidc-client-id=c",
        '--oidc-issuer-url: "http://x" must be a URL that begins with https://',
    ),
    ("--oidc-groups-claim=g", "--oidc-groups-claim needs --oidc-issuer-url and --oidc-client-id"),
    (
        "--oidc-required-claim=a",
        'invalid argument "a" for "--oidc-required-claim" flag: must be of the form name=value',
    ),
    # files
    ("--token-auth-file=none", "--token-auth-file: cannot read none: no such file or directory"),
    ("--token-auth-file=folder", "--token-auth-file: folder is a directory, expected a file"),
    (
        "--cors-allowed-origins=example.com",
        (
            "--cors-allowed-origins has an invalid regular expression: regular expression does not pin to start/end of host in"
            " the origin header"
        ),
    ),
    (
        "--cors-allowed-origins=//(a$",
        "--cors-allowed-origins has an invalid regular expression: error parsing regexp: missing closing ): `//(a$`",
    ),
    *(
        (
            f"--strict-transport-security-directives={directive}",
            (
                "--strict-transport-security-directives invalid, allowed values: max-age=expireTime, includeSubDomains, preload."
                " see https://tools.ietf.org/html/rfc6797#section-6.1 for more information"
            ),
        )
        for directive in ("max-age", "max-age=1=2", "includesubdomains", "preload=1")
    ),
    ("--client-ca-file=none", "--client-ca-file: cannot read none: no such file or directory"),
    ("--client-ca-file=garbage", "--client-ca-file: garbage holds no PEM certificates"),
    ("--oidc-ca-file=none", "--oidc-ca-file: cannot read none: no such file or directory"),
    ("--tls-cert-file=garbage", "--tls-cert-file and --tls-private-key-file need each other"),
    (
        "--tls-cert-file=none --tls-private-key-file=garbage",
        "--tls-cert-file: cannot read none: no such file or directory",
    ),
    (
        "--tls-cert-file=garbage --tls-private-key-file=garbage",
        "--tls-cert-file and --tls-private-key-file: garbage and garbage are not a PEM certificate and its key",
    ),
    (
        "--tls-sni-cert-key=garbage",
        'invalid argument "garbage" for "--tls-sni-cert-key" flag: expected comma separated certificate and key file paths',
    ),
    ("--tls-sni-cert-key=none,garbage:a", "--tls-sni-cert-key: cannot read none: no such file or directory"),
    (
        "--tls-sni-cert-key=garbage,garbage",
        "--tls-sni-cert-key: garbage and garbage are not a PEM certificate and its key",
    ),
    ("--tls-cipher-suites=TLS_FOO", "--tls-cipher-suites: Cipher suite TLS_FOO not supported or doesn't exist"),
    (
        "--tls-curve-preferences=-1",
        "--tls-curve-preferences: curve preference -1 is out of range (must be 1-65535)",
    ),
    (
        "--service-account-signing-key-file=none",
        "--service-account-signing-key-file: cannot read none: no such file or directory",
    ),
    (
        "--service-account-signing-key-file=garbage",
        "--service-account-signing-key-file: garbage holds no PEM private key",
    ),
    (
        "--service-account-key-file=garbage,none",
        "--service-account-key-file: cannot read none: no such file or directory",
    ),
    ("--service-account-key-file=garbage", "--service-account-key-file: garbage: there is no PEM block in it"),
    (
        "--admission-control-config-file=none",
        "--admission-control-config-file: cannot read none: no such file or directory",
    ),
    ("--kubeconfig=folder", "--kubeconfig: folder is a directory, expected a file to write"),
    ("--kubeconfig=garbage/x", "--kubeconfig: cannot create garbage/x: {tmp}/garbage is not a directory"),
    ("--data-dir=garbage", "--data-dir: garbage is a file, expected a directory"),
    ("--data-dir=garbage/x/y", "--data-dir: cannot create garbage/x/y: {tmp}/garbage is not a directory"),
    # auditing
    ("--audit-policy-file=none", "--audit-policy-file: cannot read none: no such file or directory"),
    ("--audit-policy-file=garbage", "--audit-policy-file: garbage: Expected `object`, got `str`"),
    (
        "--audit-policy-file=policy.yaml",
        (
            '--audit-policy-file: policy.yaml: rules[0].level: unsupported value "Loud",'
            " use None, Metadata, Request, RequestResponse"
        ),
    ),
    ("--audit-log-path=folder", "--audit-log-path: folder is a directory, expected a file or -"),
    (
        "--audit-log-mode=x",
        '--audit-log-mode: "x" is not supported, expected one of batch, blocking, blocking-strict',
    ),
    ("--audit-log-format=x", '--audit-log-format: "x" is not supported, expected one of json, legacy'),
    ("--audit-log-version=v1", '--audit-log-version: "v1" is not supported, expected one of audit.k8s.io/v1'),
    ("--audit-log-batch-buffer-size=0", "--audit-log-batch-buffer-size: must be a positive number"),
    ("--audit-log-batch-max-size=0", "--audit-log-batch-max-size: must be a positive number"),
    (
        "--audit-log-batch-throttle-enable",
        "--audit-log-batch-throttle-qps: must be a positive number when throttling is enabled",
    ),
    (
        "--audit-log-batch-throttle-enable --audit-log-batch-throttle-qps=1",
        "--audit-log-batch-throttle-burst: must be a positive number when throttling is enabled",
    ),
    (
        "--audit-log-truncate-enabled --audit-log-truncate-max-batch-size=9",
        "--audit-log-truncate-max-batch-size: 9 must be at least the event size 102400",
    ),
    ("--audit-webhook-config-file=none", "--audit-webhook-config-file: cannot read none: no such file or directory"),
    ("--audit-webhook-config-file=garbage", "--audit-webhook-config-file: garbage is no kubeconfig"),
    (
        "--audit-webhook-mode=x",
        '--audit-webhook-mode: "x" is not supported, expected one of batch, blocking, blocking-strict',
    ),
    (
        "--audit-webhook-initial-backoff=x",
        'invalid argument "x" for "--audit-webhook-initial-backoff" flag: must be a duration such as 30s or 1m30s',
    ),
    # the API
    (
        "--endpoint-reconciler-type=x",
        '--endpoint-reconciler-type: "x" is unknown, expected one of lease, master-count, none',
    ),
    ("--apiserver-count=-1", "--apiserver-count should be a positive number, but value '-1' provided"),
    ("--apiserver-count=0", "--apiserver-count should be a positive number, but value '0' provided"),
    ("--feature-gates=Nope=true", "--feature-gates: unrecognized feature gate: Nope"),
    ("--feature-gates=NodeSwop=true", "--feature-gates: unrecognized feature gate: NodeSwop; did you mean NodeSwap?"),
    (
        "--feature-gates=NodeSwap",
        'invalid argument "NodeSwap" for "--feature-gates" flag: missing bool value for NodeSwap',
    ),
    (
        "--feature-gates=NodeSwap=yes",
        (
            'invalid argument "NodeSwap=yes" for "--feature-gates" flag: invalid value of NodeSwap=yes,'
            ' err: strconv.ParseBool: parsing "yes": invalid syntax'
        ),
    ),
    (
        "--feature-gates=NodeSwap=false",
        "--feature-gates: cannot set feature gate NodeSwap to false, feature is locked to true",
    ),
    (
        "--feature-gates=GitRepoVolumeDriver=true",
        "--feature-gates: cannot set feature gate GitRepoVolumeDriver to true, feature is locked to false",
    ),
    (
        "--feature-gates=etcd:A=true",
        'invalid argument "etcd:A=true" for "--feature-gates" flag: component not registered: etcd',
    ),
    ("--runtime-config=foo/v1=true", "--runtime-config: unknown api groups foo"),
    ("--runtime-config=foo/v1=true,bar/v1=false", "--runtime-config: unknown api groups foo,bar"),
    ("--runtime-config=foo=true", "--runtime-config: runtime-config invalid key foo"),
    ("--runtime-config=api/all=false", "--runtime-config: invalid key with only api/all=false"),
    (
        "--runtime-config=api/ga=false",
        "--runtime-config: api/ga=false: GA versions of built-in APIs cannot be disabled",
    ),
    (
        "--runtime-config=apps/v1=false",
        "--runtime-config: apps/v1=false: GA versions of built-in APIs cannot be disabled",
    ),
    ("--runtime-config=apps/v9", "--runtime-config: apps/v9 is not served, expected apps/v1"),
    ("--runtime-config=apps/v1/podss=true", "--runtime-config: apps/v1 has no resource podss"),
    (
        "--runtime-config=apps/v1=maybe",
        (
            'invalid argument "apps/v1=maybe" for "--runtime-config" flag: invalid value of apps/v1: maybe,'
            ' err: strconv.ParseBool: parsing "maybe": invalid syntax'
        ),
    ),
]

#: What ``up`` refuses beyond that.
_UP = [
    ("--nodes=-1", 'invalid argument "-1" for "--nodes" flag: must be a whole number, 0 or more'),
    (
        "--controllers=nope",
        'invalid argument "nope" for "--controllers" flag: "nope" is not in the list of known controllers',
    ),
    (
        "--controllers -nope",
        'invalid argument "-nope" for "--controllers" flag: "nope" is not in the list of known controllers',
    ),
    ("--node-template=none", "--node-template: cannot read none: no such file or directory"),
    ("--node-template=folder", "--node-template: cannot read folder: is a directory"),
    ("--node-template=garbage", "--node-template: garbage: document: expected `object`, got `str`"),
    ("--node-template=nodes.yaml", f'--node-template: nodes.yaml: nodes[0].capacity.cpu: "many": {_QUANTITY}'),
    (
        "--node-template=template.yaml",
        (
            "--node-template: template.yaml: size: unknown field, expected one of"
            " name, count, capacity, allocatable, labels, annotations, taints, architecture"
        ),
    ),
    ("--stages=x", '--stages: "x" is neither a file nor one of default, never-end'),
    ("--stages=default,stage.yaml", "--stages: stage.yaml: stage s: Object contains unknown field `foo` - at `$.spec`"),
    ("--process-dir=garbage", "--process-dir: garbage is a file, expected a directory"),
    ("--process-isolation=x", '--process-isolation: "x": expected one of auto, namespaces, none'),
    ("--process-images=none", "--process-images: cannot read none: no such file or directory"),
    ("--process-images=garbage", "--process-images: garbage: document: Expected `object`, got `str`"),
    ("--process-pods=x", 'invalid argument "x" for "--process-pods" flag: must be true or false'),
    ("--simulated-storage=x", 'invalid argument "x" for "--simulated-storage" flag: must be true or false'),
]

_LEADER_ELECTION = [
    ("--leader-elect-lease-duration=5s", "--leader-elect: leaseDuration must be greater than renewDeadline"),
    ("--leader-elect-retry-period=9s", "--leader-elect: renewDeadline must be greater than retryPeriod*JitterFactor"),
    ("--leader-elect=x", 'invalid argument "x" for "--leader-elect" flag: must be true or false'),
    ("--kubeconfig=none", "--kubeconfig: cannot read none: no such file or directory"),
    ("--address=x", 'invalid argument "x" for "--address" flag: failed to parse IP: "x"'),
    ("--port=70000", 'invalid argument "70000" for "--port" flag: must be a port between 0 and 65535'),
    ("--kube-api-qps=x", 'invalid argument "x" for "--kube-api-qps" flag: must be a number, 0 or more'),
    ("--kube-api-burst=0", 'invalid argument "0" for "--kube-api-burst" flag: must be greater than 0'),
    ("--logging-format=xml", 'invalid argument "xml" for "--logging-format" flag: must be one of text, json'),
    ("--leader-elec", "unknown flag: --leader-elec; did you mean --leader-elect?"),
]

_COMPONENTS = [
    *(("controller-manager", *case) for case in _LEADER_ELECTION),
    (
        "controller-manager",
        "--controllers=*,-nope",
        'invalid argument "*,-nope" for "--controllers" flag: "nope" is not in the list of known controllers',
    ),
    ("controller-manager", "--feature-gates=Nope=true", "--feature-gates: unrecognized feature gate: Nope"),
    (
        "controller-manager",
        "--leader-elect-resource-lock=endpoints",
        '--leader-elect-resource-lock: "endpoints" is not supported, expected leases',
    ),
    (
        "controller-manager",
        "--concurrent-deployment-syncs=0",
        'invalid argument "0" for "--concurrent-deployment-syncs" flag: must be greater than 0',
    ),
    (
        "controller-manager",
        "--cluster-signing-cert-file=garbage",
        "--cluster-signing-cert-file and --cluster-signing-key-file need each other",
    ),
    ("controller-manager", "--root-ca-file=none", "--root-ca-file: cannot read none: no such file or directory"),
    (
        "controller-manager",
        "--service-account-private-key-file=none",
        "--service-account-private-key-file: cannot read none: no such file or directory",
    ),
    ("controller-manager", "--cluster-cidr=x", '--cluster-cidr: "x" is not a CIDR such as 10.0.0.0/24'),
    (
        "controller-manager",
        "--service-cluster-ip-range=x",
        '--service-cluster-ip-range: "x" is not a CIDR such as 10.0.0.0/24',
    ),
    (
        "controller-manager",
        "--allocate-node-cidrs",
        "--allocate-node-cidrs: --cluster-cidr is needed where Nodes are to get ranges",
    ),
    (
        "controller-manager",
        "--node-cidr-mask-size=200",
        'invalid argument "200" for "--node-cidr-mask-size" flag: must be between 0 and 128',
    ),
    (
        "controller-manager",
        "--cidr-allocator-type=x",
        '--cidr-allocator-type: "x" is not supported, expected RangeAllocator',
    ),
    (
        "controller-manager",
        "--unhealthy-zone-threshold=2",
        'invalid argument "2" for "--unhealthy-zone-threshold" flag: must be between 0 and 1',
    ),
    *(("scheduler", *case) for case in _LEADER_ELECTION),
    ("scheduler", "--config=none", "--config: none: No such file or directory"),
    (
        "scheduler",
        "--config=garbage",
        "--config: garbage: couldn't decode as KubeSchedulerConfiguration: it is no object",
    ),
    (
        "scheduler",
        "--config=scheduler.yaml",
        '--config: scheduler.yaml: strict decoding error: unknown field "foo"',
    ),
    (
        "scheduler",
        "--percentage-of-nodes-to-score=101",
        'invalid argument "101" for "--percentage-of-nodes-to-score" flag: must be between 0 and 100',
    ),
    *(("nodes", *case) for case in _UP if not case[0].startswith("--controllers")),
    ("nodes", "--kubeconfig=none", "--kubeconfig: cannot read none: no such file or directory"),
    ("nodes", "--kubelet-address=x", 'invalid argument "x" for "--kubelet-address" flag: failed to parse IP: "x"'),
    (
        "nodes",
        "--kubelet-port=99999",
        'invalid argument "99999" for "--kubelet-port" flag: must be a port between 0 and 65535',
    ),
    (
        "nodes",
        "--kubelet-key-file=garbage",
        (
            "--kubelet-certificate-file is missing:"
            " --kubelet-certificate-file, --kubelet-key-file, --kubelet-client-ca-file need each other"
        ),
    ),
    ("status", "stray", 'unexpected argument "stray", the command takes only flags'),
    ("down", "--al", "unknown flag: --al; did you mean --all?"),
    ("down", "--timeout=soon", 'invalid argument "soon" for "--timeout" flag: must be a duration such as 30s or 1m30s'),
    ("elections", "--kubeconfig=none", "--kubeconfig: cannot read none: no such file or directory"),
    ("elections", "--namespac=x", "unknown flag: --namespac; did you mean --namespace?"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory with files that hold something else; the user's directories are elsewhere, too."""
    for name, text in _FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "TMPDIR"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    yield tmp_path
    gc.enable()  # ``up`` and ``apiserver`` switch it off


def refuse(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Run a command in this process; return its exit code and what it writes to stderr."""
    try:
        code = main(arguments)
    except SystemExit as stopped:
        code = int(stopped.code or 0)
    out, err = capsys.readouterr()
    assert out == ""
    return code, err


@pytest.mark.parametrize(
    ("command", "flags", "reason"),
    [
        *(("up", *case) for case in _API_SERVER),
        *(("up", *case) for case in _UP),
        *(("apiserver", *case) for case in _API_SERVER),
        *_COMPONENTS,
    ],
)
def test_unusable_flag_is_refused_before_anything_starts(
    command: str, flags: str, reason: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = sorted(folder.iterdir())
    usage = f"run 'steersman {command} --help' for usage"
    line = f"steersman {command}: {reason.format(tmp=folder) if '{tmp}' in reason else reason}"
    assert refuse(capsys, command, *flags.split()) == (2, f"{line}\n{usage}\n")
    assert sorted(folder.iterdir()) == files


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["upp"], 'unknown command "upp"; did you mean "up"?'),
        (["sideways"], 'unknown command "sideways"'),
        (["--verison"], "unknown flag: --verison"),
    ],
)
def test_unknown_command_is_refused(arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert refuse(capsys, *arguments) == (2, f"steersman: {reason}\nrun 'steersman --help' for usage\n")


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (
            "--token-auth-file=garbage",
            "--token-auth-file: garbage, row 1: at least 3 columns are needed (token, user name, user uid)",
        ),
        ("--admission-control-config-file=garbage", "--admission-control-config-file: garbage holds no object"),
        (
            "--admission-control-config-file=policy.yaml",
            "--admission-control-config-file: policy.yaml holds no AdmissionConfiguration of apiserver.config.k8s.io/v1",
        ),
        (
            "--enable-admission-plugins=AlwaysPullImage",
            '--enable-admission-plugins: plugin "AlwaysPullImage" is unknown; did you mean AlwaysPullImages?',
        ),
        ("--disable-admission-plugins=Nope", '--disable-admission-plugins: plugin "Nope" is unknown'),
        (
            "--enable-admission-plugins=AlwaysAdmit --disable-admission-plugins=AlwaysAdmit",
            "--enable-admission-plugins and --disable-admission-plugins overlap: AlwaysAdmit",
        ),
        (
            "--oidc-issuer-url=https://x --oidc-client-id=c --oidc-signing-algs=none",
            (
                '--oidc-signing-algs: "none" is not supported, expected one of'
                " ES256, ES384, ES512, PS256, PS384, PS512, RS256, RS384, RS512"
            ),
        ),
        (
            "--bind-address=192.0.2.7",
            "--bind-address: cannot listen on 192.0.2.7 port 0: cannot assign requested address",
        ),
        (
            "--advertise-address=2001:db8::1",
            '--advertise-address: service IP family "10.0.0.0/24" must match public address family "2001:db8::1"',
        ),
    ],
)
@pytest.mark.parametrize("command", ["up", "apiserver"])
def test_start_with_unusable_file_or_plugin_is_refused(
    command: str, flags: str, reason: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.joinpath("home").mkdir()
    assert refuse(capsys, command, "--ephemeral", "--port=0", *flags.split()) == (1, f"steersman: {reason}\n")
    assert list(folder.joinpath("home").iterdir()) == []


@pytest.mark.usefixtures("folder")
def test_port_in_use_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    tmp_path.joinpath("home").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert refuse(capsys, "apiserver", "--ephemeral", f"--port={port}") == (
            1,
            (
                f"steersman: --secure-port: cannot listen on 127.0.0.1 port {port}: address already in use;"
                " --port=0 takes any free one\n"
            ),
        )


def test_database_of_another_format_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = folder / "folder" / "state.db"
    state.write_text(_FILES["garbage"] * 100)
    reason = "folder/state.db is not a Steersman store (not a database); it was left untouched"
    hint = "choose another data directory"
    assert refuse(capsys, "up", "--data-dir=folder", "--port=0") == (1, f"steersman: {reason}, {hint}\n")
    state.unlink()
    with sqlite3.connect(state) as database:
        database.execute("CREATE TABLE other (id INTEGER)")
    database.close()
    reason = "folder/state.db is not a Steersman store (a database of some other program); it was left untouched"
    assert refuse(capsys, "up", "--data-dir=folder", "--port=0") == (1, f"steersman: {reason}, {hint}\n")


def test_damaged_certificate_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pki = folder / "folder" / "pki"
    pki.mkdir()
    (pki / "ca.crt").write_text("garbage")
    (pki / "ca.key").write_text("garbage")
    (pki / "ca.json").write_text('{"not_after": "2100-01-01T00:00:00Z", "names": []}')
    code, text = refuse(capsys, "apiserver", "--data-dir=folder", "--storage=memory", "--port=0")
    assert code == 1
    assert text.startswith("steersman: folder/pki/ca.crt and folder/pki/ca.key are no usable CA (")
    assert text.endswith(
        "); restore them, or remove folder/pki to create a new CA, which no present kubeconfig trusts\n"
    )


def test_directory_of_another_user_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.access", lambda _path, _mode: False)  # the tests may run as root, who may do everything
    owner = folder.stat().st_uid
    monkeypatch.setattr("os.geteuid", lambda: owner + 1)
    usage = "run 'steersman up --help' for usage\n"
    assert refuse(capsys, "up", "--data-dir=folder") == (
        2,
        f"steersman up: --data-dir: folder is not writable (it belongs to user {owner})\n{usage}",
    )
    assert refuse(capsys, "up", "--data-dir=new/state") == (
        2,
        f"steersman up: --data-dir: cannot create new/state: {folder} is not writable\n{usage}",
    )
