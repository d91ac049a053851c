/**
 * A text as its tokens, each with its own look, some of them to be chosen. One tab stop: arrows move
 * from token to token, Space or Enter chooses.
 */

import { useRef, useState, type KeyboardEvent } from "react";
import { neighbour } from "./roving";
import { tokenLabel } from "./tokens";
import "./tokens.css";

export interface StripToken {
  readonly text: string;
  readonly position: number;
  readonly differs?: boolean;
  readonly chosen?: boolean;
  /** Why it cannot be chosen. */
  readonly reason?: string | undefined;
  /** What is known of it, shown when somebody points at it. */
  readonly says?: string | undefined;
  readonly color?: { readonly background: string; readonly text: string } | undefined;
}

export interface TokenStripProps {
  readonly label: string;
  readonly tokens: readonly StripToken[];
  /** With Shift, the run from the last token to this one is meant. */
  readonly onToggle?: (position: number, extend: boolean) => void;
}

export function TokenStrip({ label, tokens, onToggle }: TokenStripProps) {
  const [at, setAt] = useState(0);
  const strip = useRef<HTMLDivElement>(null);
  const onKey = (event: KeyboardEvent) => {
    const to = neighbour(event.key, at, tokens.length);
    if (to === null) return;
    event.preventDefault();
    setAt(to);
    strip.current?.querySelectorAll<HTMLElement>(".token")[to]?.focus();
  };
  return (
    <div ref={strip} className="token-strip" role="group" aria-label={label} onKeyDown={onKey}>
      {tokens.map((token, index) =>
        onToggle ? (
          <button
            key={token.position}
            type="button"
            className="token"
            tabIndex={index === Math.min(at, tokens.length - 1) ? 0 : -1}
            aria-pressed={token.chosen ?? false}
            aria-disabled={token.reason !== undefined}
            title={titleOf(token)}
            data-differs={token.differs}
            style={token.color && { background: token.color.background, color: token.color.text }}
            onFocus={() => setAt(index)}
            onClick={(event) => token.reason === undefined && onToggle(token.position, event.shiftKey)}
          >
            <bdi>{tokenLabel(token.text)}</bdi>
          </button>
        ) : (
          <span
            key={token.position}
            className="token"
            title={titleOf(token)}
            data-differs={token.differs}
            style={token.color && { background: token.color.background, color: token.color.text }}
          >
            <bdi>{tokenLabel(token.text)}</bdi>
          </span>
        ),
      )}
    </div>
  );
}

function titleOf({ position, reason, says }: StripToken): string {
  const more = reason ?? says;
  return more === undefined ? `position ${position}` : `position ${position}: ${more}`;
}
