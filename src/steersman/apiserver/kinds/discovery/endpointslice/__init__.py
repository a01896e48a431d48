"""Everything special about the kind ``endpointslice``."""
