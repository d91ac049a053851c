/** Two doors: watch a run, or intervene on a model. */

import { listRuns, type RunRow } from "../api/runs";
import { useResource } from "../api/useResource";
import type { ServerState } from "../api/useServer";
import { causalAddress } from "../causal/draft";
import { exampleDraft } from "../causal/examples";
import { PAIRS } from "../widgets/look.generated";
import { count } from "../widgets/numbers";
import { Link } from "./Link";

interface HomeProps {
  readonly server: ServerState;
}

const EVERY_MS = 5_000;

/** What there is to see: `3 runs; my-run is training`. */
export function runsText(runs: readonly RunRow[]): string {
  if (runs.length === 0) return "No run has been written yet; the page says how to begin one.";
  const training = runs.find((run) => run.status === "running" && run.live);
  return `${count(runs.length, "run")}${training ? `; ${training.run} is training` : ""}`;
}

export function Home({ server }: HomeProps) {
  const model = server.capabilities?.model;
  const runs = useResource("runs", listRuns, { every: EVERY_MS });
  return (
    <main className="home" id="main">
      <h1>What a language model computes, seen and proven</h1>
      <div className="doors">
        <Link href="/causal" className="door">
          <h2>Causal</h2>
          <p>Write one activation of a prompt into another, site by site, and see which of them carry the answer.</p>
          <p className="muted">
            {model
              ? `${model.name}: ${count(model.n_layers, "layer")}, ${count(model.hooks.length, "hook")}`
              : server.withoutModel
                ? "This server has no model: start one with `sonde serve --model smollm2`."
                : "…"}
          </p>
        </Link>
        <Link href="/live" className="door">
          <h2>Live</h2>
          <p>Watch which features are active while a model trains, and what they have to do with its reward.</p>
          <p className="muted">{runs.data ? runsText(runs.data.runs) : "…"}</p>
        </Link>
      </div>
      {model && (
        <section className="examples" aria-labelledby="examples-title">
          <h2 id="examples-title">Begin with an example</h2>
          <ul>
            {PAIRS.map((pair) => (
              <li key={pair.name}>
                <Link href={causalAddress(exampleDraft(pair.name))}>{pair.corrupt}</Link>{" "}
                <span className="muted">{pair.shows}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </main>
  );
}
