import socket

from scripts import ports
from scripts.ports import free_port


def test_free_port_can_be_listened_on_and_is_not_given_to_connections():
    port = free_port()
    with socket.create_server(("127.0.0.1", port)) as server, socket.create_connection(server.getsockname()) as client:
        assert port < client.getsockname()[1]


def test_free_port_is_not_one_in_use(monkeypatch):
    with socket.create_server(("127.0.0.1", free_port())) as server:
        used = server.getsockname()[1] - 10_000
        numbers = iter([used, used, used + 1 if used < 20_000 else used - 1])
        monkeypatch.setattr(ports.secrets, "randbelow", lambda _: next(numbers))
        assert free_port() != server.getsockname()[1]
