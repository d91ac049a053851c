/** A heatmap whose columns are time: as wide as there is room, with the page's cursor. */

import { useMemo, useRef, useState } from "react";
import type { Theme } from "../../widgets/colors";
import { Heatmap } from "../../widgets/heatmap/Heatmap";
import { HeatmapTable } from "../../widgets/heatmap/HeatmapTable";
import type { Place } from "../../widgets/heatmap/cursor";
import { Legend, type LegendKey } from "../../widgets/Legend";
import { scaleOf, type Scale } from "../../widgets/scale";
import { useTimeCursor } from "../cursor";
import { sharesOfRows, type HeatView, type Seen } from "../view/grids";
import { columnLabels, columnName, columnOf, timeOf } from "../view/window";

interface TimeHeatmapProps {
  readonly label: string;
  readonly unit: string;
  readonly view: HeatView;
  readonly version: number;
  readonly theme: Theme;
  readonly width: number;
  readonly rowName: (row: number) => string;
  /** What a number means, for the legend and the read-out. */
  readonly meaning: string;
  readonly say: (seen: Seen) => string;
  /** Enter or a click on a row. */
  readonly onChoose: (row: number) => void;
  readonly rowHeight: number;
  /** Whether colours compare a row with itself only: rows of very different size would hide each other. */
  readonly ownScales?: boolean;
  /** Which signs the legend explains. */
  readonly keys: readonly LegendKey[];
}

const OWN: Scale = { low: 0, high: 1, baseline: null, noise: 0 };
const ROW_LABELS = 62;
const COLUMN_LABELS = 14;

export function TimeHeatmap(props: TimeHeatmapProps) {
  const { view, width, unit } = props;
  const { axis, rows, grid } = view;
  const [time, setTime] = useTimeCursor();
  const [row, setRow] = useState<number | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const scale: Scale = useMemo(() => scaleOf(grid.finite(), null), [grid]);
  const colored = useMemo(() => (props.ownScales === true ? sharesOfRows(grid) : grid), [grid, props.ownScales]);
  const colors = colored === grid ? scale : OWN;
  const column = time === null ? null : columnOf(axis, time);
  const cursor: Place | null = row !== null && column !== null && row < rows.length ? { row, column } : null;
  const at = cursor ? rows.length - 1 - cursor.row : null;
  const readOut =
    cursor && at !== null
      ? `${props.rowName(rows[at] ?? 0)}, ${unit} ${columnName(axis, cursor.column)}: ${props.say(view.at(at, cursor.column))}`
      : "";
  const onCursor = (place: Place | null) => {
    setRow(place?.row ?? null);
    setTime(place ? timeOf(axis, place.column) : null);
  };
  const choose = () => {
    if (at !== null) props.onChoose(rows[at] ?? 0);
  };
  const rowLabels = rows.map(props.rowName);
  const room = Math.max(width - ROW_LABELS, axis.columns);
  const below = columnLabels(axis, room, COLUMN_LABELS);
  return (
    <div
      ref={box}
      className="time-heatmap"
      onKeyDown={(event) => event.key === "Enter" && choose()}
      onClick={(event) => event.target instanceof HTMLCanvasElement && choose()}
    >
      <Heatmap
        label={props.label}
        grid={colored}
        version={props.version}
        scale={colors}
        theme={props.theme}
        rowLabels={rowLabels}
        columnLabels={below.labels}
        corner={unit}
        cursor={cursor}
        onCursor={onCursor}
        readOut={readOut}
        cell={{ width: room / Math.max(axis.columns, 1), height: props.rowHeight }}
        mostColumnLabels={below.most}
      />
      <div className="heatmap-foot">
        <Legend scale={colors} theme={props.theme} label={props.meaning} keys={props.keys} />
        <p className="live-read-out" aria-hidden="true">
          {readOut || `${unit} ${columnName(axis, 0)} to ${columnName(axis, axis.columns - 1)}`}
        </p>
      </div>
      <HeatmapTable
        caption={props.label}
        corner={unit}
        grid={grid}
        version={props.version}
        scale={scale}
        rowLabels={rowLabels}
        columnLabels={Array.from({ length: axis.columns }, (_, each) => columnName(axis, each))}
      />
    </div>
  );
}
