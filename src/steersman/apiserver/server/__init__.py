"""ASGI application of the API server, and the HTTP server ``http1`` that runs it.

Guarantees, covered by ``tests/unit/apiserver/server``:

* ``app`` converts a scope into a ``Request``, calls the handler chain (``chain``: one visible list), and sends the
  ``Response``. It does not depend on the HTTP server: any ASGI 3 server with the TLS extension works.
* Every response has an ``Audit-Id``; every exception becomes a response.
* The next piece of a stream is requested after the transport took the last one. A client that disconnects ends its
  stream; a client that stops reading is disconnected after ``Timeouts.write_stall`` of ``http1.limits``.
* Heads are bounded in size and time; bodies must complete in time.
* ``http1.serving`` drains on shutdown: no new connections, watches end, running requests complete within a bound.
"""
