/** What the policy now does that it did not: tokens that gained, and the features that moved with them. */

import * as analytics from "../../api/analytics";
import type { Changed, FeatureMove, TokenGain } from "../../api/analytics";
import { useCopy } from "../../copy/copied";
import { CopyButton } from "../../widgets/CopyButton";
import { ListTable, type Column } from "../../widgets/ListTable";
import { count, number, signed } from "../../widgets/numbers";
import { readable, tokenLabel } from "../../widgets/tokens";
import { useAsked, type Scene } from "../scene";
import { randomText } from "../test/testView";
import type { FeatureName } from "../view/address";
import { changedCommand } from "../view/testing";
import { LayerMoves } from "./LayerMoves";
import { NothingHere } from "./NothingHere";
import { Panel } from "./Panel";

const TOKENS = 8;
const PLACES = 12;
const LEVEL = 0.05;

const GAINS: readonly Column[] = [
  { name: "token" },
  { name: "gain", about: "By how much its log-probability rose, all of its places together." },
  { name: "places", about: "How often it was said in the completions that are read." },
];
const AT: readonly Column[] = [
  { name: "token" },
  { name: "before", about: "Its log-probability at the earlier checkpoint." },
  { name: "after", about: "At the later one." },
  { name: "after the words" },
];
const FEATURES: readonly Column[] = [
  { name: "feature", about: "Layer and number." },
  {
    name: "undone",
    about: "What of the gain goes when it is put back, on the later checkpoint, to what it was on the earlier one.",
  },
  { name: "random", about: "The same of random directions of the same length: from the least to the most." },
  { name: "p", about: "Share of these, the feature among them, that undo at least as much." },
  { name: "corrected p", about: "The same over all features that were put back." },
  { name: "moved", about: "How its activation changed, on average, where it did." },
  { name: "with gain", about: "Correlation of that change with the gain of the token decided there." },
  { name: "with reward", about: "Correlation of its activity with the reward, within groups, over the run." },
];

export function ChangedPanel({ scene }: { readonly scene: Scene }) {
  const { run, go } = scene;
  const copied = useCopy() !== null;
  const asked = useAsked(scene, "changed", (signal) => analytics.changed(run.run, signal));
  const found = asked.data?.changed ?? null;
  if (found === null && copied) return null;
  return (
    <Panel title="What changed" wide {...(found && { about: inWords(found) })}>
      {found === null && (
        <NothingHere asked={asked} title="Checkpoints have not been compared">
          <p>
            A command reads completions of this run at two checkpoints, and says which tokens gained, and which features
            moved with them. In a terminal of the machine that has the run:
          </p>
          <Command directory={run.directory} />
        </NothingHere>
      )}
      {found && <Gains found={found} />}
      {found && <LayerMoves layers={found.layers ?? []} />}
      {found && found.features.length > 0 && <h3>Features put back, one at a time</h3>}
      {found && found.features.length > 0 && (
        <ListTable label="Features that moved" columns={FEATURES} tall>
          {found.features.map((each) => (
            <Move key={`${each.layer}.${each.feature}`} each={each} onOpen={(feature) => go({ feature })} />
          ))}
        </ListTable>
      )}
      {found?.reasons.map((reason) => (
        <p key={reason} className="muted small">
          {reason}
        </p>
      ))}
    </Panel>
  );
}

function Command({ directory }: { readonly directory: string }) {
  const command = changedCommand(directory);
  return (
    <div className="toolbar">
      <pre tabIndex={0} aria-label="Command that compares checkpoints">
        {command}
      </pre>
      <CopyButton text={command} label="Copy" what="Command" />
    </div>
  );
}

function inWords(found: Changed): string {
  const from = found.first === 0 ? "the model it began as" : `checkpoint-${found.first}`;
  const tried = found.features.filter(({ undone }) => undone !== null);
  const beyond = tried.filter(({ p_family }) => p_family !== null && p_family <= LEVEL);
  const told =
    tried.length === 0
      ? "No feature was put back."
      : `Of ${count(tried.length, "feature")} put back to what they were, ${beyond.length} undo more of it than random directions do.`;
  return `From ${from} to checkpoint-${found.last}, ${count(found.tokens, "token")} of ${count(found.probes, "completion")} gained ${signed(found.gain, 1)} in log-probability together. ${told}`;
}

function Gains({ found }: { readonly found: Changed }) {
  return (
    <div className="side-by-side">
      <GainTable label="Tokens that gained" gains={found.gained} />
      {found.lost.length > 0 && <GainTable label="Tokens that lost" gains={found.lost} />}
      <ListTable label="Places that gained the most" columns={AT}>
        {found.places.slice(0, PLACES).map((each) => (
          <tr key={`${each.generation_id} ${each.index}`}>
            <th scope="row">
              <bdi>{tokenLabel(each.token)}</bdi>
            </th>
            <td>{number(each.before)}</td>
            <td>{number(each.after)}</td>
            <td className="tokens-cell">
              <bdi>{readable(each.context)}</bdi>
            </td>
          </tr>
        ))}
      </ListTable>
    </div>
  );
}

function GainTable({ label, gains }: { readonly label: string; readonly gains: readonly TokenGain[] }) {
  return (
    <ListTable label={label} columns={GAINS}>
      {gains.slice(0, TOKENS).map((each) => (
        <tr key={each.token}>
          <th scope="row">
            <bdi>{tokenLabel(each.token)}</bdi>
          </th>
          <td>{signed(each.gain, 2)}</td>
          <td>{each.count}</td>
        </tr>
      ))}
    </ListTable>
  );
}

interface MoveProps {
  readonly each: FeatureMove;
  readonly onOpen: (feature: FeatureName) => void;
}

function Move({ each, onOpen }: MoveProps) {
  const { layer, feature, random } = each;
  return (
    <tr className={each.p_family !== null && each.p_family <= LEVEL ? "significant" : ""}>
      <th scope="row">
        <button type="button" className="link-button" onClick={() => onOpen({ layer, feature })}>
          {layer}:{feature}
        </button>
      </th>
      <td>{signed(each.undone, 2)}</td>
      <td>{randomText({ random }, 2)}</td>
      <td>{number(each.p)}</td>
      <td className="decides">{number(each.p_family)}</td>
      <td>{signed(each.moved, 2)}</td>
      <td>{number(each.with_gain)}</td>
      <td>{number(each.with_reward?.r)}</td>
    </tr>
  );
}
