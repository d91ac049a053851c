/** What of the page is in its address: everything somebody might want to send to somebody else. */

import { withQuery } from "../../app/location";
import { MEASURES, type Measure } from "../stream/cells";
import { FITS, type Fit } from "./curves";
import type { Height } from "./grids";
import { queryOfWindow, windowOfQuery, type Window } from "./window";

export interface FeatureName {
  readonly layer: number;
  readonly feature: number;
}

export interface ListOf {
  readonly gate: "all" | "passed" | "failed";
  readonly by: "newest" | "R" | "advantage";
  readonly find: string;
  /** Whether those of one prompt stand together. */
  readonly grouped: boolean;
}

export interface LiveAddress {
  readonly window: Window;
  /** The layer whose features are shown. */
  readonly layer: number | null;
  readonly measure: Measure;
  readonly height: Height;
  /** Whether the colours of a layer compare it with itself only. */
  readonly ownScales: boolean;
  readonly fit: Fit;
  readonly generation: string | null;
  readonly feature: FeatureName | null;
  /** The vocabulary is of so many passed generations, the newest; null is the whole run. */
  readonly words: number | null;
  /** Which generations are listed, and how. */
  readonly list: ListOf;
  /** The test that is shown, by its number in the history. */
  readonly test: string | null;
}

export const GATES = ["all", "passed", "failed"] as const;
export const ORDERS = ["newest", "R", "advantage"] as const;

export function readAddress(query: URLSearchParams): LiveAddress {
  return {
    window: windowOfQuery(query),
    layer: whole(query.get("layer")),
    measure: MEASURES.find((each) => each === query.get("measure")) ?? "activation",
    height: query.get("height") === "mean" ? "mean" : "high",
    ownScales: query.get("scale") !== "one",
    fit: FITS.find((each) => each === query.get("fit")) ?? "fvu",
    generation: query.get("generation"),
    feature: featureOf(query.get("feature")),
    words: whole(query.get("words")) || null,
    list: {
      gate: GATES.find((each) => each === query.get("gate")) ?? "all",
      by: ORDERS.find((each) => each === query.get("by")) ?? "newest",
      find: query.get("find") ?? "",
      grouped: query.get("group") === "prompt",
    },
    test: /^[\w-]{1,64}$/.exec(query.get("test") ?? "")?.[0] ?? null,
  };
}

export function writeAddress(address: string, change: Partial<LiveAddress>): string {
  const { window, layer, measure, height, ownScales, fit, generation, feature, words, test, list } = change;
  return withQuery(address, {
    ...(window && queryOfWindow(window)),
    ...(layer !== undefined && { layer: layer === null ? null : String(layer) }),
    ...(measure && { measure: measure === "activation" ? null : measure }),
    ...(height && { height: height === "high" ? null : height }),
    ...(ownScales !== undefined && { scale: ownScales ? null : "one" }),
    ...(fit && { fit: fit === "fvu" ? null : fit }),
    ...(generation !== undefined && { generation }),
    ...(feature !== undefined && { feature: feature && featureText(feature) }),
    ...(test !== undefined && { test }),
    ...(list && {
      gate: list.gate === "all" ? null : list.gate,
      by: list.by === "newest" ? null : list.by,
      find: list.find === "" ? null : list.find,
      group: list.grouped ? "prompt" : null,
    }),
    ...(words !== undefined && { words: words === null ? null : String(words) }),
  });
}

/** `15.4071`: a feature with its layer, because numbers mean nothing without. */
export function featureText({ layer, feature }: FeatureName): string {
  return `${layer}.${feature}`;
}

function featureOf(text: string | null): FeatureName | null {
  const found = /^(\d{1,6})\.(\d{1,9})$/.exec(text ?? "");
  return found ? { layer: Number(found[1]), feature: Number(found[2]) } : null;
}

function whole(text: string | null): number | null {
  return text !== null && /^\d{1,6}$/.test(text) ? Number(text) : null;
}
