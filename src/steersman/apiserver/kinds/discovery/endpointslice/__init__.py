"""Strategy and validation of EndpointSlices."""
