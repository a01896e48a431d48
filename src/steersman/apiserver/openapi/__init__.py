"""OpenAPI: one Swagger 2.0 document of everything (``/openapi/v2``), one OpenAPI 3.0 document of each group version (``/openapi/v3``).

``sources`` takes snapshots of the catalog; ``operations`` lists the calls on a resource, ``path_items`` and
``definitions`` encode them and the types they refer to; ``builder`` puts these fragments into a ``document``, ``protobuf``
encodes documents as gnostic messages for client-go; ``cache`` builds in a thread on demand, ``handlers`` serves.
"""
