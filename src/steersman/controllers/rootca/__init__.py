"""The CA that verifies the API server is there for all to see: two controllers over one source.

``controller``: every namespace has it in ``kube-root-ca.crt`` (``root-ca-certificate-publisher-controller``);
``trust_bundles``: so has the cluster as a whole
(``kube-apiserver-serving-clustertrustbundle-publisher-controller``).
"""
