/** Two doors: watch a run, or intervene on a model. */

import type { ReactNode } from "react";
import { useKeyWanted } from "../api/key";
import { listRuns } from "../api/runs";
import { useResource } from "../api/useResource";
import type { ServerState } from "../api/useServer";
import { causalAddress } from "../causal/draft";
import { exampleDraft } from "../causal/examples";
import { PAIRS } from "../widgets/look.generated";
import { runsText } from "../runs/status";
import { count, modelName } from "../widgets/numbers";
import { StatusBar } from "../widgets/StatusBar";
import { Link } from "./Link";

interface HomeProps {
  readonly server: ServerState;
}

const EVERY_MS = 5_000;

export function Home({ server }: HomeProps) {
  const model = server.capabilities?.model;
  const runs = useResource("runs", listRuns, { every: EVERY_MS });
  const keyWanted = useKeyWanted();
  return (
    <>
      <main className="home" id="main">
        <h1>What a language model computes, seen and proven</h1>
        <div className="doors">
          <Link href="/causal" className="door">
            <h2>Causal</h2>
            <p>Write one activation of a prompt into another, site by site, and see which of them carry the answer.</p>
            <p className="muted">{keyWanted ? "Not known without the key." : modelText(server)}</p>
          </Link>
          <Link href="/live" className="door">
            <h2>Live</h2>
            <p>Watch which features are active while a model trains, and what they have to do with its reward.</p>
            <p className="muted">{runs.data ? runsText(runs.data.runs) : (runs.error?.message ?? "…")}</p>
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
      <StatusBar connection={server.connection} />
    </>
  );
}

function modelText({ capabilities, connection, withoutModel }: ServerState): ReactNode {
  if (capabilities) {
    const { name, n_layers: layers, hooks } = capabilities.model;
    return `${modelName(name)}: ${count(layers, "layer")}, ${count(hooks.length, "hook")}`;
  }
  if (withoutModel) {
    return (
      <>
        This server has no model: <code>sonde serve --model smollm2</code> starts one that has.
      </>
    );
  }
  return connection === "disconnected" ? "The server does not answer." : "…";
}
