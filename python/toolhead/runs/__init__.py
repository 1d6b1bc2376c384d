"""Runs: from a model's stream to results."""
