/** A circuit drawn: solid was run exactly, dashed only attributed; width by effect, colour by sign. */

import { memo, useMemo } from "react";
import { number } from "../widgets/numbers";
import { valueOf, type Part, type Scored } from "./circuit";
import { layoutOf, type Layout, type ModelShape } from "./circuitLayout";

interface CircuitDrawingProps {
  readonly scored: Scored;
  /** Those that are drawn, the strongest first. */
  readonly parts: readonly Part[];
  readonly shape: ModelShape;
  /** The name of one that is pointed at, here or in the list. */
  readonly marked: string | null;
  readonly onMark: (name: string | null) => void;
}

export function CircuitDrawing({ scored, parts, shape, marked, onMark }: CircuitDrawingProps) {
  const { layers, heads, kv_heads: kvHeads } = shape;
  const layout = useMemo(() => layoutOf(scored, parts, { layers, heads, kv_heads: kvHeads }), [scored, parts, layers, heads, kvHeads]);
  const { width, height, lines, boxes } = layout;
  const line = marked === null ? undefined : lines.find(({ part }) => part.name === marked);
  const box = marked === null ? undefined : boxes.find(({ part }) => part?.name === marked);
  return (
    <div className="scroll circuit-scroll" tabIndex={0} role="region" aria-label="Circuit, drawn">
      <svg
        className="circuit"
        viewBox={`0 0 ${width} ${height}`}
        width={width}
        height={height}
        role="img"
        aria-label={`${parts.length} ${scored.kind}; they are in the list below`}
        data-marking={line !== undefined}
        onPointerLeave={() => onMark(null)}
      >
        <Drawn layout={layout} onMark={onMark} />
        {line && <path className="circuit-marked" d={line.d} strokeWidth={line.stroke} {...lookOf(line.part)} />}
        {box && <rect className="circuit-marked" x={box.x} y={box.y} width={box.width} height={box.height} rx={4} strokeWidth={box.stroke + 1.5} {...lookOf(box.part)} />}
      </svg>
    </div>
  );
}

function lookOf(part: Part | null) {
  return {
    "data-sign": part === null ? undefined : valueOf(part) < 0 ? "down" : "up",
    strokeDasharray: part === null || part.exact !== null ? undefined : "5 4",
  };
}

/** All of it but what is pointed at, which is drawn over it: hundreds of edges stay as they are when the pointer moves. */
const Drawn = memo(function Drawn({ layout, onMark }: { readonly layout: Layout; readonly onMark: (name: string | null) => void }) {
  const { width, boxes, lines, texts, folded } = layout;
  return (
    <>
      {folded.map(({ layer, y }) => (
        <line key={layer} className="circuit-fold" x1={62} x2={width - 18} y1={y} y2={y} />
      ))}
      {texts.map(({ text, x, y }) => (
        <text key={`${text} ${x}`} className="circuit-name" x={x} y={y}>
          {text}
        </text>
      ))}
      <g className="circuit-edges">
        {lines.map(({ part, d, stroke }) => (
          <path key={part.name} className="circuit-edge" d={d} strokeWidth={stroke} {...lookOf(part)} onPointerEnter={() => onMark(part.name)}>
            <title>{saidOf(part)}</title>
          </path>
        ))}
      </g>
      {boxes.map(({ key, text, x, y, width: wide, height: high, part, stroke }) => (
        <g key={key}>
          <rect className="circuit-box" x={x} y={y} width={wide} height={high} rx={4} strokeWidth={stroke} {...lookOf(part)} onPointerEnter={() => onMark(part?.name ?? null)}>
            <title>{part ? saidOf(part) : key}</title>
          </rect>
          <text className="circuit-text" x={x + wide / 2} y={y + high / 2 + 3.5}>
            {text}
          </text>
        </g>
      ))}
    </>
  );
});

/** z:9.6 → q:12.4: −0.76 exactly, −0.70 attributed. */
export function saidOf(part: Part): string {
  if (part.exact === null) return `${part.name}: ${number(part.score)}, attributed only`;
  return `${part.name}: ${number(part.exact)} exactly, ${number(part.score)} attributed`;
}
