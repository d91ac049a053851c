/** One graded token: written, or chosen from what the model itself would say next. */

import type { NextToken } from "../api/prompts";
import { number } from "../widgets/numbers";
import { tokenLabel } from "../widgets/tokens";
import "../widgets/tokens.css";
import { idOf } from "./draft";

interface AnswerFieldProps {
  readonly label: string;
  readonly about: string;
  readonly value: string;
  readonly offered: readonly NextToken[] | null;
  /** Whose likeliest tokens are offered. */
  readonly offeredAfter: string;
  readonly onChange: (token: string) => void;
}

export function AnswerField({ label, about, value, offered, offeredAfter, onChange }: AnswerFieldProps) {
  return (
    <div className="field">
      <label>
        <span>
          {label} <small>{about}</small>
        </span>
        <input
          type="text"
          className="token-input"
          spellCheck={false}
          autoComplete="off"
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      </label>
      <div className="offered" role="group" aria-label={`${label}: likeliest after the ${offeredAfter} prompt`}>
        {(offered ?? []).map(({ token, logprob }) => (
          <button
            key={token}
            type="button"
            className="token"
            aria-pressed={token === value}
            title={`log-probability ${number(logprob)} after the ${offeredAfter} prompt`}
            onClick={() => onChange(token)}
          >
            <bdi>{idOf(token) === null ? tokenLabel(token) : token.replace("token_id:", "#")}</bdi>
            <small>{percent(logprob)}</small>
          </button>
        ))}
      </div>
    </div>
  );
}

function percent(logprob: number): string {
  const share = 100 * Math.exp(logprob);
  return share >= 9.95 ? `${share.toFixed(0)} %` : share >= 0.095 ? `${share.toFixed(1)} %` : "<0.1 %";
}
