"""What the reward of a run hangs on: completions with a feature changed, graded beside others.

request ──► what goes with it        exam ──► which prompts, and who grades
arms ──► what is changed in which completions      likely ──► which features, where nobody says
sampling ──► completions and grades as they come, as events of a table · found ──► what they say
"""
