"""When audio is sent and text received: in real time, or remapped to it afterwards."""
