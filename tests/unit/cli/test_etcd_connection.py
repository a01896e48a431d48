"""Flags for a connection to etcd."""

from __future__ import annotations

import argparse

import pytest

from steersman.asynckit.clock import RealClock
from steersman.cli.etcd_connection import add_etcd_flags, open_etcd
from steersman.controlplane.options import OptionError


def parse_flags(*arguments):
    parser = argparse.ArgumentParser()
    add_etcd_flags(parser, required=True)
    return parser.parse_args(arguments)


def test_flags_have_upstreams_names_and_prefix():
    parsed = parse_flags("--etcd-servers=http://a:2379,http://b:2379", "--etcd-cafile=/ca")
    assert list(parsed.etcd_servers) == ["http://a:2379", "http://b:2379"]
    assert (str(parsed.etcd_cafile), parsed.etcd_prefix) == ("/ca", "/registry")


async def test_open_etcd_maps_the_prefix(etcd_url):
    store = await open_etcd(
        parse_flags(f"--etcd-servers={etcd_url}", "--etcd-prefix=/connection-test/"), clock=RealClock()
    )
    assert (await store.range("/registry/")).kvs == []
    await store.close()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--etcd-servers=ftp://a",), "--etcd-servers: "),
        (("--etcd-servers=https://a", "--etcd-cafile=/nowhere"), "/nowhere"),
    ],
)
async def test_open_etcd_rejects_unusable_flags(arguments, message):
    with pytest.raises(OptionError) as raised:
        await open_etcd(parse_flags(*arguments), clock=RealClock())
    assert message in str(raised.value)
