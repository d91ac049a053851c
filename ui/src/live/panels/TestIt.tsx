/** From seeing a feature to testing it: one click, on the run's own weights, beside random directions. */

import { listCheckpoints } from "../../api/runs";
import { rewardRequest } from "../../api/tests";
import { useResource } from "../../api/useResource";
import { useCopy } from "../../copy/copied";
import { CopyButton } from "../../widgets/CopyButton";
import { ErrorNote } from "../../widgets/ErrorNote";
import type { Scene } from "../scene";
import { PastTests } from "../test/PastTests";
import { useStart } from "../test/useStart";
import { ablateCommand, checkpointNear } from "../view/testing";

interface TestItProps {
  readonly scene: Scene;
  readonly layer: number;
  readonly feature: number;
  readonly generation?: { readonly id: string; readonly step: number; readonly token: number | undefined };
}

/** A copy of a run has no weights beside it, so there it says nothing. */
export function TestIt({ scene, layer, feature, generation }: TestItProps) {
  const { run, go, able } = scene;
  const copied = useCopy() !== null;
  const newest = run.last_checkpoint ?? "none";
  const found = useResource(copied ? null : `${run.run} ${newest}`, (signal) => listCheckpoints(run.run, signal));
  const { busy, error, start, again } = useStart((test) => go({ test }));
  if (copied || found.data === null) return null;
  const steps = found.data.rows.map(({ step }) => step);
  const near = generation ? checkpointNear(steps, generation.step) : steps.at(-1);
  const { id, token } = generation ?? {};
  const where = generation ? `checkpoint-${near}` : "the checkpoint that follows where it is strongest";
  const suspect = { run: run.run, layer, feature, generation: id, token };
  return (
    <div className="test-it">
      <h3>
        Does feature {feature} matter{generation ? " here" : ""}?
      </h3>
      {near === undefined ? (
        <p className="muted small">
          Being active is no proof. A test removes the feature from the run's own weights, and this run has no
          checkpoint yet.
        </p>
      ) : able ? (
        <>
          <p className="toolbar">
            <button type="button" className="primary" disabled={busy} onClick={() => start(suspect)}>
              {busy ? "Starting…" : "Test it"}
            </button>
            <span className="muted small">
              Being active is no proof. This removes it from {where}, beside the features that attribution puts first,
              the brightest, and random directions.
            </span>
          </p>
          <p className="toolbar">
            <button type="button" disabled={busy} onClick={() => again(rewardRequest(run.run, layer, feature))}>
              Test the reward
            </button>
            <span className="muted small">
              What the reward owes to it: completions of the newest checkpoint with and without it, graded by the run's
              verifier. Takes minutes.
            </span>
          </p>
          {error && <ErrorNote error={error} />}
          <PastTests scene={scene} />
        </>
      ) : (
        <Command command={ablateCommand({ directory: run.directory, layer, feature, generation: id, token })} where={where} />
      )}
    </div>
  );
}

function Command({ command, where }: { readonly command: string; readonly where: string }) {
  return (
    <>
      <p className="muted small">
        Being active is no proof. This removes it from {where}, and shows how far what was said next moves, beside what
        random directions of the same length do. This server has no model, so it is a command for a terminal of the
        machine that has the run; a server that has one (<code>sonde serve --model smollm2</code>) runs it here.
      </p>
      <div className="toolbar">
        <pre tabIndex={0} aria-label="Command that tests the feature">
          {command}
        </pre>
        <CopyButton text={command} label="Copy" what="Command" />
      </div>
    </>
  );
}
