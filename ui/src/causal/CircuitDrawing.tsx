/** A circuit drawn: solid was run exactly, dashed only attributed; width by effect, colour by sign. */

import { number } from "../widgets/numbers";
import { valueOf, type Part, type Scored } from "./circuit";
import { layoutOf, type ModelShape } from "./circuitLayout";

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
  const { width, height, boxes, lines, texts, folded } = layoutOf(scored, parts, shape);
  const pointed = (part: Part | null) => ({
    "data-marked": part !== null && part.name === marked,
    "data-sign": part === null ? undefined : valueOf(part) < 0 ? "down" : "up",
    strokeDasharray: part === null || part.exact !== null ? undefined : "5 4",
    onPointerEnter: () => part && onMark(part.name),
    onPointerLeave: () => onMark(null),
  });
  return (
    <div className="scroll circuit-scroll" tabIndex={0} role="region" aria-label="Circuit, drawn">
      <svg
        className="circuit"
        viewBox={`0 0 ${width} ${height}`}
        width={width}
        height={height}
        role="img"
        aria-label={`${parts.length} ${scored.kind}; they are in the list below`}
      >
        {folded.map(({ layer, y }) => (
          <line key={layer} className="circuit-fold" x1={62} x2={width - 18} y1={y} y2={y} />
        ))}
        {texts.map(({ text, x, y }) => (
          <text key={`${text} ${x}`} className="circuit-name" x={x} y={y}>
            {text}
          </text>
        ))}
        {lines.map(({ part, d, stroke }) => (
          <path key={part.name} className="circuit-edge" d={d} strokeWidth={stroke} {...pointed(part)}>
            <title>{saidOf(part)}</title>
          </path>
        ))}
        {boxes.map(({ key, text, x, y, width: wide, height: high, part, stroke }) => (
          <g key={key}>
            <rect className="circuit-box" x={x} y={y} width={wide} height={high} rx={4} strokeWidth={stroke} {...pointed(part)}>
              <title>{part ? saidOf(part) : key}</title>
            </rect>
            <text className="circuit-text" x={x + wide / 2} y={y + high / 2 + 3.5}>
              {text}
            </text>
          </g>
        ))}
      </svg>
    </div>
  );
}

/** z:9.6 → q:12.4: −0.76 exactly, −0.70 attributed. */
export function saidOf(part: Part): string {
  if (part.exact === null) return `${part.name}: ${number(part.score)}, attributed only`;
  return `${part.name}: ${number(part.exact)} exactly, ${number(part.score)} attributed`;
}
