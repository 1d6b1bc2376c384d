"""Adapters: definitions out, streams in, messages out; one module an API."""
