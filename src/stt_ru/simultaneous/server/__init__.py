"""Evaluation over REST: `session` is the protocol without HTTP, `app` the handlers."""
