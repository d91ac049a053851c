"""What a dictionary makes of known concepts: are they in one feature, in several, or swallowed."""
