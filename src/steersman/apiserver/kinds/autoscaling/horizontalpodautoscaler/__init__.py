"""Strategy, validation and conversion of HorizontalPodAutoscalers."""
