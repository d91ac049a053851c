/** A table over heads: five panels on one scale, one head's attention, and a list of all of them. */

import { useEffect, useRef } from "react";
import type { HeadShape, SweepTable } from "../api/types";
import { Link } from "../app/Link";
import { navigate, queryOf, useAddress, withQuery } from "../app/location";
import type { Theme } from "../widgets/colors";
import { EmptyState } from "../widgets/EmptyState";
import { ErrorNote } from "../widgets/ErrorNote";
import { HeadAttention } from "./HeadAttention";
import { groupOf, headOf, headText, readersOf, sharedBy, type HeadName } from "./heads";
import { HeadTable } from "./HeadTable";
import { TablePanels } from "./TablePanels";
import { useAttention, useHeadScores } from "./useAttention";

export interface HeadsViewProps {
  readonly found: SweepTable;
  readonly finished: boolean;
  readonly shape: HeadShape;
  readonly nLayers: number;
  readonly prompts: { readonly clean: string; readonly corrupt: string } | null;
  readonly theme: Theme;
}

export default function HeadsView({ found, finished, shape, nLayers, prompts, theme }: HeadsViewProps) {
  const address = useAddress();
  const head = headOf(queryOf(address).get("head"));
  const scored = useHeadScores(finished);
  const baseline = found.metric === "recovered" ? 0 : (found.corrupt[found.metric] ?? null);
  return (
    <>
      <TablePanels
        found={found}
        theme={theme}
        heads={shape}
        onOpen={({ hook, rowValues, columnValues }, { row, column }) => {
          const number = Number(columnValues[column] ?? 0);
          const first = sharedBy(shape, hook) > 1 ? (readersOf(shape, number)[0] ?? 0) : number;
          navigate(withQuery(address, { head: headText({ layer: Number(rowValues[row] ?? 0), head: first }) }));
        }}
      />
      {finished && prompts && (
        <OneHead head={head} shape={shape} nLayers={nLayers} prompts={prompts} theme={theme} />
      )}
      {finished && <HeadTable found={found} shape={shape} baseline={baseline} scored={scored.data} shown={head} />}
    </>
  );
}

interface OneHeadProps extends Pick<HeadsViewProps, "shape" | "nLayers" | "theme"> {
  readonly head: HeadName | null;
  readonly prompts: { readonly clean: string; readonly corrupt: string };
}

/** Patterns are asked for as soon as the sweep is there, so that a head opens at once. */
function OneHead({ head, shape, nLayers, prompts, theme }: OneHeadProps) {
  const size = { nLayers, heads: shape.heads };
  const clean = useAttention(prompts.clean, head, size);
  const corrupt = useAttention(prompts.corrupt, head, size);
  const place = useRef<HTMLElement>(null);
  const name = head && headText(head);
  useEffect(() => {
    if (name !== null) place.current?.scrollIntoView({ block: "nearest" });
  }, [name]);
  if (head === null) return <p className="muted">Click a cell, or press Enter on it, to see what the head attends to.</p>;
  const siblings = readersOf(shape, groupOf(shape, head.head));
  const address = `${window.location.pathname}${window.location.search}`;
  const failure = clean.error ?? corrupt.error;
  return (
    <section className="one-head" aria-labelledby="head-title" ref={place}>
      <div className="result-head">
        <h2 id="head-title">
          Head {name}: attention
        </h2>
        <Link className="button" href={withQuery(address, { head: null })}>
          Close
        </Link>
      </div>
      {siblings.length > 1 && (
        <p className="muted">
          Reads key {groupOf(shape, head.head)}, as do{" "}
          {siblings
            .filter((each) => each !== head.head)
            .map((each, n) => (
              <span key={each}>
                {n > 0 && ", "}
                <Link href={withQuery(address, { head: headText({ ...head, head: each }) })}>
                  {headText({ ...head, head: each })}
                </Link>
              </span>
            ))}
          .
        </p>
      )}
      {failure && <ErrorNote error={failure} />}
      {clean.data && corrupt.data ? (
        <HeadAttention head={head} clean={clean.data} corrupt={corrupt.data} theme={theme} />
      ) : (
        !failure && <EmptyState title="Asking what it attends to" />
      )}
    </section>
  );
}
