"""Files of the user: read whole or refused with a sentence, written whole or not at all."""
