/** The features that generations which pass the gate keep using. */

import * as analytics from "../../api/analytics";
import type { Feature, VocabularyFeature } from "../../api/analytics";
import { useResource } from "../../api/useResource";
import { count, number } from "../../widgets/numbers";
import { tokenLabel } from "../../widgets/tokens";
import { useAsked, type Scene } from "../scene";
import { featureText, type FeatureName } from "../view/address";
import { NothingHere } from "./NothingHere";
import { Panel } from "./Panel";

const MOST = 25;
const PROMOTED = 5;

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
        found
          ? `Features of at least ${found.m} of the last ${found.n} generations that passed the gate${shown.layer === null ? "" : `, layer ${shown.layer}`}. Lift is how much more often they have it than failed ones; q is the chance of that by luck, with false discoveries controlled.`
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
          <div className="scroll" tabIndex={0} role="region" aria-label="Vocabulary, table">
            <table className="facts-table vocabulary">
              <thead>
                <tr>
                  <th scope="col">feature</th>
                  <th scope="col">sustained</th>
                  <th scope="col">passed</th>
                  <th scope="col">failed</th>
                  <th scope="col">lift</th>
                  <th scope="col">p</th>
                  <th scope="col">q</th>
                  <th scope="col">activation</th>
                  <th scope="col">promotes</th>
                </tr>
              </thead>
              <tbody>
                {found.features.map((row) => (
                  <Row
                    key={featureText(row)}
                    row={row}
                    n={found.n}
                    rate={found.rate}
                    card={cards.get(featureText(row))}
                    onOpen={(feature) => go({ feature })}
                  />
                ))}
              </tbody>
            </table>
          </div>
          <p className="muted small">
            {count(found.total, "feature")} sustained, {found.significant} of them with q at or below {number(found.rate)};{" "}
            {count(found.family, "feature")} tested over {count(found.passed, "passed", "passed")} and{" "}
            {count(found.failed, "failed", "failed")} generations. {found.reason_p}
          </p>
        </>
      )}
    </Panel>
  );
}

interface RowProps {
  readonly row: VocabularyFeature;
  readonly n: number;
  readonly rate: number;
  readonly card: Feature | undefined;
  readonly onOpen: (feature: FeatureName) => void;
}

function Row({ row, n, rate, card, onOpen }: RowProps) {
  const significant = row.q !== null && row.q <= rate;
  return (
    <tr className={significant ? "significant" : ""}>
      <th scope="row">
        <button type="button" className="link-button" onClick={() => onOpen({ layer: row.layer, feature: row.feature })}>
          {row.layer}.{row.feature}
        </button>
      </th>
      <td>
        {row.sustained} of {n}
      </td>
      <td>{row.passed_with}</td>
      <td>{row.failed_with}</td>
      <td>{row.lift === null ? "only passed" : `${number(row.lift)}×`}</td>
      <td>{number(row.p)}</td>
      <td>
        {number(row.q)}
        {significant && <span title="significant"> ✓</span>}
      </td>
      <td>{number(row.activation)}</td>
      <td className="tokens-cell">
        {card?.promoted.slice(0, PROMOTED).map((token, index) => <bdi key={index}>{tokenLabel(token)}</bdi>)}
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
    return new Map(cards.flatMap(({ layer, features: all }) => all.map((card) => [featureText({ layer, feature: card.feature }), card])));
  });
  return found.data ?? NONE;
}

const NONE: ReadonlyMap<string, Feature> = new Map();
