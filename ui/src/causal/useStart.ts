/** The way from the button to a sweep: what speaks against it is waited for, said, and asked about once. */

import { useCallback, useEffect, useState } from "react";
import { asError } from "../api/errors";

/** `checking`: pressed before all was known · `asked`: pressed, and something speaks against it. */
export type Asking = "no" | "checking" | "asked" | "starting";

interface Pressed {
  /** What it was pressed for: anything else has not been asked about. */
  readonly key: string;
  readonly asking: Asking;
}

export interface StartOptions {
  /** What would be started, in one text. */
  readonly key: string;
  readonly ready: boolean;
  /** Whether what speaks against it is still being found out. */
  readonly checking: boolean;
  readonly doubtful: boolean;
  readonly start: () => Promise<void>;
}

/** What a press of the button leads to. */
export function pressed(before: Asking, checking: boolean, doubtful: boolean): Asking {
  if (before === "starting") return before;
  if (before === "asked") return "starting";
  if (checking) return "checking";
  return doubtful ? "asked" : "starting";
}

export function useStart({ key, ready, checking, doubtful, start }: StartOptions) {
  const [state, setState] = useState<Pressed | null>(null);
  const [failure, setFailure] = useState<Error | null>(null);
  const asking = state?.key === key ? state.asking : "no";

  const attempt = useCallback(async (work: () => Promise<void>) => {
    setFailure(null);
    try {
      await work();
    } catch (error) {
      setFailure(asError(error));
    }
  }, []);
  const go = useCallback(
    async (to: Asking) => {
      setState({ key, asking: to });
      if (to !== "starting") return;
      await attempt(start);
      setState(null);
    },
    [key, start, attempt],
  );
  const press = () => {
    if (ready) void go(pressed(asking, checking, doubtful));
  };

  useEffect(() => {
    if (asking !== "checking" || checking) return;
    const timer = setTimeout(() => void go(pressed("no", false, doubtful)));
    return () => clearTimeout(timer);
  }, [asking, checking, doubtful, go]);

  return { asking, failure, press, attempt };
}
