"""Edges: what a receiver has when the stream that it reads holds a sender's change.

The files in the order in which a call goes through them: `scoring` puts vectors in the place of
what senders change, `receivers` makes them, from `senders`, what each adds, and `frozen`, layers
whose attention is as it is unpatched. To first order the same is `gradient/edges`.
"""
