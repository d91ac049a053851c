/** The first tokens that a feature promotes, for a cell of a table: blank while nobody has said, and a word where there are none. */

import { tokenLabel } from "./tokens";

const FIRST = 4;

export function Promoted({ tokens }: { readonly tokens: readonly string[] | undefined }) {
  if (tokens?.length === 0) {
    return (
      <span className="muted" title="Its direction raises no token more than random directions do.">
        none
      </span>
    );
  }
  return tokens?.slice(0, FIRST).map((token, place) => <bdi key={place}>{tokenLabel(token)}</bdi>);
}
