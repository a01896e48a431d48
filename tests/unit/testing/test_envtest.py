"""Assets for envtest, and the programs in place of etcd and kube-apiserver."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import threading

import pytest

from steersman.testing.envtest import etcd, kube_apiserver
from steersman.testing.envtest.assets import EnvtestOptions, assets_directory, read_options, write_assets


def test_assets_answer_help_without_python(tmp_path):
    write_assets(tmp_path, EnvtestOptions(), apiserver_help="  --secure-port\n")
    done = subprocess.run([tmp_path / "kube-apiserver", "--help"], capture_output=True, text=True, env={}, check=True)
    assert done.stdout == "  --secure-port\n"
    done = subprocess.run([tmp_path / "etcd", "--version"], capture_output=True, text=True, env={}, check=True)
    assert done.stdout == f"etcd Version: {etcd.VERSION}\n"


def test_assets_are_private_and_written_once(tmp_path):
    write_assets(tmp_path, EnvtestOptions(), apiserver_help="help")
    before = {path.name: (path.stat().st_mode & 0o777, path.stat().st_ino) for path in tmp_path.iterdir()}
    write_assets(tmp_path, EnvtestOptions(), apiserver_help="help")
    assert before == {path.name: (path.stat().st_mode & 0o777, path.stat().st_ino) for path in tmp_path.iterdir()}
    assert {name for name, (mode, _) in before.items() if mode == 0o700} == {"etcd", "kube-apiserver", "kubectl"}
    assert {mode for mode, _ in before.values()} == {0o600, 0o700}


def test_assets_of_other_options_are_in_another_directory(tmp_path):
    one, other = EnvtestOptions(), EnvtestOptions(with_controllers=True, storage="sqlite")
    assert assets_directory(tmp_path, one) == assets_directory(tmp_path, EnvtestOptions())
    assert assets_directory(tmp_path, one) != assets_directory(tmp_path, other)
    write_assets(assets_directory(tmp_path, other), other, apiserver_help="")
    assert read_options(assets_directory(tmp_path, other)) == other


def test_etcd_reads_flags_in_both_forms():
    arguments = ["--data-dir=/d", "--listen-client-urls", "http://h:1", "--data-dir=/e"]
    assert etcd.flag_values(arguments) == {"data-dir": "/e", "listen-client-urls": "http://h:1"}


@pytest.mark.parametrize("url", ["https://127.0.0.1:1", "unix://socket", "http://"])
def test_etcd_refuses_urls_that_it_cannot_serve(url):
    with pytest.raises(etcd.FlagError, match="--listen-client-urls"):
        etcd.listen(url)


@pytest.mark.parametrize(
    ("request_text", "status", "document"),
    [
        (b"GET /health HTTP/1.1", "200 OK", {"health": "true", "reason": ""}),
        (b"GET /health?serializable=true HTTP/1.1", "200 OK", {"health": "true", "reason": ""}),
        (b"GET /steersman HTTP/1.1", "200 OK", {"directory": "/d"}),
        (b"GET /v3/kv HTTP/1.1", "404 Not Found", None),
        (b"", "404 Not Found", None),
    ],
)
def test_etcd_answers_health_checks(request_text, status, document):
    head, _, body = etcd.answer(request_text, "/d").partition(b"\r\n\r\n")
    assert head.decode().startswith(f"HTTP/1.1 {status}\r\n")
    assert f"Content-Length: {len(body)}" in head.decode()
    assert document is None or json.loads(body) == document


def test_health_server_waits_for_the_whole_request_and_survives_clients_that_leave():
    listener = socket.create_server(("127.0.0.1", 0))
    wakeup, writer = socket.socketpair()
    server = etcd.HealthServer([listener], "/d")
    ended: list[int] = []
    serving = threading.Thread(target=server.serve_until, args=(wakeup, ended))
    serving.start()
    try:
        address = listener.getsockname()
        socket.create_connection(address).close()
        with socket.create_connection(address) as slow, socket.create_connection(address) as quick:
            slow.sendall(b"GET /health HTTP/1.1\r\n")
            quick.sendall(b"GET /health HTTP/1.1\r\n\r\n")
            assert quick.recv(4096).startswith(b"HTTP/1.1 200")
            slow.sendall(b"\r\n")
            assert slow.recv(4096).startswith(b"HTTP/1.1 200")
    finally:
        ended.append(signal.SIGTERM)
        writer.send(b"\0")
        serving.join()
        for sock in (listener, wakeup, writer):
            sock.close()


def test_socket_in_a_directory_with_a_long_path_is_reachable(tmp_path):
    directory = tmp_path / ("long" * 40)
    directory.mkdir()
    with etcd.bind_in(str(directory)) as listener, kube_apiserver.connect(str(directory)) as connection:
        accepted, _ = listener.accept()
        with accepted:
            connection.send(b"packet")
            assert accepted.recv(100) == b"packet"


@pytest.mark.parametrize(
    ("arguments", "url"),
    [
        (["--etcd-servers=http://a:1,http://b:2"], "http://a:1"),
        (["--etcd-servers", "http://a:1", "--etcd-servers=http://c:3"], "http://c:3"),
    ],
)
def test_apiserver_takes_the_last_etcd(arguments, url):
    assert kube_apiserver.etcd_url(arguments) == url


def test_apiserver_without_etcd_is_refused():
    with pytest.raises(kube_apiserver.StartError, match="--etcd-servers must be specified"):
        kube_apiserver.etcd_url(["--secure-port=1"])


@pytest.mark.parametrize("body", [b"{}", b"no json", b"[]"])
def test_apiserver_refuses_another_program_at_the_address(body):
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + body)

        serving = threading.Thread(target=serve)
        serving.start()
        with pytest.raises(kube_apiserver.StartError, match="is not the etcd of `steersman envtest`"):
            kube_apiserver.directory_of(f"http://127.0.0.1:{listener.getsockname()[1]}")
        serving.join()
