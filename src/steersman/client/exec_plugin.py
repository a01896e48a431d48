"""Exec credential plugins of a kubeconfig (KEP-541, ``client.authentication.k8s.io/v1`` and ``v1beta1``)."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.asynckit.timeouts import Timeout
from steersman.client.credentials import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from steersman.asynckit.clock import Clock

API_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
#: Bound for a plugin's run. Plugins may call a server; there is no terminal for user input.
_PLUGIN_SECONDS: Final = 60.0
_STDERR_BYTES: Final = 2000


class ExecPlugin(msgspec.Struct, frozen=True):
    """A command that prints an ``ExecCredential``."""

    command: str
    api_version: str
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    install_hint: str = ""
    #: ``spec.cluster`` of the plugin's input; None unless ``provideClusterInfo`` is set.
    cluster: dict[str, Any] | None = None

    async def run(self, *, clock: Clock) -> bytes:
        """Run the plugin and return its output. Raises ``ConfigError`` when it cannot be started or fails."""
        spec: dict[str, Any] = {"interactive": False}
        if self.cluster is not None:
            spec["cluster"] = self.cluster
        info = {"apiVersion": self.api_version, "kind": "ExecCredential", "spec": spec}
        environment = {**os.environ, **self.environment, "KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}
        try:
            process = await asyncio.create_subprocess_exec(
                self.command,
                *self.arguments,
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            hint = f"\n\n{self.install_hint}" if self.install_hint else ""
            raise ConfigError(f"exec: executable {self.command} cannot be started: {error}{hint}") from error
        try:
            async with Timeout(_PLUGIN_SECONDS, clock=clock):
                output, stderr = await process.communicate()
        except TimeoutError as error:
            raise ConfigError(f"exec: {self.command} did not end within {_PLUGIN_SECONDS:g} seconds") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            message = stderr[:_STDERR_BYTES].decode("utf-8", "replace").strip()
            raise ConfigError(f"exec: executable {self.command} failed with exit code {process.returncode}: {message}")
        return output


def read_exec(entry: dict[str, Any], *, source: str, folder: Path, cluster: dict[str, Any]) -> ExecPlugin:
    """Parse the ``exec`` section of a user. Raises ``ConfigError``.

    A command that contains a slash is relative to the kubeconfig.
    """
    command, api_version = entry.get("command"), entry.get("apiVersion")
    if not isinstance(command, str) or not command:
        raise ConfigError(f"{source}: command must be specified to use exec authentication plugin")
    if api_version not in API_VERSIONS:
        raise ConfigError(
            f"{source}: exec plugin: invalid apiVersion {api_version!r}; known are {', '.join(API_VERSIONS)}"
        )
    if entry.get("interactiveMode") == "Always":
        raise ConfigError(f"{source}: exec plugin cannot support interactive mode: there is no terminal")
    try:
        pairs = [(str(pair["name"]), str(pair["value"])) for pair in entry.get("env") or ()]
        arguments = tuple(str(argument) for argument in entry.get("args") or ())
    except (TypeError, KeyError) as error:
        raise ConfigError(f"{source}: exec plugin: env must be a list of names and values, args a list") from error
    if "/" in command:
        command = str(folder / command)
    return ExecPlugin(
        command=command,
        api_version=api_version,
        arguments=arguments,
        environment=dict(pairs),
        install_hint=str(entry.get("installHint") or ""),
        cluster=cluster if entry.get("provideClusterInfo") else None,
    )
