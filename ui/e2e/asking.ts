/** What the tests do on the Causal page again and again. */

import type { Page } from "playwright-core";
import { causalAddress, type Draft } from "../src/causal/draft";
import type { SweepRecord } from "../src/api/types";

/** Three tokens: the smallest grid worth a look. */
export const SISTER = {
  clean: "My sister lost",
  corrupt: "My brother lost",
  answer: " her",
  foil: " his",
  layers: "0-4",
  hooks: ["post_block", "mlp_out"],
} as const satisfies Partial<Draft>;

/** A sweep that takes long enough to be stopped. */
export const LONG: Partial<Draft> = {
  clean: "When Mary and John went to the store, John gave a drink to",
  corrupt: "When Mary and John went to the store, Mary gave a drink to",
  answer: " Mary",
  hooks: ["pre_attn", "post_attn", "post_block", "mlp_in", "mlp_out"],
};

/** Open the page with a draft, and start it once it can be. -> the sweep's id */
export async function startSweep(page: Page, url: string, draft: Partial<Draft>): Promise<string> {
  await page.goto(url + causalAddress(draft));
  await page.getByRole("button", { name: "Start sweep" }).click();
  await page.waitForURL(/\/causal\/[0-9a-f]+/);
  return idIn(page);
}

export async function finished(page: Page): Promise<void> {
  await page.getByText("equal the baseline").waitFor();
}

export function idIn(page: Page): string {
  return new URL(page.url()).pathname.split("/")[2] ?? "";
}

export async function recordOf(url: string, id: string): Promise<SweepRecord> {
  const answer = await fetch(`${url}/v1/patch_sweep/${id}`);
  return (await answer.json()) as SweepRecord;
}

/** A hook's numbers as its table shows them: one row a layer, the last layer first. */
export async function tableOf(page: Page, hook: string): Promise<string[][]> {
  const panel = page.locator(`.panel[data-hook=${hook}]`);
  if ((await panel.locator("table").count()) === 0) await panel.getByText(`${hook} as a table`).click();
  await panel.locator("tbody tr").first().waitFor();
  return panel
    .locator("tbody tr")
    .evaluateAll((rows) => rows.map((row) => Array.from(row.querySelectorAll("td"), (cell) => cell.textContent)));
}

/** Press Tab until the focus is on what a selector names. */
export async function tabTo(page: Page, selector: string): Promise<void> {
  for (let presses = 0; presses < 80; presses++) {
    await page.keyboard.press("Tab");
    if (await page.evaluate((wanted) => document.activeElement?.matches(wanted) ?? false, selector)) return;
  }
  throw new Error(`Tab never leads to ${selector}`);
}
