"""Controller manager process: selection, identities, leader election and health of controllers."""
