"""What depends on the kind of CPU: instruction sets, reproducible products, threads."""
