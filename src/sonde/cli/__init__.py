"""The command `sonde`: one file a verb, heavy imports inside the command."""
