"""Authentication of requests: client certificates, front proxies, bearer tokens, anonymous.

``interface`` defines authenticators; ``union`` tries them in order, as kube-apiserver does: the first that returns a
user wins; credentials that no authenticator accepts result in 401, also where anonymous requests are allowed; requests
without credentials are ``system:anonymous``. Authenticated users get the group ``system:authenticated``.
"""
