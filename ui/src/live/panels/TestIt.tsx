/** From seeing a feature to testing it: removed from the run's own weights, beside random directions. */

import { listCheckpoints } from "../../api/runs";
import { useResource } from "../../api/useResource";
import { useCopy } from "../../copy/copied";
import { CopyButton } from "../../widgets/CopyButton";
import type { Scene } from "../scene";
import { ablateCommand, checkpointNear } from "../view/testing";

interface TestItProps {
  readonly scene: Scene;
  readonly layer: number;
  readonly feature: number;
  readonly generation?: { readonly id: string; readonly step: number; readonly token: number | undefined };
}

/** A copy of a run has no weights beside it, so there it says nothing. */
export function TestIt({ scene: { run }, layer, feature, generation }: TestItProps) {
  const copied = useCopy() !== null;
  const newest = run.last_checkpoint ?? "none";
  const found = useResource(copied ? null : `${run.run} ${newest}`, (signal) => listCheckpoints(run.run, signal));
  if (copied || found.data === null) return null;
  const steps = found.data.rows.map(({ step }) => step);
  const near = generation ? checkpointNear(steps, generation.step) : steps.at(-1);
  const { id, token } = generation ?? {};
  const command = ablateCommand({ directory: run.directory, layer, feature, generation: id, token });
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
      ) : (
        <>
          <p className="muted small">
            Being active is no proof. This removes it from {generation ? `checkpoint-${near}` : "a checkpoint"}, and
            shows how far what was said next moves, beside what random directions of the same length do. In a terminal
            of the machine that has the run:
          </p>
          <div className="toolbar">
            <pre tabIndex={0} aria-label="Command that tests the feature">
              {command}
            </pre>
            <CopyButton text={command} label="Copy" what="Command" />
          </div>
        </>
      )}
    </div>
  );
}
