"""Client certificates presented by curl, openssl and kubectl: one that does not verify counts as none."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.testing import ControlPlane

PATH = "/api/v1/namespaces/default/configmaps"


class Authority:
    """Certificate authority made by ``openssl``; it signs clients and further authorities."""

    def __init__(self, directory: Path, name: str, parent: Authority | None = None) -> None:
        self._directory = directory
        self.certificate, self._key = directory / f"{name}.crt", directory / f"{name}.key"
        usage = ("basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign")
        _sign(self.certificate, self._key, f"/CN={name}", usage, parent)

    @property
    def arguments(self) -> tuple[str, ...]:
        """Arguments of ``openssl req`` for certificates signed by this authority."""
        return ("-CA", str(self.certificate), "-CAkey", str(self._key))

    def sign(self, name: str, *, usage: str = "clientAuth", begin: int = -1, end: int = 1) -> Path:
        """Return a file with certificate and key of a user; valid from and to the given days from now."""
        certificate, key = self._directory / f"{name}-user.crt", self._directory / f"{name}-user.key"
        _sign(certificate, key, f"/O=system:masters/CN={name}", (f"extendedKeyUsage={usage}",), self, begin, end)
        file = self._directory / f"{name}.pem"
        file.write_bytes(certificate.read_bytes() + key.read_bytes())
        return file

    def with_chain(self, pair: Path) -> Path:
        """Return a file with a pair and, after it, the certificate of this authority."""
        file = pair.with_suffix(".chain.pem")
        file.write_bytes(pair.read_bytes() + self.certificate.read_bytes())
        return file


def _sign(
    certificate: Path, key: Path, subject: str, extensions: tuple[str, ...], parent: Authority | None, begin: int = -1, end: int = 9
) -> None:  # fmt: skip
    signed_by = () if parent is None else parent.arguments
    now = datetime.now(UTC)  # noqa: TID251
    first, last = (f"{now + timedelta(days=days):%Y%m%d%H%M%SZ}" for days in (begin, end))
    request, config = certificate.with_suffix(".csr"), certificate.with_suffix(".ext")
    config.write_text("[default]\n" + "\n".join(extensions) + "\n")
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    _openssl("req", "-new", *curve, "-keyout", str(key), "-out", str(request), "-subj", subject)
    signer = ("-selfsign", "-keyfile", str(key)) if not signed_by else ("-cert", signed_by[1], "-keyfile", signed_by[3])
    database = certificate.with_suffix(".index")
    database.write_text("")
    authority = certificate.with_suffix(".cnf")
    authority.write_text(
        f"[ca]\ndefault_ca=a\n[a]\ndatabase={database}\nnew_certs_dir={certificate.parent}\nrand_serial=yes\n"
        "default_md=sha256\npolicy=p\nunique_subject=no\n[p]\ncommonName=supplied\norganizationName=optional\n"
    )
    _openssl(
        "ca", "-batch", "-config", str(authority), *signer, "-in", str(request), "-out", str(certificate), "-notext",
        "-startdate", first, "-enddate", last, "-extfile", str(config), "-extensions", "default",
    )  # fmt: skip


def _openssl(*arguments: str) -> None:
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, check=False, timeout=HANG_SECONDS)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("authorities")


@pytest.fixture(scope="module")
def authority(directory: Path) -> Authority:
    return Authority(directory, "clients")


@pytest.fixture(scope="module")
def plane(authority: Authority) -> Iterator[ControlPlane]:
    with ControlPlane(arguments=[f"--client-ca-file={authority.certificate}"]) as started:
        yield started


@pytest.fixture(scope="module")
def pairs(directory: Path, authority: Authority) -> dict[str, Path]:
    """Certificates by what is special about them."""
    foreign, middle = Authority(directory, "foreign"), Authority(directory, "middle", authority)
    return {
        "known": authority.sign("known"),
        "intermediate": middle.with_chain(middle.sign("below")),
        "intermediate that is not sent": middle.sign("alone"),
        "foreign": foreign.sign("mallory"),
        "foreign with its authority": foreign.with_chain(foreign.sign("mallory-chain")),
        "expired": authority.sign("expired", begin=-9, end=-1),
        "not yet valid": authority.sign("early", begin=1, end=9),
        "for servers": authority.sign("server", usage="serverAuth"),
    }


def curl(plane: ControlPlane, pair: Path, token: str, *more: str) -> str:
    """Return the status code of a request by curl."""
    header = ("-H", f"Authorization: Bearer {token}") if token else ()
    command = [
        "curl",
        "-sS",
        "--cacert",
        plane.ca,
        "--cert",
        pair,
        *header,
        *more,
        "-o",
        "/dev/null",
        "-w",
        "%{http_code}",
    ]
    done = subprocess.run(
        [*command, plane.url + PATH], capture_output=True, text=True, check=False, timeout=HANG_SECONDS
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


VALID = ("known", "intermediate")
INVALID = (
    "intermediate that is not sent", "foreign", "foreign with its authority", "expired", "not yet valid", "for servers",
)  # fmt: skip
VERSIONS = pytest.mark.parametrize("version", ["1.2", "1.3"])


@VERSIONS
@pytest.mark.parametrize("name", VALID)
def test_certificate_that_verifies_authenticates(plane, pairs, name, version):
    assert curl(plane, pairs[name], "", "--tls-max", version) == "200"


@VERSIONS
@pytest.mark.parametrize("name", INVALID)
def test_certificate_that_does_not_verify_counts_as_none(plane, pairs, name, version):
    limit = ("--tls-max", version)
    assert curl(plane, pairs[name], "", *limit) == "401"
    assert curl(plane, pairs[name], "nonsense", *limit) == "401"
    assert curl(plane, pairs[name], plane.token, *limit) == "200"


def test_certificate_that_verifies_wins_over_an_invalid_token(plane, pairs):
    assert curl(plane, pairs["known"], "nonsense") == "200"


@pytest.mark.parametrize(("name", "status"), [("known", "200 OK"), ("foreign", "401 Unauthorized")])
def test_openssl_client_gets_an_answer_and_no_alert(plane, pairs, name, status):
    host = urlsplit(plane.url).netloc
    done = subprocess.run(
        ["openssl", "s_client", "-quiet", "-connect", host, "-cert", pairs[name], "-key", pairs[name], "-CAfile", plane.ca],
        input=f"GET {PATH} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode(),
        capture_output=True,
        check=False,
        timeout=HANG_SECONDS,
    )  # fmt: skip
    assert done.stdout.startswith(f"HTTP/1.1 {status}".encode()), done.stderr
    assert b"alert" not in done.stderr


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl")
def test_kubectl_with_a_foreign_certificate_and_a_token(plane, pairs):
    pair = pairs["foreign"]
    command = ["kubectl", f"--server={plane.url}", f"--certificate-authority={plane.ca}", "--kubeconfig=/dev/null",
               f"--client-certificate={pair}", f"--client-key={pair}", "get", "configmaps"]  # fmt: skip
    with_token = subprocess.run(
        [*command, f"--token={plane.token}"], capture_output=True, text=True, check=False, timeout=HANG_SECONDS
    )
    without = subprocess.run(
        [*command, "--username=", "--password="], capture_output=True, text=True, check=False, timeout=HANG_SECONDS
    )
    assert with_token.returncode == 0, with_token.stderr
    assert "Unauthorized" in without.stderr or "provide credentials" in without.stderr
