/**
 * Pages in files of their own, fetched as soon as there is time: a reader with one page open has all
 * of them, even when the server is gone by then.
 */

import { lazy, useEffect, type ComponentType, type LazyExoticComponent } from "react";

type Load<P> = () => Promise<{ readonly default: ComponentType<P> }>;

/** The file did not come. React remembers that for good, so only loading everything anew helps. */
export class PageNotSent extends Error {
  constructor() {
    super("The server did not send this page: it is stopped, or has been updated since this tab was opened.");
  }
}

export function lazily<P>(load: Load<P>): LazyExoticComponent<ComponentType<P>> {
  return lazy(() =>
    load().catch((error: unknown) => {
      throw isNotSent(error) ? new PageNotSent() : error;
    }),
  );
}

/** Whether a file did not come; what else goes wrong while one is run is told as what it is. */
export function isNotSent(error: unknown): boolean {
  return error instanceof Error && /dynamically imported module|importing a module script|preload css/i.test(error.message);
}

const AFTER_MS = 1_500;

/** Fetch these once the page that was asked for is there. One that fails is asked for again when it is opened. */
export function useFetchedAhead(loads: readonly (() => Promise<unknown>)[]): void {
  useEffect(() => {
    const timer = setTimeout(() => void Promise.allSettled(loads.map((load) => load())), AFTER_MS);
    return () => clearTimeout(timer);
  }, [loads]);
}
