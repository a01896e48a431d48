"""Command lines of static pods as ``kubeadm init`` writes them for Kubernetes 1.36, with ``--pod-network-cidr`` given.

Upstream: ``cmd/kubeadm/app/phases/controlplane/manifests.go``, ``ArgumentsToCommand`` of which sorts the flags.
"""

from __future__ import annotations

from typing import Final

#: Directories in the lines, which tests replace by their own.
KUBERNETES: Final = "/etc/kubernetes"
PKI: Final = f"{KUBERNETES}/pki"

API_SERVER: Final = (
    "--advertise-address=192.168.0.10",
    "--allow-privileged=true",
    "--authorization-mode=Node,RBAC",
    f"--client-ca-file={PKI}/ca.crt",
    "--enable-admission-plugins=NodeRestriction",
    "--enable-bootstrap-token-auth=true",
    f"--etcd-cafile={PKI}/etcd/ca.crt",
    f"--etcd-certfile={PKI}/apiserver-etcd-client.crt",
    f"--etcd-keyfile={PKI}/apiserver-etcd-client.key",
    "--etcd-servers=https://127.0.0.1:2379",
    f"--kubelet-client-certificate={PKI}/apiserver-kubelet-client.crt",
    f"--kubelet-client-key={PKI}/apiserver-kubelet-client.key",
    "--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname",
    f"--proxy-client-cert-file={PKI}/front-proxy-client.crt",
    f"--proxy-client-key-file={PKI}/front-proxy-client.key",
    "--requestheader-allowed-names=front-proxy-client",
    f"--requestheader-client-ca-file={PKI}/front-proxy-ca.crt",
    "--requestheader-extra-headers-prefix=X-Remote-Extra-",
    "--requestheader-group-headers=X-Remote-Group",
    "--requestheader-username-headers=X-Remote-User",
    "--secure-port=6443",
    "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
    f"--service-account-key-file={PKI}/sa.pub",
    f"--service-account-signing-key-file={PKI}/sa.key",
    "--service-cluster-ip-range=10.96.0.0/12",
    f"--tls-cert-file={PKI}/apiserver.crt",
    f"--tls-private-key-file={PKI}/apiserver.key",
)
CONTROLLER_MANAGER: Final = (
    "--allocate-node-cidrs=true",
    f"--authentication-kubeconfig={KUBERNETES}/controller-manager.conf",
    f"--authorization-kubeconfig={KUBERNETES}/controller-manager.conf",
    "--bind-address=127.0.0.1",
    f"--client-ca-file={PKI}/ca.crt",
    "--cluster-cidr=10.244.0.0/16",
    "--cluster-name=kubernetes",
    f"--cluster-signing-cert-file={PKI}/ca.crt",
    f"--cluster-signing-key-file={PKI}/ca.key",
    "--controllers=*,bootstrapsigner,tokencleaner",
    f"--kubeconfig={KUBERNETES}/controller-manager.conf",
    "--leader-elect=true",
    f"--requestheader-client-ca-file={PKI}/front-proxy-ca.crt",
    f"--root-ca-file={PKI}/ca.crt",
    f"--service-account-private-key-file={PKI}/sa.key",
    "--service-cluster-ip-range=10.96.0.0/12",
    "--use-service-account-credentials=true",
)
SCHEDULER: Final = (
    f"--authentication-kubeconfig={KUBERNETES}/scheduler.conf",
    f"--authorization-kubeconfig={KUBERNETES}/scheduler.conf",
    "--bind-address=127.0.0.1",
    f"--kubeconfig={KUBERNETES}/scheduler.conf",
    "--leader-elect=true",
)
