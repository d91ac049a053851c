/** Where a feature was strongest in a run, each of another completion. */

import type { FeatureInRun } from "../api/features";
import { Link } from "../app/Link";
import type { Theme } from "../widgets/colors";
import { number } from "../widgets/numbers";
import { Heat } from "./Heat";

interface RunSnippetsProps {
  readonly found: FeatureInRun;
  readonly run: string;
  readonly theme: Theme;
}

export function RunSnippets({ found, run, theme }: RunSnippetsProps) {
  const high = found.snippets[0]?.value ?? 1;
  if (found.snippets.length === 0) return <p className="muted">{found.reason}</p>;
  return (
    <ul className="snippets">
      {found.snippets.map((each) => (
        <li key={each.generation_id}>
          <span className="muted" title="Activation at the strongest token">
            {number(each.value)}
          </span>{" "}
          <Link href={`/live/${encodeURIComponent(run)}?generation=${each.generation_id}&feature=${found.layer}.${found.feature}`}>
            {each.generation_id}
          </Link>{" "}
          <span className="muted">{each.gate === null ? "" : each.gate ? "passed" : "failed"}</span>{" "}
          {each.position < 0 && <span className="muted">at the end of the prompt, before </span>}
          {each.tokens.length === 0 ? (
            <span className="muted">at token {each.position}</span>
          ) : (
            <Heat
              tokens={each.tokens}
              heats={each.values.map((value) => (value === null || value <= 0 ? 0 : Math.min(1, value / high)))}
              says={(index) => number(each.values[index])}
              theme={theme}
            />
          )}
        </li>
      ))}
    </ul>
  );
}
