"""Streaming models: the base class, the embedded models, third-party engines, an adapter."""
