"""HTTP/1.1 server on httptools: connections, TLS, limits and graceful shutdown around one ASGI application.

| module | role |
| --- | --- |
| ``serving`` | listening sockets, the server, graceful shutdown |
| ``tls`` | TLS context with optional client certificates |
| ``peer`` | the peer of a connection as the ASGI TLS extension |
| ``connection`` | the protocol of one connection: parsing, keep-alive, pipelining |
| ``timers`` | timers of a connection: heads, bodies, stalled writes, idleness |
| ``rules`` | validation of request heads, as Go's net/http |
| ``request_body`` | buffer of a request body, and where a body ends |
| ``exchange`` | one request and its response: the ``receive`` and ``send`` of ASGI |
| ``response`` | framing of responses |
| ``flow`` | flow control of the transport, and pushed pieces of streams |
| ``handover`` | a connection after an upgrade |
| ``limits`` | sizes and timeouts |

Contract:

* A connection serves one request at a time. Bytes of the next request are kept until the response is complete, and the
  transport is paused when there are too many of them.
* The parser receives a head only when it is complete, and never more than one message: results do not depend on how the
  bytes are split into packets, and a message cannot be taken for part of another one.
* Sizes, times and buffers have bounds (``limits``). A client that exceeds one is refused, or its connection is closed.
* A refusal is written after the responses to the requests before it.
* No module here knows Kubernetes. Signals are handled by the commands.
"""
