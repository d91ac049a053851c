/**
 * Large results while somebody looks: a sweep of a hundred pairs by 990 cells, whose numbers are made up and given to
 * the page as a server would, and a circuit of four hundred edges. Speeds are the machine's, so this only prints them,
 * when SONDE_LOAD is set; what must hold is that all of it is shown.
 */

import type { Page, Route } from "playwright-core";
import { expect, describe, it } from "vitest";
import { causalAddress } from "../src/causal/draft";
import { EMPTY_SCORED, EVERY_EDGE } from "../src/causal/edgeDraft";
import { exampleDraft } from "../src/causal/examples";
import { openBrowser, openPage } from "./browsing";
import { frames, paceOf, said, scrolling, wandering } from "./frames";
import { Serving } from "./serving";

const PAIRS = 100;
const LAYERS = 30;
const ROLES = 11;
const HOOKS = ["post_block", "post_attn", "mlp_out"];
const SIZE = LAYERS * ROLES;
const ID = "load";

const range = (n: number) => Array.from({ length: n }, (_, each) => each);
const axis = (name: string, values: (number | string)[]) => ({ name, values, labels: values.map(String) });
const cell = (pair: number, n: number) => Math.sin(n / 17) * (1 + Math.cos(pair * 1.7) / 3);
const inner = [axis("layer", range(LAYERS)), axis("role", range(ROLES).map((n) => `role${n}`))];
const prompts = (n: number) => ({ clean: `clean ${n}`, corrupt: `corrupt ${n}`, answer: " a", foil: " b", roles: {}, cluster: null });
const known = { logit_diff: 0 };
const rest = {
  metric: "logit_diff", corrupt: known, clean: { logit_diff: 4 }, recovered_of: "logit_diff", noise_floor: known,
  controls: [], skipped: [], alignment: null, notes: {}, warnings: [], tokens: { prompt: [], clean: null },
  timing: { baseline_seconds: 1, capture_seconds: 1, cells_seconds: 1, total_seconds: 3, cells: 99_000, computed_cells: 99_000, cells_per_second: 33_000 },
}; // prettier-ignore
const table = {
  ...rest,
  tables: HOOKS.map((hook) => ({
    kind: "cells",
    hook,
    axes: [axis("pair", range(PAIRS)), ...inner],
    values: { logit_diff: range(PAIRS).flatMap((pair) => range(SIZE).map((n) => cell(pair, n))) },
  })),
  pairs: range(PAIRS).map((pair) => ({ pair, prompts: prompts(pair), corrupt: known, clean: { logit_diff: 4 }, noise_floor: known, controls: [], roles: {}, skipped: [], tokens: rest.tokens })),
};
const request = { pairs: { count: PAIRS }, hooks: HOOKS, metric: "logit_diff" };
const record = {
  id: ID, kind: "table", state: "finished", created: "2026-01-01T00:00:00Z", error: null, summary: null, table, cells: 990 * PAIRS, name: "", note: "", star: false,
  provenance: { model: "smollm2", architecture: "Llama", weights: "w", dtype: "float32", device: "cpu", n_layers: LAYERS, versions: {}, created: "2026-01-01T00:00:00Z", request },
}; // prettier-ignore

function csv(): string {
  const lines = range(HOOKS.length * SIZE).map((n) => `x,${PAIRS},${cell(0, n)},${cell(0, n) - 0.1},${cell(0, n) + 0.1},${n % 3 === 0 ? 0.5 : 0.001}`);
  return ["hook,n,mean,low,high,p", ...lines].join("\n");
}

/** The pairs as they come: their means so far, and their own cells. */
function events(): string {
  const start = { ...rest, type: "start", id: ID, cells: 990 * PAIRS, tables: table.tables.map((each) => ({ ...each, values: {} })) };
  const pairs = range(PAIRS).map((pair) => {
    const means = HOOKS.map(() => range(SIZE).map((n) => cell(pair, n)));
    return { type: "pair", done: pair + 1, of: PAIRS, record: table.pairs[pair], means, values: means.map((each) => ({ logit_diff: each })) };
  });
  const all = [start, ...pairs, { ...table, type: "summary" }];
  return all.map((each, n) => `id: ${n}\ndata: ${JSON.stringify(each)}\n\n`).join("") + "data: [DONE]\n\n";
}

async function given(page: Page): Promise<void> {
  const answer = (body: string, contentType: string) => (route: Route) => route.fulfill({ body, contentType });
  await page.route(`**/v1/sweeps/${ID}`, answer(JSON.stringify(record), "application/json"));
  await page.route(`**/v1/sweeps/${ID}/events*`, answer(events(), "text/event-stream"));
  await page.route(`**/v1/sweeps/${ID}/export*`, answer(csv(), "text/csv"));
}

describe.skipIf(process.env.SONDE_LOAD === undefined)("large results", () => {
  it("of a hundred pairs by 990 cells are pointed at and scrolled without holding up the page", async () => {
    const [server, browser] = await Promise.all([Serving.start(), openBrowser()]);
    try {
      const { page, faults } = await openPage(browser);
      process.stdout.write(said("empty page", paceOf(await frames(page, 5))));
      await given(page);
      const opened = page.goto(`${server.url}/causal/${ID}?as=table`);
      await opened;
      process.stdout.write(said("opening", paceOf(await frames(page, 5))));
      await page.getByText(`Means over ${PAIRS} pairs. Hatched`).waitFor();
      const point = await wandering(page, ".panel[data-hook=post_block] canvas");
      process.stdout.write(said("pointing", paceOf(await frames(page, 10, point))));
      await page.locator(".pair-dots circle").nth(PAIRS - 1).waitFor();
      process.stdout.write(said("scrolling", paceOf(await frames(page, 10, scrolling(page)))));
      expect(await page.locator(".panel canvas").count()).toBe(HOOKS.length);
      expect(faults).toEqual([]);
    } finally {
      await browser.close();
      await server.kill();
    }
  });

  it("and four hundred edges of a circuit, too", async () => {
    const [server, browser] = await Promise.all([Serving.start(), openBrowser()]);
    try {
      const { page } = await openPage(browser);
      const scored = { ...EMPTY_SCORED, targets: "edges" as const, circuits: "" };
      await page.goto(server.url + causalAddress({ ...exampleDraft("ioi"), metric: "logit_diff", over: "attribution", scored, edges: EVERY_EDGE }));
      await page.getByText(/cells.*about/).waitFor();
      await page.getByRole("button", { name: "Start sweep" }).click();
      await page.getByRole("slider", { name: /Threshold/ }).press("End");
      await expect.poll(() => page.locator(".circuit-edge").count()).toBe(400);
      const point = await wandering(page, ".circuit");
      process.stdout.write(said("pointing at edges", paceOf(await frames(page, 10, point))));
      process.stdout.write(said("scrolling past edges", paceOf(await frames(page, 10, scrolling(page)))));
    } finally {
      await browser.close();
      await server.kill();
    }
  });
});
