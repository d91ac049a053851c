/** The worker: shared by all tabs where the browser has shared workers, else one a tab. */

import { follow } from "../../api/events";
import { Host, type Port } from "./host";
import type { FromPage, FromWorker } from "./messages";

interface Channel {
  postMessage(message: FromWorker): void;
  onmessage: ((event: MessageEvent<FromPage>) => void) | null;
}

interface WorkerScope {
  onconnect?: ((event: MessageEvent) => void) | null;
}

const host = new Host({ follow, now: () => Date.now() });

function open(channel: Channel): void {
  const port: Port = { send: (message) => channel.postMessage(message) };
  channel.onmessage = (event) => host.receive(port, event.data);
}

const scope = globalThis as unknown as WorkerScope & Channel;
if ("onconnect" in scope) {
  scope.onconnect = (event) => {
    for (const port of event.ports) open(port);
  };
} else {
  open(scope);
}
