/** What one head attends to in both prompts, and where that differs: as matrices and as arcs over the tokens. */

import { useMemo, useState } from "react";
import type { AttentionTable } from "../api/types";
import type { Theme } from "../widgets/colors";
import type { Place } from "../widgets/heatmap/cursor";
import { Heatmap } from "../widgets/heatmap/Heatmap";
import { HeatmapTable } from "../widgets/heatmap/HeatmapTable";
import { number } from "../widgets/numbers";
import type { Scale } from "../widgets/scale";
import { fit, quoted, tokenLabel } from "../widgets/tokens";
import { arcsOf, matrixGrid, weightsOf, type HeadName } from "./heads";

interface HeadAttentionProps {
  readonly head: HeadName;
  readonly clean: AttentionTable;
  readonly corrupt: AttentionTable;
  readonly theme: Theme;
}

const SHARE: Scale = { low: 0, high: 1, baseline: null, noise: 0 };
const CHANGE: Scale = { low: -1, high: 1, baseline: 0, noise: 0 };

export function HeadAttention({ head, clean, corrupt, theme }: HeadAttentionProps) {
  const [one, other] = useMemo(() => [weightsOf(clean, head), weightsOf(corrupt, head)], [clean, corrupt, head]);
  const same = clean.tokens.length === corrupt.tokens.length;
  const change = useMemo(
    () => (one && other && one.length === other.length ? one.map((weight, n) => weight - (other[n] ?? 0)) : null),
    [one, other],
  );
  if (one === null || other === null) return null;
  return (
    <div className="attention">
      <Pattern name="clean" tokens={clean.tokens} weights={one} scale={SHARE} theme={theme} />
      <Pattern name="corrupt" tokens={corrupt.tokens} weights={other} scale={SHARE} theme={theme} />
      {change ? (
        <Pattern name="difference" about="clean − corrupt" tokens={corrupt.tokens} weights={change} scale={CHANGE} theme={theme} />
      ) : (
        !same && (
          <p className="muted">
            The prompts have {clean.tokens.length} and {corrupt.tokens.length} tokens, so their patterns have no
            difference cell by cell.
          </p>
        )
      )}
    </div>
  );
}

interface PatternProps {
  readonly name: string;
  readonly about?: string;
  readonly tokens: readonly string[];
  readonly weights: Float32Array;
  readonly scale: Scale;
  readonly theme: Theme;
}

function Pattern({ name, about = "", tokens, weights, scale, theme }: PatternProps) {
  const [cursor, setCursor] = useState<Place | null>(null);
  const n = tokens.length;
  const grid = useMemo(() => matrixGrid(weights, n), [weights, n]);
  const labels = useMemo(() => tokens.map((token, at) => `${at} ${fit(tokenLabel(token), 12)}`), [tokens]);
  const rowLabels = useMemo(() => labels.toReversed(), [labels]);
  const readOut = cursor
    ? `${quoted(tokens[cursor.row] ?? "")} looks at ${quoted(tokens[cursor.column] ?? "")}: ${number(grid.get(n - 1 - cursor.row, cursor.column))}`
    : "";
  const shared = { grid, version: grid.version, scale, rowLabels, columnLabels: labels, corner: "from" };
  const side = n <= 16 ? 18 : n <= 40 ? 12 : 6;
  return (
    <figure className="panel" data-prompt={name}>
      <figcaption>
        <b>{name}</b> {about}
      </figcaption>
      <Arcs name={name} tokens={tokens} weights={weights} />
      <div className="scroll panel-scroll">
        <Heatmap
          {...shared}
          label={`${name}: attention of ${n} positions to ${n} keys`}
          theme={theme}
          cursor={cursor}
          onCursor={setCursor}
          readOut={readOut}
          cell={{ width: side, height: side }}
        />
      </div>
      <p className="read-out muted" aria-hidden="true">
        {readOut}
      </p>
      <HeatmapTable {...shared} caption={`attention, ${name}`} />
    </figure>
  );
}

const STEP = 26;
const BASE = 84;
/** Room for the first token, which leans to the left. */
const LEFT = 28;

/** Tokens in a row; an arc from each to those that it looks at. The matrix below, and its table, say the same. */
function Arcs({ name, tokens, weights }: Pick<PatternProps, "name" | "tokens" | "weights">) {
  const arcs = useMemo(() => arcsOf(weights, tokens.length), [weights, tokens]);
  const at = (position: number) => LEFT + STEP / 2 + position * STEP;
  const width = LEFT + tokens.length * STEP;
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label={`${name}, arcs`}>
      <svg className="arcs" width={width} height={BASE + 62} role="img" aria-label={`${arcs.length} arcs of a weight of 0.1 and more`}>
        {arcs.map(({ position, key, weight }) => (
          <path
            key={`${position}/${key}`}
            d={`M${at(position)} ${BASE} Q${(at(position) + at(key)) / 2} ${BASE - Math.min((position - key) * STEP, 2 * BASE)} ${at(key)} ${BASE}`}
            data-sign={weight < 0 ? "less" : "more"}
            strokeWidth={0.5 + 3.5 * Math.abs(weight)}
            strokeOpacity={0.25 + 0.75 * Math.min(Math.abs(weight), 1)}
          />
        ))}
        {tokens.map((token, position) => (
          <text key={position} x={at(position)} y={BASE + 8} transform={`rotate(-60 ${at(position)} ${BASE + 8})`}>
            {fit(tokenLabel(token), 10)}
          </text>
        ))}
      </svg>
    </div>
  );
}
