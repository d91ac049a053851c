/** One sweep of the past: a line, and below it, when it is open, what is said of it. */

import { useState } from "react";
import { asError } from "../api/errors";
import { remarkSweep } from "../api/sweeps";
import type { SweepEntry } from "../api/types";
import { Link } from "../app/Link";
import { navigate, useAddress, withQuery } from "../app/location";
import { ErrorNote } from "../widgets/ErrorNote";
import { ago, count, grouped } from "../widgets/numbers";
import { fit, visible } from "../widgets/tokens";
import { differing, kindText, pastOf, promptsOf, shortened, sweepAddress, titleOf, withPast, type Prompts } from "./past";
import { Said } from "./Said";
import { askedTokens, METRIC_NAME, tokenWord } from "./wording";

/** Letters on either side of what differs. */
const AROUND = 36;
const LONGEST_TITLE = 90;

interface HistoryRowProps {
  readonly entry: SweepEntry;
  readonly now: number;
  readonly shown: string | null;
  readonly opened: boolean;
  readonly comparable: boolean;
  readonly comparedWith: string | null;
  readonly columns: number;
  readonly reload: () => void;
}

export function HistoryRow({ entry, now, shown, opened, comparable, comparedWith, columns, reload }: HistoryRowProps) {
  const address = useAddress();
  const past = pastOf(address);
  const { request } = entry.provenance;
  const { answer } = askedTokens(entry);
  const metric = typeof request.metric === "string" ? request.metric : "logprob";
  const name = metric in METRIC_NAME ? METRIC_NAME[metric as keyof typeof METRIC_NAME] : metric;
  const kind = kindText(entry);
  const title = titleOf(entry);
  const prompts = promptsOf(entry);
  const href = withPast(sweepAddress(entry), past);
  const canCompare = comparable && shown !== null && entry.id !== shown && entry.state === "finished";
  const here = withQuery(address, { beside: null });
  return (
    <>
      <tr aria-current={entry.id === shown ? "true" : undefined} data-opened={opened}>
        <td>
          <Star entry={entry} title={title} reload={reload} />
        </td>
        <td className="prose">
          {(entry.name || prompts === null) && <Link href={href}>{fit(visible(title), LONGEST_TITLE)}</Link>}
          {prompts && <BothPrompts prompts={prompts} most={AROUND} href={entry.name ? null : href} />}
          {entry.note && <small>{fit(visible(entry.note.replaceAll("\n", " ")), LONGEST_TITLE)}</small>}
        </td>
        <td>
          {name}
          {answer !== "" && ` of ${tokenWord(answer)}`}
          {kind !== "" && (
            <>
              <br />
              <small>{kind}</small>
            </>
          )}
        </td>
        <td>{cellsText(entry)}</td>
        <td data-state={entry.state}>{entry.state}</td>
        <td>{ago((now - Date.parse(entry.created)) / 1000)}</td>
        <td className="row-actions">
          {canCompare && (
            <Link
              href={withQuery(here, { with: entry.id })}
              aria-current={entry.id === comparedWith ? "true" : undefined}
            >
              compare
            </Link>
          )}{" "}
          <button
            type="button"
            className="link-button"
            aria-expanded={opened}
            aria-label={`${opened ? "Close" : "Name, note or delete"} ${title}`}
            onClick={() => navigate(withPast(address, { ...past, opened: opened ? null : entry.id }), { replace: true })}
          >
            {opened ? "close" : "note"}
          </button>
        </td>
      </tr>
      {opened && (
        <tr className="opened-row">
          <td colSpan={columns}>
            <Said entry={entry} reload={reload} />
          </td>
        </tr>
      )}
    </>
  );
}

function Star({ entry, title, reload }: { readonly entry: SweepEntry; readonly title: string; readonly reload: () => void }) {
  const [failure, setFailure] = useState<Error | null>(null);
  const toggle = async () => {
    setFailure(null);
    try {
      await remarkSweep(entry.id, { starred: !entry.starred });
    } catch (error) {
      setFailure(asError(error));
    }
    reload();
  };
  return (
    <>
      <button
        type="button"
        className="star"
        aria-pressed={entry.starred}
        aria-label={`Star ${title}`}
        onClick={() => void toggle()}
      >
        {entry.starred ? "\u2605" : "\u2606"}
      </button>
      {failure && <ErrorNote error={failure} />}
    </>
  );
}

interface BothPromptsProps {
  readonly prompts: Prompts;
  /** Letters on either side of what differs. */
  readonly most: number;
  /** Where the corrupt prompt leads; null where it is text. */
  readonly href: string | null;
}

/** Both prompts, one below the other, with what the other does not have marked. */
export function BothPrompts({ prompts, most, href }: BothPromptsProps) {
  const { clean, corrupt } = prompts;
  const found = shortened(clean === null ? differing(corrupt, corrupt) : differing(clean, corrupt), most);
  return (
    <dl className="both-prompts">
      {clean !== null && <OnePrompt name="clean" found={found} middle={found.clean} href={null} />}
      <OnePrompt name="corrupt" found={found} middle={found.corrupt} href={href} />
    </dl>
  );
}

interface OnePromptProps {
  readonly name: string;
  readonly found: { readonly before: string; readonly after: string };
  readonly middle: string;
  readonly href: string | null;
}

function OnePrompt({ name, found, middle, href }: OnePromptProps) {
  const text = (
    <bdi>
      {visible(found.before)}
      {middle !== "" && <mark>{visible(middle)}</mark>}
      {visible(found.after)}
    </bdi>
  );
  return (
    <div>
      <dt>{name}</dt>
      <dd>{href === null ? text : <Link href={href}>{text}</Link>}</dd>
    </div>
  );
}

function cellsText({ cells, done, state }: SweepEntry): string {
  if (cells === null) return "";
  return state === "finished" ? count(cells, "cell") : `${grouped(done)} of ${count(cells, "cell")}`;
}
