/**
 * Lines over time, with the page's time cursor: the pointer and the arrow keys move it, dragging
 * chooses a stretch. What is at the cursor stands in the legend, which is spoken.
 */

import { useContext, useEffect, useEffectEvent, useMemo, useRef, type KeyboardEvent } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Theme } from "../../widgets/colors";
import { CursorContext, useTimeCursor } from "../cursor";
import { plotInks } from "./inks";
import { PlotLegend, type LegendEntry } from "./PlotLegend";
import { PlotTable } from "./PlotTable";
import { timeData, timeOptions, type Flag, type LineSeries } from "./timeOptions";
import { useWidth } from "../../widgets/useWidth";

export interface TimePlotProps {
  readonly label: string;
  readonly theme: Theme;
  /** Where columns begin. */
  readonly x: readonly number[];
  readonly from: number;
  readonly to: number;
  readonly unit: string;
  readonly series: readonly LineSeries[];
  readonly range?: readonly [number | null, number | null];
  readonly flags?: readonly Flag[];
  readonly height?: number;
  readonly onSelect: (from: number, to: number) => void;
}

const ANY = [null, null] as const;

export function TimePlot(props: TimePlotProps) {
  const { x, series, from, to, theme, flags = [], range = ANY, height = 190, onSelect } = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const width = useWidth(box);
  const cursor = useContext(CursorContext);
  const [time, setTime] = useTimeCursor();
  const names = series.map((each) => each.name).join("\n");
  const data = useMemo(() => timeData(x, series), [x, series]);

  const latestFlags = useRef(flags);
  useEffect(() => {
    latestFlags.current = flags;
  });
  const selected = useEffectEvent(onSelect);

  const draw = useEffectEvent((made: uPlot) => {
    made.batch(() => {
      made.setData(data, false);
      made.setScale("x", { min: from, max: Math.max(to - 1, from + 1) });
    });
  });

  useEffect(() => {
    if (!box.current || width < 40) return;
    const made = new uPlot(
      timeOptions({
        inks: plotInks(box.current),
        width,
        height,
        names: names === "" ? [] : names.split("\n"),
        range,
        flags: () => latestFlags.current,
        onTime: cursor.set,
        onSelect: selected,
      }),
      [[]],
      box.current,
    );
    plot.current = made;
    draw(made);
    return () => {
      made.destroy();
      plot.current = null;
    };
  }, [width, height, names, theme, cursor, range]);

  useEffect(() => {
    if (plot.current) draw(plot.current);
  }, [data, from, to, flags]);

  useEffect(() => {
    const made = plot.current;
    if (!made) return;
    const left = time === null ? -10 : made.valToPos(time, "x");
    if (made.cursor.left !== left) made.setCursor({ left, top: time === null ? -10 : 0 }, false);
  }, [time, width, data, from, to]);

  const index = time === null ? -1 : indexAt(x, time);
  const onKey = (event: KeyboardEvent) => {
    const next = keyed(
      event.key,
      index,
      x.findIndex((each) => each >= from),
      indexAt(x, to - 1),
    );
    if (next === undefined) return;
    event.preventDefault();
    setTime(next === null ? null : (x[next] ?? null));
  };
  const at = x[index >= 0 ? index : x.length - 1];
  const entries: LegendEntry[] = series.map(({ name, mean, low, high }) => {
    const each = index >= 0 ? index : mean.findLastIndex((value) => value !== null);
    return { name, value: mean[each] ?? null, low: low?.[each] ?? null, high: high?.[each] ?? null };
  });
  return (
    <div className="plot">
      <PlotLegend entries={entries} moment={at === undefined ? "" : `${props.unit} ${at}`} live={time !== null} />
      <div
        ref={box}
        className="plot-canvas"
        style={{ height }}
        role="application"
        aria-roledescription="chart"
        aria-label={`${props.label}. Arrow keys move through time.`}
        tabIndex={0}
        onKeyDown={onKey}
        onPointerLeave={() => setTime(null)}
        onBlur={() => setTime(null)}
      />
      <PlotTable caption={props.label} unit={props.unit} x={x} series={series} />
    </div>
  );
}

/** The last column that begins at or before a time. */
function indexAt(x: readonly number[], time: number): number {
  let [low, high] = [0, x.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((x[middle] ?? 0) <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Where a key leads among the columns that are shown: null for nowhere, undefined when it means nothing. */
function keyed(key: string, at: number, first: number, last: number): number | null | undefined {
  if (first < 0 || last < first) return undefined;
  switch (key) {
    case "ArrowLeft":
      return at < 0 ? last : Math.max(at - 1, first);
    case "ArrowRight":
      return at < 0 ? last : Math.min(at + 1, last);
    case "Home":
      return first;
    case "End":
      return last;
    case "Escape":
      return null;
    default:
      return undefined;
  }
}
