"""From a name to a model in memory: where it is, what it is made of, whether it can be trusted."""
