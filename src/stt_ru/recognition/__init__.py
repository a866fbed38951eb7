"""Recordings become transcripts: recognisers, how they load, hear and are remembered."""
