"""Process of the controller manager: selection, identities, leader election and health of controllers."""
