"""gRPC client for the event loop: requests and streams of bytes over HTTP/2.

It transports bytes and knows no message. One connection per channel, on which all calls are multiplexed; nothing runs in
threads. HPACK is ``hpack``'s; frames, flow control and the protocol of gRPC are written here, because the calls of a write
to etcd are a large part of its cost (``docs/decisions/0015-etcd.md``).

Specifications: RFC 9113, and ``doc/PROTOCOL-HTTP2.md`` of gRPC.
"""
