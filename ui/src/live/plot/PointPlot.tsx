/** Points of two kinds: filled and hollow, so that they differ without colour. */

import { useEffect, useEffectEvent, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Theme } from "../../widgets/colors";
import { number } from "../../widgets/numbers";
import { plotInks, type PlotInks } from "./inks";
import { GUTTER } from "./timeOptions";
import { useWidth } from "../../widgets/useWidth";

export interface PointPlotProps {
  readonly label: string;
  readonly theme: Theme;
  readonly xLabel: string;
  readonly yLabel: string;
  /** Ascending. */
  readonly x: readonly number[];
  readonly filled: readonly (number | null)[];
  readonly hollow: readonly (number | null)[];
  readonly height?: number;
  /** A point that the pointer is at, or was clicked. */
  readonly onPoint: (index: number | null) => void;
  readonly onChoose: (index: number) => void;
}

/** Points so many times apart are shown on a logarithmic scale, where the near ones keep their room. */
const FAR = 6;

export function PointPlot(props: PointPlotProps) {
  const { x, filled, hollow, theme, height = 230 } = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const width = useWidth(box);
  const far = (x[0] ?? 0) > 0 && (x.at(-1) ?? 0) > FAR * (x[0] ?? 0);
  const pointed = useEffectEvent(props.onPoint);
  const draw = useEffectEvent((made: uPlot) => made.setData([[...x], [...filled], [...hollow]]));
  const labels = useEffectEvent(() => ({ x: props.xLabel, y: props.yLabel }));
  useEffect(() => {
    if (!box.current || width < 40) return;
    const inks = plotInks(box.current);
    const made = new uPlot(pointOptions(inks, width, height, labels(), far, pointed), [[], [], []], box.current);
    plot.current = made;
    draw(made);
    return () => {
      made.destroy();
      plot.current = null;
    };
  }, [width, height, theme, far]);
  useEffect(() => {
    if (plot.current) draw(plot.current);
  }, [x, filled, hollow]);
  const choose = () => {
    const index = plot.current?.cursor.idx;
    if (typeof index === "number") props.onChoose(index);
  };
  return (
    <div ref={box} className="plot-canvas" style={{ height }} role="img" aria-label={props.label} onClick={choose} />
  );
}

function pointOptions(
  inks: PlotInks,
  width: number,
  height: number,
  labels: { x: string; y: string },
  far: boolean,
  onPoint: (index: number | null) => void,
): uPlot.Options {
  const axis = {
    stroke: inks.muted,
    font: "11px system-ui",
    labelFont: "11px system-ui",
    labelSize: 18,
    grid: { stroke: inks.line, width: 1 },
    ticks: { show: false },
    values: (_plot: uPlot, splits: (number | null)[]) => splits.map((at) => (at === null ? "" : number(at))),
  };
  const points = (stroke: string, fill: string): uPlot.Series => ({
    stroke,
    paths: () => null,
    points: { show: true, size: 7, width: 1.4, stroke, fill },
  });
  const [first = inks.accent, second = inks.caution] = inks.series;
  return {
    width,
    height,
    padding: [8, 20, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { show: false } },
    scales: {
      // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- the library's enum has no values at run time
      x: { time: false, distr: far ? 3 : 1 },
      y: { range: (_plot, low, high) => [Math.min(low, 0) - 0.05, Math.max(high, 1) + 0.05] },
    },
    axes: [
      { ...axis, size: 26, label: far ? `${labels.x} (logarithmic)` : labels.x },
      { ...axis, size: GUTTER - 18, label: labels.y },
    ],
    series: [{}, points(first, `${first}99`), points(second, inks.surface)],
    hooks: { setCursor: [(made) => onPoint((made.cursor.left ?? -1) < 0 ? null : (made.cursor.idx ?? null))] },
  };
}
