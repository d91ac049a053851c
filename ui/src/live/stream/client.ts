/**
 * The page's end of the stream. The worker is shared by all tabs where the browser can; a tab of one
 * that cannot has a worker, and a connection, of its own.
 */

import { authorization, keyRefused } from "../../api/key";
import type { StreamState } from "../../api/events";
import type { FromPage, FromWorker } from "./messages";

export interface Heard {
  readonly onDelta: (message: Extract<FromWorker, { type: "delta" }>) => void;
  readonly onState: (state: StreamState) => void;
  readonly onRefused: (message: string) => void;
}

export interface StreamClient {
  readonly pause: (paused: boolean) => void;
  readonly close: () => void;
}

interface Line {
  readonly send: (message: FromPage) => void;
  readonly end: () => void;
}

const HERE_MS = 20_000;

export function watchStream(url: string, heard: Heard): StreamClient {
  const line = connect((message) => {
    if (message.type === "delta") heard.onDelta(message);
    else if (message.type === "state") heard.onState(message.state);
    else {
      if (message.status === 401) keyRefused();
      heard.onRefused(message.message);
    }
  });
  let paused = false;
  const watch = () => {
    line.send({ type: "watch", url, headers: authorization() });
    if (paused) line.send({ type: "pause", paused });
  };
  const bye = () => line.send({ type: "bye" });
  const back = (event: PageTransitionEvent) => event.persisted && watch();
  const here = setInterval(() => line.send({ type: "here" }), HERE_MS);
  window.addEventListener("pagehide", bye);
  window.addEventListener("pageshow", back);
  watch();
  return {
    pause: (wanted) => {
      paused = wanted;
      line.send({ type: "pause", paused });
    },
    close: () => {
      clearInterval(here);
      window.removeEventListener("pagehide", bye);
      window.removeEventListener("pageshow", back);
      bye();
      line.end();
    },
  };
}

function connect(onMessage: (message: FromWorker) => void): Line {
  if (typeof SharedWorker === "undefined") {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
    worker.onmessage = (event: MessageEvent<FromWorker>) => onMessage(event.data);
    return { send: (message) => worker.postMessage(message), end: () => worker.terminate() };
  }
  const shared = new SharedWorker(new URL("./worker.ts", import.meta.url), { type: "module", name: "sonde-stream" });
  shared.port.onmessage = (event: MessageEvent<FromWorker>) => onMessage(event.data);
  return { send: (message) => shared.port.postMessage(message), end: () => shared.port.close() };
}
