"""Every namespace has the cluster's CA in ``kube-root-ca.crt`` (``root-ca-certificate-publisher-controller``)."""
