/** Whether the server is there, and what it can do. Asked every few seconds. */

import { useState } from "react";
import { api, read } from "./client";
import { ApiError, Disconnected } from "./errors";
import type { Capabilities } from "./types";
import { useResource } from "./useResource";

export interface ServerState {
  readonly connection: "connecting" | "connected" | "disconnected";
  /** Null without a model, or before the first answer. */
  readonly capabilities: Capabilities | null;
  /** Whether this is a gateway: it shows runs, and has no model to intervene on. */
  readonly withoutModel: boolean;
}

const EVERY_MS = 3_000;

export function useServer(): ServerState {
  const [gateway, setGateway] = useState(false);
  const found = useResource(
    "capabilities",
    async (signal) => {
      try {
        if (gateway) await read(api.GET("/health", { signal }));
        else return await read(api.GET("/v1/capabilities", { signal }));
      } catch (error) {
        if (error instanceof Disconnected) setGateway(false); // what answers next may have a model
        if (!(error instanceof ApiError && error.status === 404)) throw error;
        setGateway(true);
      }
      return null;
    },
    { every: EVERY_MS },
  );
  const answered = found.error === null || found.error instanceof ApiError;
  return {
    connection: found.loading ? "connecting" : answered ? "connected" : "disconnected",
    capabilities: found.data,
    withoutModel: !found.loading && found.error === null && found.data === null,
  };
}
