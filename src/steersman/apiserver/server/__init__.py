"""Where the API server meets the network: one ASGI application, and the HTTP server ``http1`` around it.

Promises, which ``tests/unit/apiserver/server`` checks:

* ``app`` turns a scope into a ``Request``, walks the filter chain (``chain``: one visible list), and sends the
  ``Response``. It knows no server: any ASGI 3 server with the TLS extension can run it.
* Every answer has an ``Audit-Id``; every exception is an answer; none takes the server down.
* A stream's next piece is asked for when the last one was taken by the transport. A client that goes away ends its
  stream, a client that stops reading is cut off after ``Timeouts.write_stall`` of ``http1.limits``.
* A client that does not complete a head or a body in time is cut off; heads are bounded.
* ``http1.serving`` drains: no new connections, watches end cleanly, what runs is finished within a bound.
"""
