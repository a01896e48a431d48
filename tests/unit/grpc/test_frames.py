from __future__ import annotations

import pytest

from steersman.grpc import frames
from steersman.grpc.frames import ProtocolError


def test_frame_has_length_kind_flags_and_stream():
    assert frames.frame(frames.DATA, frames.END_STREAM, 5, b"ab") == b"\0\0\x02\0\x01\0\0\0\x05ab"
    assert frames.window_update(1, 7) == b"\0\0\x04\x08\0\0\0\0\x01\0\0\0\x07"


def test_settings_are_read_as_they_were_written():
    pairs = [(frames.SETTING_INITIAL_WINDOW, 1 << 20), (frames.SETTING_MAX_STREAMS, 3)]
    assert frames.read_settings(frames.settings(*pairs)[frames.HEADER_BYTES :]) == pairs


@pytest.mark.parametrize("payload", [b"x", bytes(5), bytes(7)])
def test_settings_of_a_broken_size_are_refused(payload):
    with pytest.raises(ProtocolError):
        frames.read_settings(payload)


def test_padding_and_priority_are_removed():
    assert frames.without_padding(frames.PADDED, b"\x02abXX") == b"ab"
    assert frames.without_padding(frames.PADDED, b"\x01PPPPPabX", has_priority=True) == b"ab"


@pytest.mark.parametrize("payload", [b"", b"\x02a"])
def test_more_padding_than_payload_is_refused(payload):
    with pytest.raises(ProtocolError):
        frames.without_padding(frames.PADDED, payload)
