"""Go's debug printer."""

from __future__ import annotations

import pytest

from steersman.workloads.go_dump import dump

NO_DECIMAL = "d:(resource.infDecAmount){Dec:(*inf.Dec)<nil>}"


def test_dump_prints_zero_values_of_scalars():
    assert dump("v1.VolumeMount", {"name": "a"}) == (
        "(v1.VolumeMount){Name:(string)a ReadOnly:(bool)false RecursiveReadOnly:(*v1.RecursiveReadOnlyMode)<nil> "
        "MountPath:(string) SubPath:(string) MountPropagation:(*v1.MountPropagationMode)<nil> SubPathExpr:(string)}"
    )
    assert dump("v1.SleepAction", {}) == "(v1.SleepAction){Seconds:(int64)0}"


def test_dump_prints_pointed_values():
    assert dump("v1.KeyToPath", {"key": "k", "path": "p", "mode": 420}) == (
        "(v1.KeyToPath){Key:(string)k Path:(string)p Mode:(*int32)420}"
    )


def test_dump_prints_empty_containers_as_nil_and_sorts_maps():
    assert dump("v1.Capabilities", {"add": ["B", "A"], "drop": []}) == (
        "(v1.Capabilities){Add:([]v1.Capability)[B A] Drop:([]v1.Capability)<nil>}"
    )
    assert dump("v1.LabelSelector", {"matchLabels": {"b": "2", "a": "1"}}) == (
        "(v1.LabelSelector){MatchLabels:(map[string]string)map[a:1 b:2] "
        "MatchExpressions:([]v1.LabelSelectorRequirement)<nil>}"
    )


def test_dump_nests_embedded_structs():
    assert dump("v1.SecretKeySelector", {"name": "n", "key": "k"}) == (
        "(v1.SecretKeySelector){LocalObjectReference:(v1.LocalObjectReference){Name:(string)n} Key:(string)k "
        "Optional:(*bool)<nil>}"
    )


@pytest.mark.parametrize(
    ("port", "shown"),
    [
        (80, "{Type:(intstr.Type)0 IntVal:(int32)80 StrVal:(string)}"),
        ("http", "{Type:(intstr.Type)1 IntVal:(int32)0 StrVal:(string)http}"),
    ],
)
def test_dump_of_int_or_string(port, shown):
    assert (
        dump("v1.TCPSocketAction", {"port": port})
        == f"(v1.TCPSocketAction){{Port:(intstr.IntOrString){shown} Host:(string)}}"
    )


@pytest.mark.parametrize(
    ("text", "value", "scale", "form"),
    [
        ("1", 1, 0, "DecimalSI"),
        ("100m", 100, -3, "DecimalSI"),
        ("1.5", 15, -1, "DecimalSI"),
        ("2k", 2, 3, "DecimalSI"),
        ("1Gi", 1 << 30, 0, "BinarySI"),
        ("1e3", 1, 3, "DecimalExponent"),
        ("1E", 1, 18, "DecimalSI"),
        ("1.5Gi", 3 * 2**29 * 10**9, -9, "BinarySI"),
    ],
)
def test_dump_of_quantities(text, value, scale, form):
    assert dump("v1.VolumeResourceRequirements", {"limits": {"cpu": text}}) == (
        "(v1.VolumeResourceRequirements){Limits:(v1.ResourceList)map[cpu:{i:(resource.int64Amount)"
        f"{{value:(int64){value} scale:(resource.Scale){scale}}} {NO_DECIMAL} s:(string){text} "
        f"Format:(resource.Format){form}}}] Requests:(v1.ResourceList)<nil>}}"
    )


def test_dump_of_an_absent_quantity():
    shown = dump("v1.ResourceFieldSelector", {"resource": "limits.cpu"})
    assert (
        f"Divisor:(resource.Quantity){{i:(resource.int64Amount){{value:(int64)0 scale:(resource.Scale)0}} {NO_DECIMAL}"
        in shown
    )


def test_dump_of_template_times_is_zero():
    assert (
        "CreationTimestamp:(v1.Time){Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}"
        in dump("v1.PodTemplateSpec", {})
    )
