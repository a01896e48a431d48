"""Strategy and validation of PriorityLevelConfigurations."""
