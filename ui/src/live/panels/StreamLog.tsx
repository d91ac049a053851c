/** What the stream said besides data, newest first. */

import type { Notice } from "../stream/data";
import { Panel } from "./Panel";

const MOST = 12;

export function StreamLog({ notices }: { readonly notices: readonly Notice[] }) {
  return (
    <Panel title="What the stream said" about="Which file is read, checkpoints, waiting, and lost connections.">
      {notices.length === 0 ? (
        <p className="muted">Nothing yet.</p>
      ) : (
        <ol className="stream-log">
          {notices
            .slice(-MOST)
            .reverse()
            .map((notice, index) => (
              <li key={`${notice.at} ${index}`} data-kind={notice.kind}>
                <time dateTime={new Date(notice.at).toISOString()}>{new Date(notice.at).toLocaleTimeString()}</time>
                <span className="notice-kind">{notice.kind}</span>
                <span>{notice.text}</span>
              </li>
            ))}
        </ol>
      )}
    </Panel>
  );
}
