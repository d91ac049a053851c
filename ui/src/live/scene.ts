/** What all panels are about: one run, one stretch of time, one cursor. */

import { useCallback, useMemo, useState } from "react";
import * as analytics from "../api/analytics";
import type { Overview, Stretch } from "../api/analytics";
import type { RunRow } from "../api/runs";
import { useKeyWanted } from "../api/key";
import { useResource, type Resource } from "../api/useResource";
import { currentAddress, navigate, queryOf, useAddress } from "../app/location";
import { useCopy } from "../copy/copied";
import type { Theme } from "../widgets/colors";
import { streamAddress, useStream, type LiveState } from "./store";
import { useAfter } from "./useAfter";
import { useVisible } from "./useVisible";
import { readAddress, writeAddress, type LiveAddress } from "./view/address";
import { rangeOf, type Extent } from "./view/window";

export interface Scene {
  readonly run: RunRow;
  readonly theme: Theme;
  /** Whether the server has models, and so can test what is seen. */
  readonly able: boolean;
  readonly live: LiveState;
  readonly paused: boolean;
  readonly setPaused: (paused: boolean) => void;
  readonly overview: Resource<Overview>;
  readonly shown: LiveAddress;
  readonly go: (change: Partial<LiveAddress>) => void;
  readonly unit: "step" | "token";
  /** Null while nothing is known of the run. */
  readonly extent: Extent | null;
  readonly from: number;
  readonly to: number;
  /** Milliseconds until the server is asked again; undefined while the page stands still. */
  readonly every: number | undefined;
}

/** More records than this are history, which the server knows better than a replay would tell. */
const WORTH_REPLAYING = 100_000;
/** The stream begins after so long, though the server has not answered yet. */
const PATIENCE_MS = 8_000;
const BUSY_MS = 4_000;
const CALM_MS = 15_000;

export function useScene(run: RunRow, theme: Theme, able: boolean): Scene {
  const address = useAddress();
  const shown = useMemo(() => readAddress(queryOf(address)), [address]);
  const [paused, setPaused] = useState(false);
  const [busy, setBusy] = useState(true);
  const visible = useVisible();
  const copied = useCopy() !== null;
  const every = paused || copied || !visible ? undefined : busy ? BUSY_MS : CALM_MS;
  const overview = useAsked({ run, every }, "overview", (signal) => analytics.overview(run.run, signal));
  const [begin, setBegin] = useState<{ run: string; url: string } | null>(null);
  const slow = useAfter(PATIENCE_MS); // a run that takes long to sum up is a long one
  if (!copied && (slow || !overview.loading) && begin?.run !== run.run) {
    const onlyNew = overview.loading || (overview.data?.coverage.records ?? 0) > WORTH_REPLAYING;
    setBegin({ run: run.run, url: streamAddress({ run: run.run, onlyNew }) });
  }
  const live = useStream(begin?.run === run.run ? begin.url : null, paused, useKeyWanted());
  if (busy !== (live.rate > 0 || live.version === 0)) setBusy(!busy);

  const go = useCallback((change: Partial<LiveAddress>) => {
    navigate(writeAddress(currentAddress(), change), { replace: change.window !== undefined });
  }, []);
  const unit = unitOf(overview.data, live);
  const extent = extentOf(overview.data, live, unit);
  const { from, to } = extent ? rangeOf(shown.window, extent) : { from: 0, to: 1 };
  return { run, theme, able, live, paused, setPaused, overview, shown, go, unit, extent, from, to, every };
}

/** An answer of the server about this run, asked for again while the run goes on. */
export function useAsked<T>(
  { run, every }: Pick<Scene, "run" | "every">,
  key: string | null,
  load: (signal: AbortSignal) => Promise<T>,
): Resource<T> {
  return useResource(key === null ? null : `${run.run} ${key}`, load, every === undefined ? {} : { every });
}

/** The stretch to ask the server for. The whole run is asked for without ends, so that it may grow. */
export function stretchOf({ shown, from, to }: Pick<Scene, "shown" | "from" | "to">, columns: number): Stretch {
  return shown.window.kind === "all" ? { columns } : { from, to, columns };
}

/** The same for numbers that are known by step, whatever the heatmaps count. */
export function stepStretch(scene: Scene, columns: number): Stretch {
  return scene.unit === "step" ? stretchOf(scene, columns) : { columns };
}

/** A key that changes when another answer is wanted, and not whenever a step is done. */
export function stretchKey({ shown }: Pick<Scene, "shown">, columns: number): string {
  const { window } = shown;
  const what =
    window.kind === "all" ? "all" : window.kind === "last" ? `last ${window.n}` : `${window.from} ${window.to}`;
  return `${what} ${columns}`;
}

function unitOf(overview: Overview | null, { data }: LiveState): "step" | "token" {
  if (data.steps.size > 1) return "step";
  return overview?.unit ?? (data.steps.size === 1 && data.metrics.size === 0 ? "token" : "step");
}

function extentOf(overview: Overview | null, { data }: LiveState, unit: "step" | "token"): Extent | null {
  if (unit === "token") return tokenExtent(data);
  const steps = [...data.steps.columns()];
  const known = [overview?.first_step ?? null, overview?.last_step ?? null].filter((step) => step !== null);
  const all = [...known, ...(steps.length > 0 ? [Math.min(...steps), Math.max(...steps)] : [])];
  return all.length === 0 ? null : { first: Math.min(...all), last: Math.max(...all) };
}

function tokenExtent(data: LiveState["data"]): Extent | null {
  const columns = [...data.tokens.columns()];
  const width = 2 ** data.tokens.level;
  if (columns.length === 0) return null;
  return { first: Math.min(...columns) * width, last: (Math.max(...columns) + 1) * width - 1 };
}
