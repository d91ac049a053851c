"""Runs in which every receiver reads its own mixture of two prompts' senders: circuits.

The files in the order in which a call goes through them: `mixtures`, `both_runs`, `parts`, `state`;
`wiring` is the arithmetic of edges, and needs no model.
"""
