"""The user's files: read whole or refused with a message, written whole or not at all."""
