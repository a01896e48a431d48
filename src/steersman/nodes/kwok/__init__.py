"""KWOK's configuration files (``kwok.x-k8s.io/v1alpha1``): Stage, ResourceUsage, ClusterResourceUsage and Metric."""
