/** What one feature means, and what it does in this run. */

import { useMemo } from "react";
import * as analytics from "../../api/analytics";
import { useResource } from "../../api/useResource";
import { Link } from "../../app/Link";
import { useCopy } from "../../copy/copied";
import { Meaning } from "../../feature/Meaning";
import { ErrorNote } from "../../widgets/ErrorNote";
import { TimePlot } from "../plot/TimePlot";
import { useAsked, type Scene } from "../scene";
import type { FeatureName } from "../view/address";
import { activityOf } from "../view/activity";
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
  const copied = useCopy() !== null;
  const found = card.data?.features[0];
  const activity = useMemo(() => (tile.data ? activityOf(tile.data) : null), [tile.data]);
  return (
    <Panel
      title={`Feature ${feature} of layer ${layer}`}
      tools={
        <button type="button" className="quiet-button" onClick={() => go({ feature: null })}>
          Close
        </button>
      }
    >
      {card.error && <ErrorNote error={card.error} onRetry={card.reload} />}
      {card.data && !found && <p className="muted">{card.data.reason}</p>}
      <div className="feature-card">
        <div>
          {found && <Meaning feature={found} theme={theme} most={SNIPPETS} />}
          {!copied && (
            <p className="small">
              <Link href={`/feature/${layer}/${feature}?run=${encodeURIComponent(run.run)}`}>All about this feature</Link>
            </p>
          )}
        </div>
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
