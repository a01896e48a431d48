"""Publication of the API server's root CA: two controllers over one source.

``controller``: config map ``kube-root-ca.crt`` of every namespace (``root-ca-certificate-publisher-controller``);
``trust_bundles``: ClusterTrustBundle (``kube-apiserver-serving-clustertrustbundle-publisher-controller``).
"""
