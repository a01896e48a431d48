"""gRPC client for the event loop: requests and streams of bytes over HTTP/2.

Messages are opaque bytes. One connection per channel, on which all calls are multiplexed, without threads. HPACK is
``hpack``'s; frames, flow control and the protocol of gRPC are written here, because calls are a large part of the cost of a
write to etcd (``docs/decisions/0015-etcd.md``).

Specifications: RFC 9113, and ``doc/PROTOCOL-HTTP2.md`` of gRPC.
"""
