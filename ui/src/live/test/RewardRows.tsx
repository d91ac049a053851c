/** What the reward owes to each feature, with its interval, beside random directions as long. */

import type { RewardFound } from "../../api/tests";
import { ListTable, type Column } from "../../widgets/ListTable";
import { count, fixed, number, signed } from "../../widgets/numbers";
import { Bar } from "./Bar";

const LEVEL = 0.05;

const COLUMNS: readonly Column[] = [
  { name: "feature", about: "Layer and number." },
  { name: "effect", about: "From nothing in the middle; ticks are random directions as long." },
  { name: "reward", about: "The mean over the prompts with the feature removed, minus that without." },
  { name: "interval", about: "Where that lies, 95 times in 100." },
  { name: "p", about: "By flips of sign over the prompts, corrected over the features." },
  { name: "p beside random", about: "Whether it is further than random directions by chance." },
  { name: "other completions", about: "Prompts whose completion becomes another one." },
];

export function RewardRows({ found }: { readonly found: RewardFound }) {
  const reach = Math.max(1e-9, ...found.effects.flatMap(({ effect, random }) => [effect, ...random]).map(Math.abs));
  return (
    <>
      <p className="verdict">{found.verdict}</p>
      <p className="muted small">
        Mean reward without a change {number(found.reward)} on {count(found.prompts, "prompt")}
        {found.gate === null ? "" : `; ${fixed(100 * found.gate, 0)} % pass the gate`}.
      </p>
      <ListTable label="What the reward owes" columns={COLUMNS}>
        {found.effects.map((each) => (
          <tr key={each.label} className={each.p !== null && each.p <= LEVEL ? "significant" : ""} data-done="true">
            <th scope="row">{each.label}</th>
            <td>
              <Bar row={each} reach={reach} />
            </td>
            <td>{signed(each.effect, 3)}</td>
            <td>{each.low === null || each.high === null ? "" : `${signed(each.low, 3)} to ${signed(each.high, 3)}`}</td>
            <td>{number(each.p)}</td>
            <td>{number(each.p_random)}</td>
            <td>
              {each.changed} of {found.prompts}
            </td>
          </tr>
        ))}
      </ListTable>
    </>
  );
}
