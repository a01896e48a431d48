"""HTTPS serving of a component by its flags."""

import pytest

from steersman.cli import controller_manager
from steersman.cli.controller_manager import parse
from steersman.cli.controller_manager_flags import CONTROLLER_MANAGER_FLAGS
from steersman.cli.serving import flag_values
from steersman.controllers.manager.options import ManagerOptions
from steersman.runtime.serving_options import ControllerManagerServing


def test_flags_set_the_options_of_serving():
    _, process = parse(["--secure-port=1", "--bind-address=::1", "--authorization-always-allow-paths=/a,/b"])
    options, description = process.serving
    assert (options.secure_port, options.bind_address) == (1, "::1")
    assert options.authorization_always_allow_paths == ("/a", "/b")
    assert description.component == "kube-controller-manager"
    assert description.configuration["securePort"] == 1


def test_flag_values_are_those_given_and_defaults():
    parsed = controller_manager.parser().parse_args(
        [
            "--leader-elect-lease-duration=1m",
            "--feature-gates=A=true,B=false",
            "--cluster-name=c",
            "--controllers=*,-ttl",
        ]
    )
    values = flag_values(parsed, CONTROLLER_MANAGER_FLAGS, ManagerOptions, ControllerManagerServing)
    expected = {
        "leader-elect-lease-duration": "1m0s", "leader-elect-renew-deadline": "10s", "feature-gates": "A=true,B=false",
        "cluster-name": "c", "controllers": "*,-ttl", "profiling": "true", "kubeconfig": "",
    }  # fmt: skip
    assert {name: values[name] for name in expected} == expected
    assert "cloud-config" not in values


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("--tls-cert-file=/a", "--tls-cert-file and --tls-private-key-file need each other"),
        ("--tls-sni-cert-key=/dev/null,/dev/null", "--tls-sni-cert-key: /dev/null and /dev/null are not a PEM"),
        ("--tls-cipher-suites=TLS_FOO", "--tls-cipher-suites: Cipher suite TLS_FOO not supported or doesn't exist"),
        ("--tls-curve-preferences=23,23", "--tls-curve-preferences: duplicate curve preference 23"),
        ("--client-ca-file=/missing", "--client-ca-file: cannot read /missing"),
        ("--authentication-kubeconfig=/missing", "--authentication-kubeconfig: cannot read /missing"),
        ("--authorization-always-allow-paths=/a*b", "only trailing * allowed"),
        ("--client-ca-file=/dev/null", "--client-ca-file: /dev/null holds no PEM certificates"),
    ],
)
def test_options_that_cannot_be_used_end_the_command(argument, message, capsys):
    with pytest.raises(SystemExit):
        parse([argument])
    assert message in capsys.readouterr().err


def test_insecure_cipher_suites_are_logged():
    _, process = parse(["--tls-cipher-suites=TLS_RSA_WITH_AES_128_CBC_SHA"])
    assert "Use of insecure cipher 'TLS_RSA_WITH_AES_128_CBC_SHA' detected." in process.warnings
