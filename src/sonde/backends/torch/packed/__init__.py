"""The packed path, in the order in which a chunk of cells passes through it.

1. `windows`, `trace`, `traces`, `joint`: prompts run once, unpatched, and laid end to end.
2. `cells`, `sources`, `scoring`, `scorer`: rows of writes become cells, cells become chunks.
3. `memory`: how large a chunk may be; `scorer` measures it.
4. `schedule`, `segments`, `rows`: which rows of which cells are where at each layer.
5. `passage`, `plan`, `attention`, `experts`, `writes`: through the layers.
6. `unembedding`, `readouts`: from the last residual to numbers.
"""
