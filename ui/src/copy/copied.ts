/** Whether this page is a copy of a run, in a file of its own: there is no server then. */

import { createContext, useContext } from "react";
import type { ChangedAnswer, Curves, FeatureCards, GenerationPage, GenerationView, Measure, Overview, Scatter, Tile, Vocabulary } from "../api/analytics";
import type { RunRow } from "../api/runs";

type ByLayer<T> = Readonly<Record<string, T>>;

/** As `schema/run_copy.py` has it. */
export interface RunCopy {
  readonly format: "sonde.run-copy.1";
  readonly run: RunRow;
  /** Seconds since 1970. */
  readonly made: number;
  readonly version: string;
  readonly overview: Overview;
  readonly layers: Readonly<Record<Measure, Tile>>;
  /** The most active ones, then those of the vocabulary. */
  readonly features: ByLayer<readonly Tile[]>;
  readonly rewards: Curves;
  readonly health: Curves;
  readonly telemetry?: Curves | null;
  readonly scatter: ByLayer<Scatter>;
  readonly vocabulary: Vocabulary;
  readonly layer_vocabulary: ByLayer<Vocabulary>;
  readonly changed?: ChangedAnswer | null;
  readonly generations: GenerationPage;
  /** By id, as are the pieces. */
  readonly views: Readonly<Record<string, GenerationView>>;
  readonly pieces: Readonly<Record<string, readonly string[]>>;
  readonly cards: ByLayer<FeatureCards>;
}

export const CopyContext = createContext<RunCopy | null>(null);

/** The copy that is shown; null on a page that has a server. */
export function useCopy(): RunCopy | null {
  return useContext(CopyContext);
}
