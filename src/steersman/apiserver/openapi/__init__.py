"""OpenAPI: a Swagger 2.0 document (``/openapi/v2``), and OpenAPI 3.0 documents by group version (``/openapi/v3``).

``sources`` takes snapshots of the catalog; ``operations`` lists the operations of a resource, ``path_items`` and
``definitions`` encode them and their types; ``builder`` assembles a ``document`` from these fragments, ``protobuf``
encodes documents as gnostic messages for client-go; ``cache`` builds in a thread on demand, ``handlers`` serves.
"""
