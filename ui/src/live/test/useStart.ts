/** One click: the question is made, sent, and its address is the page's. */

import { useState } from "react";
import { asError } from "../../api/errors";
import { momentToTest, startTable, type Suspect, type TableRequest } from "../../api/tests";

export interface Starting {
  readonly busy: boolean;
  readonly error: Error | null;
  readonly start: (suspect: Suspect) => void;
  /** The same once more, as a test of the past asked it. */
  readonly again: (request: TableRequest) => void;
}

export function useStart(onStarted: (id: string) => void): Starting {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const send = async (request: () => Promise<TableRequest>): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      onStarted((await startTable(await request())).id);
    } catch (failure) {
      setError(asError(failure));
    }
    setBusy(false);
  };
  return {
    busy,
    error,
    start: (suspect) => void send(async () => (await momentToTest(suspect)).request),
    again: (request) => void send(() => Promise.resolve(request)),
  };
}
