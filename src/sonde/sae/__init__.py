"""Sparse autoencoders: read from any file that exists, encode exactly, train."""
