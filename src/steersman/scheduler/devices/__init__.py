"""Device allocation for ResourceClaims (dynamic resource allocation, structured parameters, KEP-4381).

``pools`` parses ResourceSlices, ``catalog`` holds claims, classes and allocations, ``requests`` parses the requests of
a claim, ``constraints`` and ``capacity`` check limits, ``allocator`` searches, and ``results`` builds
``status.allocation``. ``extended`` builds claims for extended resources, ``readiness`` evaluates binding conditions.
The package does no I/O.
"""
