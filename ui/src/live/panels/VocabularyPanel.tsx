/** The features that generations which pass the gate keep using. */

import * as analytics from "../../api/analytics";
import type { Feature, Vocabulary, VocabularyFeature } from "../../api/analytics";
import { useResource } from "../../api/useResource";
import { ListTable, type Column } from "../../widgets/ListTable";
import { count, number } from "../../widgets/numbers";
import { tokenLabel } from "../../widgets/tokens";
import { useAsked, type Scene } from "../scene";
import { featureText, type FeatureName } from "../view/address";
import { NothingHere } from "./NothingHere";
import { Panel } from "./Panel";

const MOST = 25;
const PROMOTED = 5;

const COLUMNS: readonly Column[] = [
  { name: "feature", about: "Layer and number." },
  {
    name: "sustained",
    about: "How many of the newest generations that passed have it: it is among the strongest of some of their tokens.",
  },
  { name: "passed with it", about: "Of all generations in the window that passed the gate." },
  { name: "failed with it", about: "Of all generations in the window that failed it." },
  { name: "lift", about: "Share of the passed that have it, over share of the failed." },
  {
    name: "p",
    about:
      "How likely as many of the passed would have it, had the gates been dealt at random among the generations of each prompt. Exact.",
  },
  { name: "q", about: "p with false discoveries controlled over all features tested (Benjamini and Hochberg)." },
  { name: "activation", about: "Mean over the tokens of passed generations that have it." },
  { name: "promotes", about: "Tokens that its direction makes likelier, by the model's own output weights." },
];

export function VocabularyPanel({ scene }: { readonly scene: Scene }) {
  const { run, shown, go } = scene;
  const asked = useAsked(scene, `vocabulary ${shown.layer ?? "all"}`, (signal) =>
    analytics.vocabulary(run.run, shown.layer, MOST, signal),
  );
  const found = asked.data;
  const cards = useCards(run.run, found?.features ?? []);
  return (
    <Panel
      title="Vocabulary"
      wide
      about={
        found && found.n > 0
          ? `Features that at least ${found.m} of the last ${found.n} generations which passed the gate have${shown.layer === null ? "" : `, layer ${shown.layer}`}, beside how many of the failed ones have them. Open one for what it means.`
          : "Features that generations which pass the gate keep using."
      }
    >
      {(found === null || found.features.length === 0) && (
        <NothingHere asked={asked} title="No feature is sustained yet">
          <p>{found?.reason ?? "None is in enough of the generations that passed."}</p>
        </NothingHere>
      )}
      {found && found.features.length > 0 && (
        <>
          <ListTable label="Vocabulary" columns={COLUMNS}>
            {found.features.map((row) => (
              <Row
                key={featureText(row)}
                row={row}
                of={found}
                card={cards.get(featureText(row))}
                onOpen={(feature) => go({ feature })}
              />
            ))}
          </ListTable>
          <p className="muted small">
            {count(found.total, "feature")} sustained, {found.significant} of them with q at or below{" "}
            {number(found.rate)}; {count(found.family, "feature")} tested over {count(found.passed, "passed", "passed")}{" "}
            and {count(found.failed, "failed", "failed")} generations. {found.reason_p}
          </p>
        </>
      )}
    </Panel>
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
      <td>
        {number(row.q)}
        {significant && <span title="significant"> ✓</span>}
      </td>
      <td>{number(row.activation)}</td>
      <td className="tokens-cell">
        {card?.promoted.slice(0, PROMOTED).map((token, index) => (
          <bdi key={index}>{tokenLabel(token)}</bdi>
        ))}
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
