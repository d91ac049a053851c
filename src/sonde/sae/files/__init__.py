"""Reading files that nobody vouches for: each kind is checked before anything is allocated."""
