/** In place of the stream, in a page that has no server. */

import type { StreamClient } from "../live/stream/client";

export function watchStream(): StreamClient {
  return { pause: () => undefined, close: () => undefined };
}
