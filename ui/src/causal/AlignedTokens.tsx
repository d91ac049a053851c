/** The two prompts token by token, each clean token above the corrupt one it is written into. */

import { useRef, useState, type KeyboardEvent } from "react";
import type { PromptToken } from "../api/prompts";
import { neighbour } from "../widgets/roving";
import { tokenLabel } from "../widgets/tokens";
import "../widgets/tokens.css";
import type { AlignedColumn, AlignedPrompts } from "./alignment";

interface AlignedTokensProps {
  readonly clean: readonly PromptToken[];
  readonly corrupt: readonly PromptToken[];
  readonly aligned: AlignedPrompts;
  readonly positions: "all" | readonly number[];
  readonly onPositions: (positions: "all" | readonly number[]) => void;
}

export function AlignedTokens({ clean, corrupt, aligned, positions, onPositions }: AlignedTokensProps) {
  const [at, setAt] = useState(0);
  const [anchor, setAnchor] = useState<number | null>(null);
  const strip = useRef<HTMLDivElement>(null);
  const order = aligned.columns.flatMap((column) => (column.corrupt === null ? [] : [column.corrupt]));
  const focusable = Math.min(at, order.length - 1);

  const onKey = (event: KeyboardEvent) => {
    const to = neighbour(event.key, focusable, order.length);
    if (to === null) return;
    event.preventDefault();
    setAt(to);
    strip.current?.querySelectorAll<HTMLElement>("button.token")[to]?.focus();
  };
  const choose = (position: number, extend: boolean) => {
    if (aligned.unaligned.has(position)) return;
    onPositions(toggled(positions, position, extend ? anchor : null, aligned.unaligned));
    setAnchor(position);
  };
  return (
    <div className="aligned" ref={strip} role="group" aria-label="Positions to patch" onKeyDown={onKey}>
      <span className="aligned-names" aria-hidden="true">
        <span>clean</span>
        <span>corrupt</span>
      </span>
      <span className="aligned-columns">
        {aligned.columns.map((column) => {
          const { corrupt: position } = column;
          return (
            <span
              className="aligned-column"
              key={`${column.clean.join("+")}/${position ?? "none"}`}
              data-differs={column.differs}
            >
              <CleanToken column={column} tokens={clean} />
              {position === null ? (
                <span className="token none" aria-hidden="true" />
              ) : (
                <button
                  type="button"
                  className="token"
                  tabIndex={order.indexOf(position) === focusable ? 0 : -1}
                  aria-pressed={positions === "all" ? !aligned.unaligned.has(position) : positions.includes(position)}
                  aria-disabled={aligned.unaligned.has(position)}
                  aria-label={`position ${position}, ${tokenLabel(corrupt[position]?.text ?? "")}${aligned.unaligned.has(position) ? ", no counterpart" : ""}`}
                  title={
                    aligned.unaligned.has(position)
                      ? `position ${position} has no counterpart: choose a pairing below`
                      : `position ${position}`
                  }
                  onFocus={() => setAt(order.indexOf(position))}
                  onClick={(event) => choose(position, event.shiftKey)}
                >
                  <bdi>{tokenLabel(corrupt[position]?.text ?? "")}</bdi>
                </button>
              )}
            </span>
          );
        })}
      </span>
    </div>
  );
}

function CleanToken({ column, tokens }: { readonly column: AlignedColumn; readonly tokens: readonly PromptToken[] }) {
  const texts = column.clean.map((position) => tokenLabel(tokens[position]?.text ?? ""));
  if (texts.length === 0) return <span className="token none" />;
  const label = texts.length === 1 ? texts[0] : `mean of ${texts.join(" ")}`;
  return (
    <span className="token clean" title={`clean position ${column.clean.join(", ")}`}>
      <bdi>{label}</bdi>
    </span>
  );
}

/** The choice after a click: of all, only this one; then one more or less; of none, all again. */
export function toggled(
  chosen: "all" | readonly number[],
  position: number,
  anchor: number | null,
  unaligned: ReadonlySet<number>,
): "all" | number[] {
  if (chosen === "all") return [position];
  if (anchor !== null) {
    const [from, to] = [Math.min(anchor, position), Math.max(anchor, position)];
    const run = Array.from({ length: to - from + 1 }, (_, index) => from + index);
    return sorted([...chosen, ...run.filter((each) => !unaligned.has(each))]);
  }
  const next = chosen.includes(position) ? chosen.filter((each) => each !== position) : [...chosen, position];
  return next.length === 0 ? "all" : sorted(next);
}

function sorted(positions: readonly number[]): number[] {
  return [...new Set(positions)].sort((a, b) => a - b);
}
