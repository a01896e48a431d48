"""HorizontalPodAutoscalers (``horizontal-pod-autoscaler-controller``)."""
