"""OpenAPI: one Swagger 2.0 document of everything (``/openapi/v2``), one OpenAPI 3.0 document a group version (``/openapi/v3``).

``operations`` says which calls there are, ``definitions`` what types look like, ``swagger`` and ``openapi3`` put them into
documents, ``protobuf`` writes those as gnostic messages for client-go, ``handlers`` builds on demand and caches.
"""
