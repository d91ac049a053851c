/** One heatmap a hook, with one scale, one cursor and one read-out for all. */

import { useMemo, useRef, useState } from "react";
import type { Hook } from "../api/types";
import type { Theme } from "../widgets/colors";
import type { Place } from "../widgets/heatmap/cursor";
import { Heatmap } from "../widgets/heatmap/Heatmap";
import { cellText, HeatmapTable } from "../widgets/heatmap/HeatmapTable";
import { cellSizeIn, labelsUnder } from "../widgets/heatmap/paint";
import { Legend } from "../widgets/Legend";
import { HOOK_MEANING } from "../widgets/look.generated";
import { changeOf, isNoise, type Scale } from "../widgets/scale";
import { fit, quoted, tokenLabel } from "../widgets/tokens";
import { useWidth } from "../widgets/useWidth";
import {
  extremes,
  gridOf,
  legendKeys,
  marksOf,
  placeText,
  sharedScale,
  siteAt,
  valueAt,
  valueText,
  type Values,
} from "./panels";
import type { Axes } from "./sweepView";

const LONGEST_LABEL = 18;
/** Room at the left of a heatmap, for the layers' numbers. */
const ROW_LABELS = 34;

interface HeatmapPanelsProps {
  readonly axes: Axes;
  readonly values: Values;
  readonly baseline: number | null;
  readonly noise: number;
  readonly theme: Theme;
  /** How a position got its activation: `from clean “·Tower”`. */
  readonly sourceOf?: (position: number) => string;
  /** Why a cell has no number; empty where it has one. */
  readonly reasonOf?: (hook: Hook, layer: number, position: number) => string;
}

export function HeatmapPanels({ axes, values, baseline, noise, theme, sourceOf, reasonOf }: HeatmapPanelsProps) {
  const [cursor, setCursor] = useState<Place | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const room = useWidth(box);
  const scale = useMemo(() => sharedScale(values, baseline, noise), [values, baseline, noise]);
  const found = useMemo(() => extremes(axes, values), [axes, values]);
  const keys = useMemo(() => legendKeys(scale, values, found), [scale, values, found]);
  return (
    <div className="panels-area">
      <Legend scale={scale} theme={theme} keys={keys} />
      <ReadOut axes={axes} values={values} scale={scale} cursor={cursor} sourceOf={sourceOf} reasonOf={reasonOf} />
      <div className="panels" ref={box}>
        {axes.hooks.map((hook) => (
          <Panel
            key={hook}
            hook={hook}
            axes={axes}
            values={values[hook]}
            scale={scale}
            theme={theme}
            found={found}
            room={room}
            reasonOf={reasonOf}
            cursor={cursor}
            onCursor={setCursor}
          />
        ))}
      </div>
    </div>
  );
}

interface PanelProps {
  readonly hook: Hook;
  readonly axes: Axes;
  readonly values: Float32Array | undefined;
  readonly scale: Scale;
  readonly theme: Theme;
  readonly found: ReturnType<typeof extremes>;
  /** Pixels that a panel may be wide; 0 before that is known. */
  readonly room: number;
  readonly reasonOf: HeatmapPanelsProps["reasonOf"];
  readonly cursor: Place | null;
  readonly onCursor: (place: Place | null) => void;
}

function Panel({ hook, axes, values, scale, theme, found, room, reasonOf, cursor, onCursor }: PanelProps) {
  const grid = useMemo(() => gridOf(axes, values), [axes, values]);
  const marks = useMemo(() => marksOf(hook, axes, found), [hook, axes, found]);
  const rowLabels = useMemo(() => axes.layers.map(String), [axes]);
  const columnLabels = useMemo(
    () => axes.positions.map((position) => fit(tokenLabel(axes.tokens[position] ?? ""), LONGEST_LABEL)),
    [axes],
  );
  const columns = axes.positions.length;
  const cell = cellSizeIn(Math.max(room - ROW_LABELS, 0), axes.layers.length, columns);
  const at = cursor && siteAt(axes, cursor);
  const reason = at && reasonOf?.(hook, at.layer, at.position);
  const label = `${hook}, ${HOOK_MEANING[hook]}: ${axes.layers.length} layers by ${axes.positions.length} positions`;
  return (
    <figure className="panel" data-hook={hook}>
      <figcaption>
        <b>{hook}</b> {HOOK_MEANING[hook]}
      </figcaption>
      <div className="scroll panel-scroll">
        <Heatmap
          label={label}
          grid={grid}
          version={grid.version}
          scale={scale}
          theme={theme}
          rowLabels={rowLabels}
          columnLabels={columnLabels}
          corner="layer"
          marks={marks}
          cursor={cursor}
          onCursor={onCursor}
          cell={cell}
          mostColumnLabels={labelsUnder(columns, cell.width)}
          readOut={
            cursor ? `${placeText(axes, cursor)}: ${valueText(scale, valueAt(axes, values, cursor), reason ?? "")}` : ""
          }
        />
      </div>
      <HeatmapTable
        caption={hook}
        corner="layer"
        grid={grid}
        version={grid.version}
        scale={scale}
        rowLabels={rowLabels}
        columnLabels={columnLabels}
      />
    </figure>
  );
}

interface ReadOutProps {
  readonly axes: Axes;
  readonly values: Values;
  readonly scale: Scale;
  readonly cursor: Place | null;
  readonly sourceOf: HeatmapPanelsProps["sourceOf"];
  readonly reasonOf: HeatmapPanelsProps["reasonOf"];
}

/** The numbers of all hooks at the cursor. Spoken by the heatmap itself, so not here. */
function ReadOut({ axes, values, scale, cursor, sourceOf, reasonOf }: ReadOutProps) {
  if (cursor === null) {
    return <p className="read-out muted">Point at a cell, or use the arrow keys, to read its numbers.</p>;
  }
  const { layer, position } = siteAt(axes, cursor);
  return (
    <p className="read-out" aria-hidden="true">
      <span>
        layer <b>{layer}</b>, position <b>{position}</b> {quoted(axes.tokens[position] ?? "")}{" "}
        {sourceOf && <span className="muted">{sourceOf(position)}</span>}
      </span>
      {axes.hooks.map((hook) => {
        const value = valueAt(axes, values[hook], cursor);
        const change = Number.isFinite(value) ? changeOf(scale, value) : "";
        return (
          <span key={hook}>
            <code>{hook}</code> <b>{cellText(value, scale)}</b>{" "}
            <span className="muted">{change || reasonOf?.(hook, layer, position)}</span>
            {isNoise(scale, value) && <span className="muted"> (noise)</span>}
          </span>
        );
      })}
    </p>
  );
}
