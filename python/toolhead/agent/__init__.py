"""Agents: a thin loop of a model's responses and their tool calls, and the models over the providers' SDKs."""
