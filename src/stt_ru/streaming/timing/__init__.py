"""When the words of a reference were said."""
