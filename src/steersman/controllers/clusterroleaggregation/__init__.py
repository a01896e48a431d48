"""A ClusterRole with an aggregation rule holds the rules of those it selects (``clusterrole-aggregation-controller``)."""
