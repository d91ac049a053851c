"""A model and run directories behind HTTP. `serving` puts the parts together."""
