"""Questions about a run as a whole, answered from its files with DuckDB and numpy.

1. **Read** what is new: whole lines, from where the last look ended (`reading`, `ingest`).
2. **Sum up** each piece once: by layer and time, by feature and time (`parts`).
3. **Compact** every 131,072 records: Parquet and sorted sums in a cache (`compact`).
4. **Answer** from the sums, or from the few records a question is about (`heatmap`, `scatter`,
   `vocabulary`, `generation`, `curves`).

The files stay the truth: the cache can be deleted at any time, and is checked against them before
it is used. Nothing here writes to a run but its cache, and nothing here is on the event loop.
"""
