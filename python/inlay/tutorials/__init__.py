"""Files of the tutorials (docs/tutorials): `python3 -m inlay.tutorials`."""
