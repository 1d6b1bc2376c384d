"""The product beside its peers: one module a harness, and what they share."""
