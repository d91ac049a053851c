/**
 * Data from the server that stays current: loaded when its key changes, again on demand, and, with
 * `every`, in a rhythm. What was shown stays until there is something newer.
 */

import { useCallback, useEffect, useRef, useState } from "react";
import { asError, wasAborted } from "./errors";

export interface Resource<T> {
  readonly data: T | null;
  readonly error: Error | null;
  readonly loading: boolean;
  readonly reload: () => void;
}

interface Loaded<T> {
  readonly key: string;
  readonly data: T | null;
  readonly error: Error | null;
}

export interface ResourceOptions {
  /** Milliseconds between two loads. */
  readonly every?: number;
  /** Milliseconds to wait for the key to settle. */
  readonly settle?: number;
}

/** A null key loads nothing. `load` may be a new function at every rendering. */
export function useResource<T>(
  key: string | null,
  load: (signal: AbortSignal) => Promise<T>,
  { every, settle = 0 }: ResourceOptions = {},
): Resource<T> {
  const [loaded, setLoaded] = useState<Loaded<T> | null>(null);
  const [asked, setAsked] = useState(0);
  const latest = useRef(load);
  useEffect(() => {
    latest.current = load;
  });

  useEffect(() => {
    if (key === null) return;
    const control = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const once = async (): Promise<void> => {
      try {
        const data = await latest.current(control.signal);
        if (!control.signal.aborted) setLoaded({ key, data, error: null });
      } catch (error) {
        if (control.signal.aborted || wasAborted(error)) return;
        setLoaded((before) => ({ key, data: before?.key === key ? before.data : null, error: asError(error) }));
      }
      if (every !== undefined && !control.signal.aborted) timer = setTimeout(() => void once(), every);
    };
    timer = setTimeout(() => void once(), settle);
    return () => {
      control.abort();
      clearTimeout(timer);
    };
  }, [key, every, settle, asked]);

  const reload = useCallback(() => setAsked((n) => n + 1), []);
  const current = loaded !== null && loaded.key === key ? loaded : null;
  return { data: current?.data ?? null, error: current?.error ?? null, loading: key !== null && !current, reload };
}
