"""Labels of features: asked of a language model or imported, and none without its score."""
