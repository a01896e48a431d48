"""The names of ReplicaSets are upstream's."""

from __future__ import annotations

import msgspec
from lightkube.models.core_v1 import PodTemplateSpec

from steersman.controllers.deployment.hashing import set_name
from steersman.workloads.template_hash import template_hash


def template(**labels):
    container = {
        "name": "c", "image": "nginx", "imagePullPolicy": "Always", "resources": {},
        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
    }  # fmt: skip
    spec = {
        "containers": [container], "dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "securityContext": {},
        "schedulerName": "by-hand", "terminationGracePeriodSeconds": 30,
    }  # fmt: skip
    return msgspec.convert({"metadata": {"labels": labels}, "spec": spec}, PodTemplateSpec)


def test_template_hash_equals_that_of_kube_controller_manager():
    """Recorded from kube-controller-manager 1.36."""
    assert template_hash(template(app="x", v="1"), None) == "87d8b9f8b"


def test_template_hash_differs_for_each_collision():
    created = {template_hash(template(app="x"), count) for count in (None, 0, 1, 2)}
    assert len(created) == 4


def test_long_names_are_truncated():
    assert set_name("d", "x") == "d-x"
    assert len(set_name("d" * 253, "0123456789")) == 253
