/** What pages and the stream's worker say to each other. */

import type { StreamState } from "../../api/events";
import type { Delta } from "./data";

export type FromPage =
  | {
      readonly type: "watch";
      readonly url: string;
      /** The key, which a worker cannot see. */
      readonly headers: Record<string, string>;
    }
  /** A page that is paused is told nothing; when it goes on, it is told everything. */
  | { readonly type: "pause"; readonly paused: boolean }
  | { readonly type: "here" }
  | { readonly type: "bye" };

export type FromWorker =
  | { readonly type: "delta"; readonly delta: Delta; readonly rate: number; readonly sentAt: number }
  | { readonly type: "state"; readonly state: StreamState }
  /** The server refuses this stream; nothing is tried again. */
  | { readonly type: "refused"; readonly status: number; readonly message: string };
