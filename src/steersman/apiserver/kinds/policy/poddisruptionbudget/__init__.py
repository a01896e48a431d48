"""Strategy, validation and disruption accounting of PodDisruptionBudgets."""
