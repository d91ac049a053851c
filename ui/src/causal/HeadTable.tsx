/** Heads one below the other, sorted by what they do or by what they look at. */

import { useState } from "react";
import type { AttentionTable, HeadShape, SweepTable } from "../api/types";
import { Link } from "../app/Link";
import { navigate, queryOf, useAddress, withQuery } from "../app/location";
import { decimalsFor, fixed, signed } from "../widgets/numbers";
import { headRows, headText, SCORES, sorted, type HeadName } from "./heads";
import "../widgets/list.css";

interface HeadTableProps {
  readonly found: SweepTable;
  readonly shape: HeadShape;
  readonly baseline: number | null;
  readonly scored: AttentionTable | null;
  readonly shown: HeadName | null;
}

const FIRST = 12;
const ABOUT: Record<string, string> = {
  previous: "weight on the token just before",
  duplicate: "weight on earlier occurrences of the same token",
  induction: "weight on what followed those",
};

export function HeadTable({ found, shape, baseline, scored, shown }: HeadTableProps) {
  const [all, setAll] = useState(false);
  const address = useAddress();
  const hooks = found.tables.filter(({ kind }) => (kind ?? "cells") === "cells").map(({ hook }) => hook);
  const by = queryOf(address).get("sort") ?? hooks[0] ?? "z";
  const rows = sorted(headRows(found, shape, baseline, scored), by);
  const largest = Math.max(...rows.flatMap(({ effects }) => Object.values(effects).map((value) => Math.abs(value ?? 0))), 0);
  const decimals = decimalsFor(largest);
  return (
    <section aria-labelledby="heads-title">
      <h2 id="heads-title">Heads</h2>
      <p className="muted">
        Effects are distances from the baseline; keys and values are their group's. Scores are of 2 × 24 random tokens.
      </p>
      <div className="scroll" tabIndex={0} role="region" aria-label="Heads, table">
        <table className="list heads">
          <thead>
            <tr>
              <th scope="col">head</th>
              {[...hooks, ...SCORES].map((name) => (
                <th key={name} scope="col" aria-sort={name === by ? "descending" : undefined} title={ABOUT[name]}>
                  <button
                    type="button"
                    className="link-button"
                    onClick={() => navigate(withQuery(address, { sort: name }), { replace: true })}
                  >
                    {name}
                    {name === by && " ↓"}
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, all ? rows.length : FIRST).map((row) => {
              const name = headText(row);
              return (
                <tr key={name} aria-current={shown !== null && headText(shown) === name ? "true" : undefined}>
                  <td>
                    <Link href={withQuery(address, { head: name })}>{name}</Link>
                  </td>
                  {hooks.map((hook) => (
                    <td key={hook}>{signed(row.effects[hook], decimals)}</td>
                  ))}
                  {SCORES.map((score) => (
                    <td key={score}>{fixed(row.scores[score], 2)}</td>
                  ))}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {rows.length > FIRST && (
        <button type="button" onClick={() => setAll(!all)}>
          {all ? "Show fewer" : `Show all ${rows.length}`}
        </button>
      )}
    </section>
  );
}
