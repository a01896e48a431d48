"""Rules of ClusterRoles with an aggregation rule (``clusterrole-aggregation-controller``)."""
