"""The run directory: written by one trainer, read by anybody, while it trains and after."""
