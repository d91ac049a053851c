"""What a completion is worth: the catalog task that comes with Sonde, and rewards of your own."""
