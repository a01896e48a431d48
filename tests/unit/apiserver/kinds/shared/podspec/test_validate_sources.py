"""Validation of volume sources."""

from __future__ import annotations

from functools import partial

import pytest
from tests.unit.apiserver.kinds.objects import error_texts

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.shared.podspec import validate_sources as sources

P = Path("v")


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("a/b", []),
        ("a..b", []),
        ("/a", ['v: Invalid value: "/a": must be a relative path']),
        ("a/../b", ["v: Invalid value: \"a/../b\": must not contain '..'"]),
        ("../a", ["v: Invalid value: \"../a\": must not contain '..'"]),
        ("..a", ["v: Invalid value: \"..a\": must not start with '..'"]),
    ],
)
def test_check_descending_path_rejects_invalid_paths(text: str, faults: list[str]):
    assert error_texts(sources.check_file_path(text, P)) == faults


@pytest.mark.parametrize(("mode", "count"), [(None, 0), (0, 0), (0o777, 0), (0o1000, 1), (-1, 1)])
def test_check_mode_requires_nine_bits(mode: int | None, count: int):
    detail = "must be a number between 0 and 0777 (octal), both inclusive"
    assert error_texts(sources.check_mode(mode, P)) == [f"v: Invalid value: {mode}: {detail}"] * count


def test_check_key_paths_checks_keys_and_paths():
    assert error_texts(sources.check_key_paths([{"key": "k", "path": "p"}, {}], P)) == [
        "v[1].key: Required value",
        "v[1].path: Required value",
    ]


IQN = "iqn.2015-02.example.com:storage.kube.sys1.xyz"


@pytest.mark.parametrize(
    ("check", "source"),
    [
        (sources.check_host_path, {"path": "/", "type": "Directory"}),
        (sources.check_git_repo, {"repository": "r", "directory": "d"}),
        (sources.check_gce_disk, {"pdName": "d", "partition": 255}),
        (sources.check_aws_disk, {"volumeID": "d"}),
        (sources.check_secret, {"secretName": "s"}),
        (sources.check_config_map, {"name": "s", "items": [{"key": "k", "path": "p", "mode": 0o400}]}),
        (sources.check_nfs, {"server": "s", "path": "/p"}),
        (sources.check_iscsi, {"targetPortal": "t", "iqn": IQN, "lun": 0}),
        (sources.check_iscsi, {"targetPortal": "t", "iqn": "iqn.2015-02.Example.com:x"}),
        (sources.check_iscsi, {"targetPortal": "t", "iqn": "eui.0123456789ABCDEF"}),
        (sources.check_iscsi, {"targetPortal": "t", "iqn": "naa.62004567BA64678D0123456789ABCDEF"}),
        (sources.check_flocker, {"datasetName": "d"}),
        (sources.check_quobyte, {"registry": "a:1,b:2", "volume": "v"}),
        (sources.check_fc, {"targetWWNs": ["w"], "lun": 1}),
        (sources.check_fc, {"wwids": ["w"]}),
        (sources.check_flex_volume, {"driver": "d", "options": {"example.com/a": "b"}}),
        (sources.check_cinder, {"volumeID": "v", "secretRef": {"name": "s"}}),
        (sources.check_azure_disk, {"diskName": "d", "diskURI": "https://x", "kind": "Shared"}),
        (sources.check_azure_disk, {"diskName": "d", "diskURI": "/subscriptions/x", "kind": "Managed"}),
        (sources.check_storage_os, {"volumeName": "v"}),
        (sources.check_csi, {"driver": "CSI.example.com"}),
        (sources.check_claim, {"claimName": "c"}),
        (sources.check_rbd, {"monitors": ["m"], "image": "i"}),
        (sources.check_scale_io, {"gateway": "g", "system": "s", "volumeName": "v"}),
    ],
)
def test_checks_accept_valid_sources(check, source: dict):
    assert error_texts(check(source, P)) == []


@pytest.mark.parametrize(
    ("check", "names"),
    [
        (sources.check_host_path, ["path"]),
        (sources.check_git_repo, ["repository"]),
        (sources.check_gce_disk, ["pdName"]),
        (sources.check_aws_disk, ["volumeID"]),
        (sources.check_secret, ["secretName"]),
        (sources.check_config_map, ["name"]),
        (sources.check_iscsi, ["targetPortal", "iqn"]),
        (sources.check_flex_volume, ["driver"]),
        (sources.check_cinder, ["volumeID"]),
        (sources.check_azure_disk, ["diskName", "diskURI"]),
        (sources.check_storage_os, ["volumeName"]),
        (sources.check_csi, ["driver"]),
        (sources.check_claim, ["claimName"]),
        (sources.check_glusterfs, ["endpoints", "path"]),
        (sources.check_rbd, ["monitors", "image"]),
        (sources.check_cephfs, ["monitors"]),
        (sources.check_azure_file, ["secretName", "shareName"]),
        (sources.check_vsphere, ["volumePath"]),
        (sources.check_photon, ["pdID"]),
        (sources.check_portworx, ["volumeID"]),
        (sources.check_scale_io, ["gateway", "system", "volumeName"]),
    ],
)
def test_checks_require_fields(check, names: list[str]):
    assert error_texts(check({}, P)) == [f"v.{name}: Required value" for name in names]


@pytest.mark.parametrize(
    ("check", "source", "fault"),
    [
        (sources.check_host_path, {"path": "/a/../b"}, "v.path: Invalid value: \"/a/../b\": must not contain '..'"),
        (
            sources.check_host_path,
            {"path": "/", "type": "X"},
            (
                'v.type: Unsupported value: "X": supported values: "", "BlockDevice", "CharDevice", "Directory", '
                '"DirectoryOrCreate", "File", "FileOrCreate", "Socket"'
            ),
        ),
        (
            sources.check_gce_disk,
            {"pdName": "d", "partition": 256},
            "v.partition: Invalid value: 256: must be between 1 and 255, inclusive",
        ),
        (
            sources.check_nfs,
            {"server": "s", "path": "p"},
            'v.path: Invalid value: "p": must be an absolute path',
        ),
        (
            sources.check_iscsi,
            {"targetPortal": "t", "iqn": "disk"},
            'v.iqn: Invalid value: "disk": must be valid format starting with iqn, eui, or naa',
        ),
        (
            sources.check_iscsi,
            {"targetPortal": "t", "iqn": "iqn.x"},
            'v.iqn: Invalid value: "iqn.x": must be valid format',
        ),
        (
            sources.check_iscsi,
            {"targetPortal": "t", "iqn": IQN, "lun": 256},
            "v.lun: Invalid value: 256: must be between 0 and 255, inclusive",
        ),
        (
            sources.check_iscsi,
            {"targetPortal": "t", "iqn": IQN, "chapAuthSession": True},
            "v.secretRef: Required value",
        ),
        (sources.check_flocker, {}, "v: Required value: one of datasetName and datasetUUID is required"),
        (
            sources.check_flocker,
            {"datasetName": "d", "datasetUUID": "u"},
            'v: Invalid value: "resource": datasetName and datasetUUID can not be specified simultaneously',
        ),
        (
            sources.check_quobyte,
            {"registry": "a", "volume": "v"},
            'v.registry: Invalid value: "a": must be a host:port pair or multiple pairs separated by commas',
        ),
        (
            sources.check_fc,
            {},
            "v.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both",
        ),
        (
            sources.check_fc,
            {"targetWWNs": ["w"]},
            "v.lun: Required value: lun is required if targetWWNs is specified",
        ),
        (
            sources.check_flex_volume,
            {"driver": "d", "options": {"storage.k8s.io/a": ""}},
            (
                'v.options[storage.k8s.io/a]: Invalid value: "storage.k8s.io/a": '
                "kubernetes.io and k8s.io namespaces are reserved"
            ),
        ),
        (
            sources.check_azure_disk,
            {"diskName": "d", "diskURI": "x", "kind": "Shared"},
            (
                'v.diskURI: Unsupported value: "x": '
                'supported values: "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"'
            ),
        ),
        (sources.check_csi, {"driver": "d", "nodePublishSecretRef": {}}, "v.nodePublishSecretRef.name: Required value"),
    ],
)
def test_checks_reject_invalid_sources(check, source: dict, fault: str):
    assert error_texts(check(source, P)) == [fault]


@pytest.mark.parametrize(
    ("name", "faults"),
    [
        ("a" * 64, ["v: Too long: may not be more than 63 bytes"]),
        ("A.b", []),
        ("", ["v: Required value"]),
    ],
)
def test_check_csi_driver_name_limits_length(name: str, faults: list[str]):
    assert error_texts(sources.check_csi_driver_name(name, P)) == faults


@pytest.mark.parametrize(("with_namespace", "names"), [(False, ["name"]), (True, ["name", "namespace"])])
def test_check_secret_ref_requires_name(with_namespace: bool, names: list[str]):
    check = partial(sources.check_secret_ref, with_namespace=with_namespace)
    assert error_texts(check({"secretRef": {}}, P)) == [f"v.secretRef.{name}: Required value" for name in names]
    assert error_texts(check({}, P)) == []
