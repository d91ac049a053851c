/** The cells of a table: a panel a hook, on one scale, each with its table twin. */

import { useMemo, useState } from "react";
import type { HeadShape } from "../api/types";
import type { Theme } from "../widgets/colors";
import type { Place } from "../widgets/heatmap/cursor";
import { Heatmap } from "../widgets/heatmap/Heatmap";
import { HeatmapTable } from "../widgets/heatmap/HeatmapTable";
import { cellSize } from "../widgets/heatmap/paint";
import { Legend, type LegendKey } from "../widgets/Legend";
import { HOOK_MEANING } from "../widgets/look.generated";
import { reaching, type Scale } from "../widgets/scale";
import { readersOf, sharedBy } from "./heads";
import { valueText } from "./panels";
import { panelsOf, placeIn, tableScale, type Shown, type TablePanel } from "./tables";

/** A cell by its panel, and its row and column in the grid. */
export interface Cell {
  readonly panel: number;
  readonly row: number;
  readonly column: number;
}

interface TablePanelsProps {
  readonly found: Shown;
  /** How far from the baseline the colours reach at least. */
  readonly reach?: number | undefined;
  readonly theme: Theme;
  /** Where the panels count heads: keys and values are as wide as those that read them. */
  readonly heads?: HeadShape | null;
  readonly doubtful?: ((cell: Cell) => boolean) | undefined;
  /** What makes a cell doubtful. */
  readonly doubt?: LegendKey;
  /** What the cells are, where that is not what the hook is. */
  readonly caption?: { readonly name: string; readonly about: string };
  /** More about a cell, beside its value. */
  readonly about?: (cell: Cell) => string;
  readonly onCell?: (cell: Cell | null) => void;
  readonly onOpen?: (panel: TablePanel, cell: Cell) => void;
}

export function TablePanels({ found, reach = 0, doubt = "doubt", ...rest }: TablePanelsProps) {
  const panels = useMemo(() => panelsOf(found), [found]);
  const scale = useMemo(() => reaching(tableScale(found, panels), reach), [found, panels, reach]);
  const keys: LegendKey[] = rest.doubtful ? [doubt] : [];
  const [said, setSaid] = useState("");
  return (
    <div className="panels-area">
      <Legend scale={scale} theme={rest.theme} keys={keys} />
      <p className="read-out muted" aria-hidden="true">
        {said === "" ? "Point at a cell, or use the arrow keys, to read its numbers." : said}
      </p>
      <div className="panels">
        {panels.map((panel, n) => (
          <Panel key={n} n={n} panel={panel} scale={scale} onSaid={setSaid} {...rest} />
        ))}
      </div>
    </div>
  );
}

interface PanelProps extends Omit<TablePanelsProps, "found" | "reach" | "doubt"> {
  readonly n: number;
  readonly panel: TablePanel;
  readonly scale: Scale;
  /** What is at the cursor, for the one line over all panels: where it changes, nothing else moves. */
  readonly onSaid: (text: string) => void;
}

function Panel({ n, panel, onSaid, scale, theme, heads = null, caption, doubtful, about, onCell, onOpen }: PanelProps) {
  const [cursor, setCursor] = useState<Place | null>(null);
  const { hook, rows, columns, rowLabels, columnLabels, grid } = panel;
  const ofHeads = heads !== null && columns === "head";
  const cellAt = (place: Place): Cell => ({ panel: n, row: rowLabels.length - 1 - place.row, column: place.column });
  const sayAt = (at: Cell | null) => {
    if (at === null) return "";
    const more = about?.(at) ?? "";
    return `${placeIn(panel, at.row, at.column)}: ${valueText(scale, grid.get(at.row, at.column))}${more === "" ? "" : `; ${more}`}`;
  };
  const named = caption ?? { name: hook, about: HOOK_MEANING[hook] };
  const sides = [`${rowLabels.length} ${rows}s`, ...(columns === "" ? [] : [`${columnLabels.length} ${columns}s`])];
  const shared = { grid, version: grid.version, scale, rowLabels, columnLabels, corner: rows };
  const base = cellSize(grid.rows, ofHeads ? heads.heads : grid.length);
  const cell = ofHeads ? { ...base, width: base.width * sharedBy(heads, hook) } : base;
  const ownDoubt = useMemo(
    () => doubtful && ((row: number, column: number) => doubtful({ panel: n, row, column })),
    [doubtful, n],
  );
  return (
    <figure className="panel" data-hook={hook}>
      <figcaption>
        <b>{named.name}</b> {named.about}
      </figcaption>
      <div className="scroll panel-scroll">
        {ofHeads && sharedBy(heads, hook) > 1 && <Brackets heads={heads} panel={panel} width={cell.width} />}
        <Heatmap
          {...shared}
          label={`${named.name}, ${named.about}: ${sides.join(" by ")}`}
          theme={theme}
          cell={cell}
          cursor={cursor}
          onCursor={(place) => {
            setCursor(place);
            onCell?.(place && cellAt(place));
            onSaid(place === null ? "" : `${named.name}, ${sayAt(cellAt(place))}`);
          }}
          onOpen={onOpen && ((place) => onOpen(panel, cellAt(place)))}
          doubtful={ownDoubt}
          readOut={sayAt(cursor && cellAt(cursor))}
        />
      </div>
      <HeatmapTable {...shared} caption={named.name} />
    </figure>
  );
}

interface BracketsProps {
  readonly heads: HeadShape;
  readonly panel: TablePanel;
  readonly width: number;
}

/** Over each column the query heads that share it. */
function Brackets({ heads, panel, width }: BracketsProps) {
  return (
    <div className="brackets" aria-hidden="true">
      {panel.columnValues.map((group) => {
        const readers = readersOf(heads, Number(group));
        return (
          <span key={group} style={{ width }}>
            {readers[0]}–{readers.at(-1)}
          </span>
        );
      })}
    </div>
  );
}
