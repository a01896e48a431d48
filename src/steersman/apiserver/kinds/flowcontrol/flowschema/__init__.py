"""Strategy and validation of FlowSchemas."""
