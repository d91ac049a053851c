# The four familiar names, as people type them: just p5-train --policy-preset 9b-local-l0-50
# Everything else is in the Makefile: `make help`.

# Train with GRPO and record features.
p5-train *args:
    @make --no-print-directory p5-train ARGS="{{args}}"

# Show runs and the UI; with --model, sweeps too.
gateway *args:
    @make --no-print-directory gateway ARGS="{{args}}"

# The UI with hot reload.
ui-dev *args:
    @make --no-print-directory ui-dev ARGS="{{args}}"

# This worktree's role, and what it shares.
whoami:
    @make --no-print-directory whoami
