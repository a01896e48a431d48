"""Bounds of one HTTP/2 connection; those of ``http1.limits`` hold, too."""

from __future__ import annotations

from typing import Final

#: Default of ``--http2-max-streams-per-connection``. Upstream: ``Serve`` of secure_serving.go.
STREAMS_MAX: Final = 100
#: Bytes of a request body that the application has not received. Upstream: ``resourceBody99Percentile`` of secure_serving.go.
STREAM_WINDOW: Final = 256 * 1024
#: Payload of one frame: the minimum of the protocol.
FRAME_BYTES_MAX: Final = 16384
#: Names and values of a request's headers, with 32 bytes for each header.
HEADER_LIST_BYTES_MAX: Final = 64 * 1024
#: Dynamic table of response headers, whatever the client permits. Upstream: ``MaxEncoderHeaderTableSize`` of net/http2.
ENCODER_TABLE_BYTES_MAX: Final = 4096
#: Closed streams that are remembered, for frames that were in flight.
CLOSED_STREAMS_MAX: Final = 1000
#: Received bytes that are parsed before the budgets are checked.
PARSED_BYTES: Final = 4096
#: Requests whose streams were reset, waiting for one that still runs, as a multiple of the streams. Upstream: ``scheduleHandler``.
WAITING_PER_STREAM: Final = 4
#: Resets of streams in a burst, and for each second, as multiples of the streams.
RESET_BURST_PER_STREAM: Final = 4
RESETS_PER_STREAM_SECOND: Final = 1
#: Frames that carry nothing for a request, in a burst and for each second.
CONTROL_FRAMES_BURST: Final = 2000
CONTROL_FRAMES_PER_SECOND: Final = 500
#: Time for the client to learn of a shutdown before further streams are refused. Upstream: ``goAwayTimeout`` of net/http2.
GOAWAY_SECONDS: Final = 1.0
