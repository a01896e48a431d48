"""Image references and pulls that fail."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.unit.nodes.simulation.simulated import NOW, Simulation, pod

from steersman.nodes.simulation.images import InvalidReferenceError, parse_reference, pull_attempt


@pytest.mark.parametrize(
    ("image", "reference"),
    [
        ("nginx", "docker.io/library/nginx:latest"),
        ("nginx:1.27", "docker.io/library/nginx:1.27"),
        ("me/app", "docker.io/me/app:latest"),
        ("docker.io/nginx", "docker.io/library/nginx:latest"),
        ("localhost/app", "localhost/app:latest"),
        ("localhost:5000/app:v1", "localhost:5000/app:v1"),
        ("registry.k8s.io/pause:3.10", "registry.k8s.io/pause:3.10"),
        ("[::1]:5000/a/b_c", "[::1]:5000/a/b_c:latest"),
        (f"a/b@sha256:{'0' * 64}", f"docker.io/a/b@sha256:{'0' * 64}"),
        (f"a/b:t@sha256:{'0' * 64}", f"docker.io/a/b:t@sha256:{'0' * 64}"),
    ],
)
def test_parse_reference_normalizes(image: str, reference: str) -> None:
    assert str(parse_reference(image)) == reference


@pytest.mark.parametrize(
    ("image", "message"),
    [
        ("", "invalid reference format"),
        ("nginx:", "invalid reference format"),
        ("nginx:la test", "invalid reference format"),
        ("a//b", "invalid reference format"),
        ("https://x/y", "invalid reference format"),
        ("Nginx", "invalid reference format: repository name (library/Nginx) must be lowercase"),
        ("0" * 64, f"invalid repository name ({'0' * 64}), cannot specify 64-byte hexadecimal strings"),
    ],
)
def test_parse_reference_rejects_with_upstream_message(image: str, message: str) -> None:
    with pytest.raises(InvalidReferenceError) as caught:
        parse_reference(image)
    assert str(caught.value) == message


def test_pull_attempts_back_off_to_five_minutes() -> None:
    now, attempts = NOW, []
    for _ in range(16):
        reason, until = pull_attempt(NOW, now)
        if reason == "ErrImagePull":
            attempts.append((now - NOW).total_seconds())
        now = until
    assert attempts == [0, 10, 30, 70, 150, 310, 610, 910]
    # After 310 seconds, pulls follow every 300: 30 days later the last one was 290 seconds ago.
    later = NOW + timedelta(days=30)
    assert pull_attempt(NOW, later) == ("ImagePullBackOff", later + timedelta(seconds=10))


@pytest.mark.parametrize(
    ("image", "error"),
    [
        (
            "nginx:does-not-exist",
            (
                'rpc error: code = NotFound desc = failed to pull and unpack image "docker.io/library/nginx:does-not-exist":'
                ' failed to resolve reference "docker.io/library/nginx:does-not-exist":'
                " docker.io/library/nginx:does-not-exist: not found"
            ),
        ),
        ("me/no-such-image:v1", None),
        ("registry.invalid/app", None),
        ("invalid:5000/app", None),
    ],
)
def test_absent_image_cannot_be_pulled(image: str, error: str | None) -> None:
    world = Simulation(pod(container={"image": image}))
    seen = world.run(35)
    assert seen == [
        (0.0, "Pending", "ErrImagePull"),
        (1.0, "Pending", "ImagePullBackOff"),
        (10.0, "Pending", "ErrImagePull"),
        (11.0, "Pending", "ImagePullBackOff"),
        (30.0, "Pending", "ErrImagePull"),
        (31.0, "Pending", "ImagePullBackOff"),
    ]
    message = world.status_of()["state"]["waiting"]["message"]
    assert message.startswith(f'Back-off pulling image "{image}": ErrImagePull: rpc error: code = ')
    assert error is None or message.endswith(error)
    reasons = [(kind, reason) for kind, reason, _ in world.events[:5]]
    assert reasons == [
        ("Normal", "Pulling"), ("Warning", "Failed"), ("Warning", "Failed"), ("Normal", "BackOff"), ("Warning", "Failed"),
    ]  # fmt: skip
    assert world.events[1][2].startswith(f'Failed to pull image "{image}": rpc error')
    assert (world.events[2][2], world.events[4][2]) == ("Error: ErrImagePull", "Error: ImagePullBackOff")
    assert world.conditions() == {
        "PodReadyToStartContainers": "True", "Initialized": "True", "Ready": "False", "ContainersReady": "False",
        "PodScheduled": "True",
    }  # fmt: skip


def test_corrected_image_starts_at_once() -> None:
    world = Simulation(pod(container={"image": "nginx:does-not-exist"}))
    world.run(15)
    world.pod["spec"]["containers"][0]["image"] = "nginx"
    world.pod["metadata"]["generation"] = 2
    assert world.run(15) == [(15.0, "Running", "Ready")]
    status = world.status_of()
    assert (status["image"], status["restartCount"]) == ("nginx", 0)
    assert world.pod["status"]["observedGeneration"] == 2


def test_pull_error_annotation_ends_after_its_seconds_at_the_next_pull() -> None:
    notes = {"image-pull-error": "unauthorized: no basic auth credentials", "image-pull-error-seconds": "12"}
    world = Simulation(pod(annotations=notes))
    assert world.run(60)[-2:] == [(11.0, "Pending", "ImagePullBackOff"), (30.0, "Running", "Ready")]
    assert world.events[1][2] == 'Failed to pull image "busybox": unauthorized: no basic auth credentials'


def test_policy_never_reports_an_absent_image_without_back_off() -> None:
    world = Simulation(pod(container={"image": "a/nonexistent", "imagePullPolicy": "Never"}))
    assert world.run(3600) == [(0.0, "Pending", "ErrImageNeverPull")]
    assert world.status_of()["state"]["waiting"]["message"] == (
        'Container image "a/nonexistent" is not present with pull policy of Never'
    )
    present = Simulation(pod(container={"imagePullPolicy": "Never"}))
    assert present.run(10) == [(0.0, "Running", "Ready")]


def test_invalid_image_name_is_reported_without_back_off() -> None:
    world = Simulation(pod(container={"image": "UPPER"}))
    assert world.run(3600) == [(0.0, "Pending", "InvalidImageName")]
    assert world.status_of()["state"]["waiting"]["message"] == (
        'Failed to apply default image tag "UPPER": couldn\'t parse image name "UPPER": '
        "invalid reference format: repository name (library/UPPER) must be lowercase"
    )
    assert [reason for _, reason, _ in world.events] == ["InspectFailed", "Failed"]


def test_one_absent_image_keeps_the_pod_pending() -> None:
    new_pod = pod()
    new_pod["spec"]["containers"].append({"name": "d", "image": "x:does-not-exist"})
    world = Simulation(new_pod)
    assert world.run(0) == [(0.0, "Pending", "Ready", "ErrImagePull")]


def test_absent_image_of_an_init_container_blocks_the_others() -> None:
    world = Simulation(pod(initContainers=[{"name": "i", "image": "x:does-not-exist"}]))
    assert world.run(1) == [
        (0.0, "Pending", "ErrImagePull", "PodInitializing"),
        (1.0, "Pending", "ImagePullBackOff", "PodInitializing"),
    ]
    assert world.conditions()["Initialized"] == "False"
