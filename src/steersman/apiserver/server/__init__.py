"""Where the API server meets the network: one ASGI application, and uvicorn around it.

Promises, which ``tests/unit/apiserver/server`` checks:

* ``app`` turns a scope into a ``Request``, walks the filter chain (``chain``: one visible list), and sends the
  ``Response``. It knows no server: any ASGI 3 server with the TLS extension can run it.
* Every answer has an ``Audit-Id``; every exception is an answer; none takes the server down.
* A stream's next piece is asked for when the last one was taken by the transport. A client that goes away ends its
  stream, a client that stops reading is cut off after ``protocol.WRITE_STALL_SECONDS``.
* A request that is not whole ``protocol.READ_SECONDS`` after its first byte is cut off; heads are bounded.
* ``serving`` drains: no new connections, watches end cleanly, what runs is finished within a bound.
"""
