"""HTTP/2 server on h2, beside ``http1``: requests of one connection are served concurrently, each on its stream.

Imported when ``--disable-http2-serving=false`` asks for it. h2 has the rules of frames, header compression, stream states and flow
control; this package has the lifecycle of connections and streams, and the bounds of attacks.

| module | role |
| --- | --- |
| ``negotiation`` | the protocol of a connection, as ALPN has selected it |
| ``connection`` | the protocol of one connection: requests, resets, graceful shutdown |
| ``frames`` | outgoing frames, written once per iteration of the event loop |
| ``stream`` | request and response of one stream, its flow control and pushed pieces |
| ``rules`` | validation of request heads |
| ``budgets`` | rates of frames that cost the client nothing |
| ``limits`` | sizes and rates |

Contract:

* The application, timeouts, TLS, draining and the exchange of ASGI messages are those of ``http1``. There is no upgrade (the extension
  ``steersman.upgrade``): exec, attach, port-forward and WebSockets need HTTP/1.1, as upstream.
* A malformed request ends its stream. A violation of the framing, or a flood, ends the connection with GOAWAY.
* At most ``max_streams`` requests of a connection run at a time, also if their streams were reset.
* A stream that is reset, or whose client does not read or send in time, ends its request and no other.

Upstream: ``golang.org/x/net/http2/server.go``, and ``Serve`` of staging/src/k8s.io/apiserver/pkg/server/secure_serving.go.
"""
