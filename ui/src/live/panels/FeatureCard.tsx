/** What one feature means, and what it does in this run. */

import { useMemo } from "react";
import * as analytics from "../../api/analytics";
import type { Feature, Snippet, Tile } from "../../api/analytics";
import { useResource } from "../../api/useResource";
import { cssColor, type Theme } from "../../widgets/colors";
import { ErrorNote } from "../../widgets/ErrorNote";
import { number } from "../../widgets/numbers";
import { tokenLabel } from "../../widgets/tokens";
import { TimePlot } from "../plot/TimePlot";
import type { LineSeries } from "../plot/timeOptions";
import { useAsked, type Scene } from "../scene";
import type { FeatureName } from "../view/address";
import { plainTextOn } from "../view/ink";
import { Panel } from "./Panel";
import { TestIt } from "./TestIt";

interface FeatureCardProps {
  readonly scene: Scene;
  readonly name: FeatureName;
}

const SNIPPETS = 6;

export function FeatureCard({ scene, name: { layer, feature } }: FeatureCardProps) {
  const { run, shown, go, from, to, theme } = scene;
  const card = useResource(`${run.run} ${layer} ${feature}`, (signal) =>
    analytics.featureCards(run.run, layer, [feature], signal),
  );
  const tile = useAsked(scene, `activity ${layer} ${feature}`, (signal) =>
    analytics.featureActivity(run.run, layer, feature, 256, signal),
  );
  const found = card.data?.features[0];
  const activity = useMemo(() => (tile.data ? activityOf(tile.data) : null), [tile.data]);
  return (
    <Panel
      title={`Feature ${feature} of layer ${layer}`}
      wide
      tools={
        <button type="button" className="quiet-button" onClick={() => go({ feature: null })}>
          Close
        </button>
      }
    >
      {card.error && <ErrorNote error={card.error} onRetry={card.reload} />}
      {card.data && !found && <p className="muted">{card.data.reason}</p>}
      <div className="feature-card">
        {found && <Meaning feature={found} theme={theme} />}
        <div>
          <h3>In this run</h3>
          {activity && activity.x.length > 0 ? (
            <TimePlot
              label={`Activation of feature ${feature}`}
              theme={theme}
              x={activity.x}
              from={from}
              to={to}
              unit={tile.data?.unit ?? "step"}
              series={activity.series}
              height={140}
              onSelect={(start, end) => go({ window: { kind: "fixed", from: start, to: end + 1 } })}
            />
          ) : (
            <p className="muted">
              {tile.error?.message ?? tile.data?.reason ?? "It was not among the strongest of any token yet."}
            </p>
          )}
          {shown.generation === null && <TestIt scene={scene} layer={layer} feature={feature} />}
        </div>
      </div>
    </Panel>
  );
}

function activityOf(tile: Tile): { x: number[]; series: LineSeries[] } {
  const columns = Array.from({ length: tile.columns }, (_, column) => column);
  const shown = columns.filter((column) => (tile.count[0]?.[column] ?? 0) > 0);
  const pick = (values: Tile["mean"]) => shown.map((column) => values[0]?.[column] ?? null);
  return {
    x: shown.map((column) => tile.start + column * tile.width),
    series: [{ name: "activation", mean: pick(tile.mean), low: pick(tile.low), high: pick(tile.high) }],
  };
}

function Meaning({ feature, theme }: { readonly feature: Feature; readonly theme: Theme }) {
  return (
    <div>
      <dl className="live-facts">
        <dt>active</dt>
        <dd>
          {feature.rate === 0
            ? "on no token of the text it was described on"
            : `on ${number(100 * feature.rate)} % of the tokens it was described on`}
        </dd>
        <dt>promotes</dt>
        <dd className="tokens-cell">
          {feature.promoted.map((token, index) => (
            <bdi key={index}>{tokenLabel(token)}</bdi>
          ))}
        </dd>
        <dt>suppresses</dt>
        <dd className="tokens-cell">
          {feature.suppressed.map((token, index) => (
            <bdi key={index}>{tokenLabel(token)}</bdi>
          ))}
        </dd>
      </dl>
      {feature.snippets.length > 0 && <h3>Most active on</h3>}
      <ul className="snippets">
        {feature.snippets.slice(0, SNIPPETS).map((snippet, index) => (
          <li key={index}>
            <span className="muted" title="Activation at the strongest token, in the dictionary's own units">
              {number(snippet.value)}
            </span>{" "}
            <SnippetText snippet={snippet} theme={theme} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function SnippetText({ snippet, theme }: { readonly snippet: Snippet; readonly theme: Theme }) {
  return (
    <span className="snippet">
      {snippet.tokens.map((token, index) => {
        const heat = Number(snippet.heat[index] ?? "0") / 9;
        const background = cssColor("sequential", theme, heat);
        const text = tokenLabel(token).replaceAll("\u00B7", " ");
        return heat === 0 ? (
          <bdi key={index}>{text}</bdi>
        ) : (
          <mark key={index} style={{ background, color: plainTextOn(background) }}>
            <bdi>{text}</bdi>
          </mark>
        );
      })}
    </span>
  );
}
