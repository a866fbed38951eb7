"""When audio is sent and text received, on the clock or as it would have been on it."""
