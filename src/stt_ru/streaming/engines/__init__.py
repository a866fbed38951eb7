"""Streaming models: the protocol, the embedded ones, those of other libraries, adapters."""
