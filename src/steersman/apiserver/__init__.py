"""The API server: filters, endpoints, registry. What may import what is written in ``pyproject.toml``, lowest last:

``server`` · ``filters`` · ``endpoints`` · ``crd`` · ``discovery``, ``openapi`` · ``admission`` · ``registry`` · ``authn``,
``authz`` · ``http`` · ``request``.
"""

from steersman.extras import require

require(__name__, "server")
