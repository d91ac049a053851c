"""Rows to first order: an ordinary forward and backward pass, beside the packed path.

The files in the order in which a call goes through them: `linear`, `slopes`, `forward`,
`attention`; and for edges `edges`, `halves`.
"""
