"""The backend protocol over a stock vLLM engine: several devices, several nodes, shared traffic.

Nothing here is imported unless this backend is asked for; importing this package imports neither
vLLM nor torch. `load.load_backend` is the way in.
"""
