"""What a server keeps: source runs in memory, finished sweeps on disk."""
