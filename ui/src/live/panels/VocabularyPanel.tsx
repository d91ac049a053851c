/** The features that generations which pass the gate keep using. */

import * as analytics from "../../api/analytics";
import type { Feature, Vocabulary, VocabularyFeature } from "../../api/analytics";
import { useResource } from "../../api/useResource";
import { useCopy } from "../../copy/copied";
import { ListTable, type Column } from "../../widgets/ListTable";
import { count, number } from "../../widgets/numbers";
import { Promoted } from "../../widgets/Promoted";
import { useAsked, type Scene } from "../scene";
import { featureText, type FeatureName } from "../view/address";
import { NothingHere } from "./NothingHere";
import { Panel } from "./Panel";

const MOST = 25;
/** All generations of the run are looked at: not as often as the newest numbers. */
const SELDOM = 4;

const COLUMNS: readonly Column[] = [
  { name: "feature", about: "Layer and number; those alike are in exactly the same generations." },
  {
    name: "sustained",
    about: "How many of the generations that passed have it: it is among the strongest of some of their tokens.",
  },
  { name: "passed with it", about: "Of all generations in the window that passed the gate." },
  { name: "failed with it", about: "Of all generations in the window that failed it." },
  { name: "lift", about: "Share of the passed that have it, over share of the failed." },
  {
    name: "p",
    about:
      "How likely as many of the passed would have it, had the gates been dealt at random among the generations of each prompt. Exact.",
  },
  { name: "q", about: "p with false discoveries controlled over all patterns of use tested (Benjamini and Hochberg). None where no p could be small enough." },
  { name: "activation", about: "Mean over the tokens of passed generations that have it." },
  { name: "promotes", about: "Tokens that its direction makes likelier, by the model's own output weights." },
];

export function VocabularyPanel({ scene }: { readonly scene: Scene }) {
  const { run, shown, go } = scene;
  const n = useCopy() ? null : shown.words;
  const every = scene.every && SELDOM * scene.every;
  const asked = useAsked({ run, every }, `vocabulary ${shown.layer ?? "all"} ${n ?? "all"}`, (signal) =>
    analytics.vocabulary(run.run, shown.layer, n, MOST, signal),
  );
  const found = asked.data;
  const lines = found ? [...found.features, ...found.everywhere] : [];
  const cards = useCards(run.run, lines);
  const open = (feature: FeatureName) => go({ feature });
  return (
    <Panel
      title="Vocabulary"
      wide
      tools={<WindowField n={shown.words} onChoose={(words) => go({ words })} />}
      about={
        found && found.n > 0
          ? `Features that at least ${found.m} of ${found.whole ? "all" : "the last"} ${found.n} generations which passed the gate have${shown.layer === null ? "" : `, layer ${shown.layer}`}, beside how many of the failed ones have them. Open one for what it means.`
          : "Features that generations which pass the gate keep using."
      }
    >
      {(found === null || lines.length === 0) && (
        <NothingHere asked={asked} title="No feature is sustained yet">
          <p>{found?.reason ?? "None is in enough of the generations that passed."}</p>
        </NothingHere>
      )}
      {found && lines.length > 0 && (
        <>
          <Words label="Vocabulary" lines={found.features} of={found} cards={cards} onOpen={open} />
          <p className="muted small">{inWords(found)}</p>
          {found.everywhere.length > 0 && (
            <details>
              <summary>{count(found.everywhere_total, "line")} in nearly all generations, set apart</summary>
              <Words label="In nearly all generations" lines={found.everywhere} of={found} cards={cards} onOpen={open} />
            </details>
          )}
        </>
      )}
    </Panel>
  );
}

/** How many there are, and how much the run's groups can tell whatever they are. */
function inWords(found: Vocabulary): string {
  const lines = `${count(found.total, "line")}, ${found.significant} with q at or below ${number(found.rate)}.`;
  const over = `${count(found.passed, "passed", "passed")} and ${count(found.failed, "failed", "failed")} generations`;
  if (found.reason_p !== null) return `${lines} ${over}: ${found.reason_p}.`;
  const mixed = `${found.mixed_groups} of ${count(found.groups, "group")} have both and tell them apart`;
  const least = found.least_q === null ? "" : `, where no q could be smaller than ${number(found.least_q)}`;
  const how = found.exact ? "" : " p is the normal distribution's.";
  return `${lines} ${over}; ${mixed}: ${count(found.family, "pattern")} of use tested${least}.${how}`;
}

const WINDOWS = [64, 256, 1024];

interface WindowFieldProps {
  readonly n: number | null;
  readonly onChoose: (n: number | null) => void;
}

/** A copy has the whole run only. */
function WindowField({ n, onChoose }: WindowFieldProps) {
  if (useCopy()) return null;
  const offered = n === null || WINDOWS.includes(n) ? WINDOWS : [...WINDOWS, n];
  return (
    <label>
      Of{" "}
      <select
        value={n ?? ""}
        onChange={({ target }) => onChoose(target.value === "" ? null : Number(target.value))}
      >
        <option value="">the whole run</option>
        {offered.map((each) => (
          <option key={each} value={each}>
            the last {each} that passed
          </option>
        ))}
      </select>
    </label>
  );
}

interface WordsProps {
  readonly label: string;
  readonly lines: readonly VocabularyFeature[];
  readonly of: Vocabulary;
  readonly cards: ReadonlyMap<string, Feature>;
  readonly onOpen: (feature: FeatureName) => void;
}

function Words({ label, lines, of, cards, onOpen }: WordsProps) {
  return (
    <ListTable label={label} columns={COLUMNS}>
      {lines.map((row) => (
        <Row key={featureText(row)} row={row} of={of} card={cards.get(featureText(row))} onOpen={onOpen} />
      ))}
    </ListTable>
  );
}

interface RowProps {
  readonly row: VocabularyFeature;
  readonly of: Vocabulary;
  readonly card: Feature | undefined;
  readonly onOpen: (feature: FeatureName) => void;
}

function Row({ row, of, card, onOpen }: RowProps) {
  const significant = row.q !== null && row.q <= of.rate;
  return (
    <tr className={significant ? "significant" : ""}>
      <th scope="row">
        <button
          type="button"
          className="link-button"
          onClick={() => onOpen({ layer: row.layer, feature: row.feature })}
        >
          {row.layer}:{row.feature}
        </button>
        {row.same.length > 0 && (
          <span className="muted small" title={row.same.map((each) => `${each.layer}:${each.feature}`).join(", ")}>
            {" "}
            and {row.same.length} alike
          </span>
        )}
      </th>
      <td>
        {row.sustained} of {of.n}
      </td>
      <td>
        {row.passed_with} of {of.passed}
      </td>
      <td>
        {row.failed_with} of {of.failed}
      </td>
      <td>{row.lift === null ? "only passed" : `${number(row.lift)}×`}</td>
      <td>{number(row.p)}</td>
      <td className="decides">
        {number(row.q)}
        {significant && <span title="significant"> ✓</span>}
      </td>
      <td>{number(row.activation)}</td>
      <td className="tokens-cell">
        <Promoted tokens={card?.promoted} />
      </td>
    </tr>
  );
}

/** Descriptions of all these, one request a layer; a layer without any has none. */
function useCards(run: string, features: readonly FeatureName[]): ReadonlyMap<string, Feature> {
  const key = features.map(featureText).sort().join(",");
  const found = useResource(key === "" ? null : `${run} ${key}`, async (signal) => {
    const layers = [...new Set(features.map(({ layer }) => layer))];
    const cards = await Promise.all(
      layers.map((layer) => {
        const numbers = features.filter((each) => each.layer === layer).map(({ feature }) => feature);
        return analytics.featureCards(run, layer, numbers, signal);
      }),
    );
    return new Map(
      cards.flatMap(({ layer, features: all }) =>
        all.map((card) => [featureText({ layer, feature: card.feature }), card]),
      ),
    );
  });
  return found.data ?? NONE;
}

const NONE: ReadonlyMap<string, Feature> = new Map();
