/** The draft in the form: from the address, from the sweep that is shown, or the first example. */

import { useCallback, useEffect, useState } from "react";
import type { SweepRecord } from "../api/types";
import { navigate, queryOf, useAddress, withQuery } from "../app/location";
import { draftOfQuery, draftOfRecord, queryOfDraft, type Draft } from "./draft";
import { exampleDraft } from "./examples";
import { PAST_NAMES } from "./past";
import { draftOfTable } from "./tableDraft";

const SETTLE_MS = 300;
/** What the address says of the sweep that is shown, which another draft beside it does not change. */
const KEPT = ["with", "beside", "as", "head", "sort", "least", "pick", "step", "against", "strongest"];
const FIRST_DRAFT = exampleDraft("eiffel");

interface Edited {
  /** The sweep it was edited beside; null beside none. */
  readonly beside: string | null;
  readonly draft: Draft;
  readonly inAddress: boolean;
}

export interface DraftState {
  readonly draft: Draft;
  readonly change: (changes: Partial<Draft>) => void;
  /** A draft has become this sweep: show it beside that. */
  readonly became: (sweep: string, draft: Draft) => void;
}

export function useDraft(sweep: string | null, record: SweepRecord | null): DraftState {
  const address = useAddress();
  const [edited, setEdited] = useState<Edited | null>(null);
  const given = draftOfQuery(queryOf(address)) ?? (record && (record.kind === "table" ? draftOfTable(record) : draftOfRecord(record)));
  const mine = edited !== null && edited.beside === sweep ? edited : null;
  const draft = mine?.draft ?? given ?? edited?.draft ?? FIRST_DRAFT;

  useEffect(() => {
    if (mine === null || mine.inAddress) return;
    const timer = setTimeout(() => {
      const path = sweep === null ? "/causal" : `/causal/${encodeURIComponent(sweep)}`;
      const shown = queryOf(window.location.search);
      const names = [...PAST_NAMES, ...(sweep === null ? [] : KEPT)];
      const kept = Object.fromEntries(names.map((name) => [name, shown.get(name)]));
      navigate(withQuery(`${path}?${queryOfDraft(mine.draft).toString()}`, kept), { replace: true });
      setEdited({ ...mine, inAddress: true });
    }, SETTLE_MS);
    return () => clearTimeout(timer);
  }, [mine, sweep]);

  const change = useCallback(
    (changes: Partial<Draft>) => setEdited({ beside: sweep, draft: { ...draft, ...changes }, inAddress: false }),
    [draft, sweep],
  );
  const became = useCallback(
    (id: string, started: Draft) => setEdited({ beside: id, draft: started, inAddress: true }),
    [],
  );
  return { draft, change, became };
}
