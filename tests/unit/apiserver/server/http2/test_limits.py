"""Bounds that depend on each other."""

from steersman.apiserver.server.http2 import limits


def test_windows_and_frames_are_within_those_of_the_protocol():
    assert 16384 <= limits.FRAME_BYTES_MAX < 1 << 24
    assert 65535 < limits.STREAM_WINDOW < 1 << 31


def test_budgets_permit_a_client_to_end_all_its_streams_at_once():
    assert limits.RESET_BURST_PER_STREAM > 1
    assert limits.CONTROL_FRAMES_BURST > limits.PARSED_BYTES / 9
