"""One file a format, one function each: a path to an `Autoencoder`, or an error that says why."""
