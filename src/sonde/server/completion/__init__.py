"""Completions: from OpenAI's fields to tokens, and from tokens to OpenAI's shapes."""
