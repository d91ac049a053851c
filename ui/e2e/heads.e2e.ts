/** Heads, features, circuits and many pairs in a real browser, on the real model. */

import type { Browser, Page } from "playwright-core";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { causalAddress } from "../src/causal/draft";
import { EMPTY_SCORED, EVERY_EDGE } from "../src/causal/edgeDraft";
import { exampleDraft } from "../src/causal/examples";
import { closePages, faultsOnPhone, openBrowser, openPage, picture, smallControls, violations } from "./browsing";
import { Serving, temporaryDirectory } from "./serving";

let server: Serving;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([Serving.start(), openBrowser()]);
});
afterEach(() => closePages(browser));
afterAll(async () => {
  await browser.close();
  await server.kill();
});

const EVERY_SCORED = { ...EMPTY_SCORED, targets: "edges" as const };
const HEADS = { ...exampleDraft("ioi"), over: "heads" as const, hooks: ["z", "q", "k", "v", "pattern"] as const };

/** A sweep over heads that has finished. -> its path */
async function sweptHeads(page: Page): Promise<string> {
  await page.goto(server.url + causalAddress({ ...HEADS, layers: "8-11" }));
  await page.getByText(/cells.*about/).waitFor();
  await page.getByRole("button", { name: "Start sweep" }).click();
  await page.waitForURL(/as=table/);
  await page.getByRole("heading", { name: "Heads" }).waitFor();
  await page.locator(".heads tbody tr").first().waitFor();
  return new URL(page.url()).pathname;
}

describe("heads", () => {
  it("are five panels of one width, keys and values under brackets, and lead to their attention at once", async () => {
    const { page, faults } = await openPage(browser, { height: 1300 });
    const path = await sweptHeads(page);
    const widths = await page
      .locator(".panel[data-hook] canvas")
      .evaluateAll((all) => all.map((canvas) => canvas.getBoundingClientRect().width));
    expect(new Set(widths).size, "three shared columns are as wide as nine").toBe(1);
    expect(widths).toHaveLength(5);
    expect(await page.locator(".panel[data-hook=k] .brackets span").allInnerTexts()).toEqual(["0–2", "3–5", "6–8"]);

    // The patterns have come by themselves: from the click to the picture is only drawing.
    await page.waitForLoadState("networkidle");
    const milliseconds = await page.evaluate(async () => {
      const canvas = document.querySelector(".panel[data-hook=z] canvas") as HTMLCanvasElement;
      const { left, top } = canvas.getBoundingClientRect();
      const where = { clientX: left + 30, clientY: top + 10, bubbles: true };
      canvas.dispatchEvent(new PointerEvent("pointermove", where));
      await new Promise((resolve) => setTimeout(resolve, 100));
      const began = performance.now();
      canvas.dispatchEvent(new MouseEvent("click", where));
      while (document.querySelectorAll(".attention canvas").length < 3) await new Promise(requestAnimationFrame);
      return performance.now() - began;
    });
    process.stdout.write(`head opened in ${milliseconds.toFixed(0)} ms\n`);
    expect(new URL(page.url()).searchParams.get("head")).toBe("11.1");
    await page.locator('.attention [data-prompt="clean"] svg path').first().waitFor({ state: "attached" });
    expect(milliseconds).toBeLessThan(100);
    await picture(page, "causal-heads");

    const sums = await page.evaluate(async (prompt) => {
      const answer = await fetch("/v1/attention", {
        method: "POST", headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ prompt, layers: [11], heads: [1] }),
      }); // prettier-ignore
      return ((await answer.json()) as { patterns: number[] }).patterns.slice(-14);
    }, HEADS.clean);
    await page.getByText("attention, clean as a table").click();
    await page.locator('[data-prompt="clean"] tbody tr').first().waitFor();
    const last = await page.locator('[data-prompt="clean"] tbody tr').last().locator("td").allInnerTexts();
    expect(last).toEqual(sums.map((value) => value.toFixed(2)));

    await page.getByRole("button", { name: "induction" }).click();
    await page.waitForURL(/sort=induction/);
    const scores = (await page.locator(".heads tbody tr td:last-child").allInnerTexts()).map(Number);
    expect(scores).toEqual(scores.toSorted((one, other) => other - one));
    expect(await violations(page)).toEqual([]);

    await page.goto(`${server.url}${path}?as=table&head=9.6`);
    await page.getByRole("heading", { name: "Head 9.6: attention" }).waitFor();
    await page.locator(".attention canvas").nth(2).waitFor();
    await page.getByRole("link", { name: "9.7", exact: true }).first().click();
    await page.getByRole("heading", { name: "Head 9.7: attention" }).waitFor();
    expect(faults).toEqual([]);
  });

  it("are read in the dark, on a phone, and with keys", async () => {
    const { page, faults } = await openPage(browser, { dark: true, width: 390, height: 844 });
    await sweptHeads(page);
    await page.locator(".panel[data-hook=z] .heatmap").focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await page.waitForURL(/head=11\.1/);
    await page.locator(".attention canvas").nth(2).waitFor();
    expect(await violations(page)).toEqual([]);
    const tooWide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
    expect(await smallControls(page)).toEqual([]);
    await picture(page, "heads-phone");
    expect(tooWide, "the page scrolls sideways").toBe(false);
    expect(faults).toEqual([]);
  });
});

const rowsOf = (page: Page, label: string) => page.getByRole("region", { name: `${label}, table` }).locator("tbody tr");

describe("features", () => {
  it("are an axis of the form, and bars sorted by effect before random directions", async () => {
    const { page, faults } = await openPage(browser, { height: 1300 });
    await page.goto(server.url + causalAddress(exampleDraft("eiffel")));
    await page.getByRole("radio", { name: "features" }).check();
    await page.waitForURL(/over=features/);
    const layer = await page.getByLabel("Dictionary").inputValue();
    await page.getByLabel("How many").fill("6");
    await page.getByText(/cells.*about/).waitFor();
    await page.getByRole("button", { name: "Start sweep" }).click();
    await page.locator(".verdict").waitFor();
    expect(await page.locator(".verdict").textContent()).toMatch(/^Of 6 features that attribution put first, \d move/);
    const rows = rowsOf(page, "Effects of features");
    const texts = await rows.allInnerTexts();
    expect(texts).toHaveLength(6);
    for (const text of texts) expect(text.startsWith(`${layer}:`)).toBe(true);
    const effects = (await rows.locator("td:nth-child(3)").allInnerTexts()).map((text) => Math.abs(Number(text.replace("\u2212", "-"))));
    expect(effects).toEqual(effects.toSorted((one, other) => other - one));
    expect(await rows.first().locator(".effect-random").count()).toBe(19);
    expect(await rowsOf(page, "All features at once").count()).toBe(3);
    expect(await violations(page)).toEqual([]);
    await picture(page, "causal-features", { of: ".result" });
    await page.reload(); // the address is enough
    await expect.poll(() => rows.allInnerTexts()).toEqual(texts);
    expect(await page.getByRole("radio", { name: "features" }).isChecked()).toBe(true);
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV" }).click()]);
    expect(download.suggestedFilename()).toMatch(/\.csv$/);
    expect(await faultsOnPhone(page)).toEqual([]);
    expect(faults).toEqual([]);
  });
});

describe("edges", () => {
  it("are a circuit whose drawing, lists and matrix go by one threshold, and a report of how far to trust it", async () => {
    const { page, faults } = await openPage(browser, { height: 1300 });
    await page.goto(server.url + causalAddress({ ...exampleDraft("ioi"), metric: "logit_diff", over: "attribution", scored: EVERY_SCORED, edges: EVERY_EDGE }));
    await page.getByText(/cells.*about/).waitFor();
    await page.getByRole("button", { name: "Start sweep" }).click();
    await page.getByRole("heading", { name: "The strongest edges as a circuit" }).waitFor();
    const drawn = page.locator(".circuit-edge");
    const listed = rowsOf(page, "Edges of the circuit");
    const agree = async (n: number) => {
      await expect.poll(() => drawn.count()).toBe(n);
      const names = (await drawn.locator("title").allTextContents()).map((title) => title.split(":").slice(0, -1).join(":"));
      expect(new Set(names)).toEqual(new Set(await listed.locator("code").allInnerTexts()));
      const boxes = await page.locator(".circuit rect title").allTextContents();
      expect(new Set(boxes)).toEqual(new Set(await rowsOf(page, "Nodes of the circuit").locator("code").allInnerTexts()));
    };
    await agree(40);
    const dashed = await page.locator(".circuit-edge[stroke-dasharray]").count();
    expect(await page.getByText(/run exactly: \d+/).innerText()).toContain(`only attributed: ${dashed}`);
    await page.getByRole("slider", { name: /Threshold/ }).focus();
    await page.keyboard.press("ArrowRight");
    await page.waitForURL(/strongest=60/);
    await agree(60);
    expect(await page.locator(".circuit-edge[stroke-dasharray]").count(), "only forty were run").toBeGreaterThanOrEqual(20);

    await page.getByText("80 of 70,651 cells").waitFor();
    const circuits = await rowsOf(page, "Circuits of edges").allInnerTexts();
    expect(circuits).toHaveLength(2);
    for (const text of circuits) expect(text).toMatch(/\d\.\d\d/);
    await page.getByText("edges as a table").click();
    const table = page.locator(".panel table");
    await table.locator("tbody tr").first().waitFor();
    const senders = new Set((await listed.locator("code").allInnerTexts()).map((name) => name.split(" → ")[0]));
    expect(new Set(await table.locator("tbody th").allInnerTexts())).toEqual(senders);
    expect(await violations(page)).toEqual([]);
    await picture(page, "causal-circuit", { of: ".result", height: 1180 });
    expect(await faultsOnPhone(page)).toEqual([]);
    expect(faults).toEqual([]);
  });

  it("and nodes at single positions are read in the dark and on a phone", async () => {
    const { page, faults } = await openPage(browser, { dark: true, width: 390, height: 844 });
    const scored = { ...EVERY_SCORED, targets: "nodes" as const, each: true, verify: 10, sample: 5 };
    await page.goto(server.url + causalAddress({ ...exampleDraft("ioi"), metric: "logit_diff", over: "attribution", scored }));
    await page.getByText(/cells.*about/).waitFor();
    await page.getByRole("button", { name: "Start sweep" }).click();
    await page.getByRole("heading", { name: "The strongest nodes as a circuit" }).waitFor();
    expect(await page.locator(".circuit-box").count()).toBe(40);
    expect(await page.locator(".circuit-box[stroke-dasharray]").count()).toBe(30);
    expect(await rowsOf(page, "Nodes of the circuit").first().locator("code").innerText()).toMatch(/ at \d+ /);
    expect(await violations(page)).toEqual([]);
    const tooWide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
    expect(await smallControls(page)).toEqual([]);
    await picture(page, "circuit-phone");
    expect(tooWide, "the page scrolls sideways").toBe(false);
    expect(faults).toEqual([]);
  });
});

describe("many pairs", () => {
  it("of a task show running means, then what is significant, every pair of a cell, and the dropped ones", async () => {
    const { page, faults } = await openPage(browser, { height: 1300 });
    await page.goto(server.url + causalAddress({ pairs: "agreement:12", layers: "0:30:6", hooks: ["post_block", "mlp_out"] }));
    await page.getByText("columns: ").waitFor();
    await page.getByRole("button", { name: "Start sweep" }).click();
    await page.waitForURL(/as=table/);
    await page.getByText(/Means over \d+ pairs?.*Hatched/).waitFor();
    await page.getByText("not significant").first().waitFor();
    const panel = page.locator(".panel[data-hook=post_block]");
    const labels = await panel.locator(".heatmap-columns span").allInnerTexts();
    expect(labels.length).toBeGreaterThan(1);
    await panel.locator(".heatmap").focus();
    await page.getByText("Every pair of this cell").waitFor();
    const spoken = await panel.locator('.heatmap [role="status"]').innerText();
    expect(spoken).toMatch(/95 % interval .* to .*, \d+ pairs?, p /);
    expect(await page.locator(".pair-dots circle").count()).toBeGreaterThan(5);
    await picture(page, "pairs");
    expect(await violations(page)).toEqual([]);

    const id = new URL(page.url()).pathname.split("/")[2] ?? "";
    const record = (await (await fetch(`${server.url}/v1/sweeps/${id}`)).json()) as {
      table: { tables: { axes: { values: unknown[] }[]; values: Record<string, number[]> }[]; pairs: unknown[]; dropped: unknown[] };
    };
    const [first] = record.table.tables;
    const size = (first?.axes[1]?.values.length ?? 0) * (first?.axes[2]?.values.length ?? 0);
    const pairs = record.table.pairs.length;
    const mean = Array.from({ length: pairs }, (_, n) => first?.values.logprob?.[n * size] ?? 0).reduce((a, b) => a + b) / pairs;
    await panel.getByText("post_block as a table").click();
    expect(Number((await panel.locator("tbody tr").last().locator("td").first().innerText()).replace("−", "-"))).toBeCloseTo(mean, 1);
    if (record.table.dropped.length > 0) await page.getByText(/dropped pairs?$/).click();
    expect(faults).toEqual([]);
  });

  it("are attributed together: the circuit of the strongest means, what was run of it, and roles as columns", async () => {
    const { page, faults } = await openPage(browser, { height: 1300 });
    const scored = { ...EMPTY_SCORED, verify: 12, sample: 12 };
    await page.goto(server.url + causalAddress({ pairs: "agreement:8", over: "attribution", metric: "logit_diff", scored }));
    await page.getByText("columns: ").waitFor();
    expect(await page.getByLabel(/^Circuits/).count(), "circuits are of one pair").toBe(0);
    await page.getByRole("button", { name: "Start sweep" }).click();
    await page.getByRole("heading", { name: "The strongest nodes as a circuit" }).waitFor();
    await page.getByText(/Means over \d+ pairs.*first order; the strongest were run in every pair/).waitFor();
    await page.getByText(/24 of 300 cells: 12 strongest by score, 12 at random/).waitFor();
    expect(await page.locator(".circuit-box[stroke-dasharray]").count()).toBeGreaterThan(10);
    expect(await violations(page)).toEqual([]);
    await picture(page, "pairs-attributed");
    await page.reload(); // the address is enough
    await page.getByRole("heading", { name: "The strongest nodes as a circuit" }).waitFor();
    await page.goto(server.url + causalAddress({ pairs: "agreement:8", over: "attribution", metric: "logit_diff", scored: { ...scored, each: true } }));
    await page.getByText(/cells.*about/).waitFor();
    await page.getByRole("button", { name: "Start sweep" }).click();
    await page.getByRole("heading", { name: "The strongest nodes as a circuit" }).waitFor();
    expect(await rowsOf(page, "Nodes of the circuit").first().locator("code").innerText()).toMatch(/ at (subject|end)$/);
    expect(await faultsOnPhone(page)).toEqual([]);
    expect(faults).toEqual([]);
  });

  it("give edges of a task with intervals", async () => {
    const { page, faults } = await openPage(browser, { height: 1000 });
    const edges = { senders: "z:23", receivers: "logits, total", frozen: "edge" as const };
    await page.goto(server.url + causalAddress({ pairs: "agreement:8", over: "edges", metric: "logit_diff", edges }));
    await page.getByText(/cells.*about/).waitFor();
    await page.getByRole("button", { name: "Start sweep" }).click();
    await page.getByText(/Means over \d+ pairs.*Hatched/).waitFor();
    await page.getByText("not significant").first().waitFor();
    await page.locator(".panel .heatmap").focus();
    await page.getByText("Every pair of this cell").waitFor();
    expect(await page.locator('.panel .heatmap [role="status"]').innerText()).toMatch(/95 % interval .* to .*, \d+ pairs?, p /);
    expect(await violations(page)).toEqual([]);
    expect(faults).toEqual([]);
  });

  it("of a file: a bad line is named, a good file is swept", async () => {
    const { page } = await openPage(browser);
    await page.goto(`${server.url}/causal`);
    const place = join(temporaryDirectory(), "mine.jsonl");
    const pair = { clean: "My sister lost", corrupt: "My brother lost", answer: " her", foil: " his", roles: { noun: { clean: " sister", corrupt: " brother" } } };
    writeFileSync(place, `${JSON.stringify(pair)}\n{"clean": 1`);
    await page.locator('input[type="file"]').setInputFiles(place);
    await page.getByText("Line 2 is not JSON").waitFor();
    const second = { ...pair, clean: "My mother lost", corrupt: "My father lost", roles: { noun: { clean: " mother", corrupt: " father" } } };
    writeFileSync(place, `${JSON.stringify(pair)}\n${JSON.stringify(second)}\n`);
    await page.locator('input[type="file"]').setInputFiles([]);
    await page.locator('input[type="file"]').setInputFiles(place);
    await page.getByText("columns: noun").waitFor();
    await page.getByRole("button", { name: "Start sweep" }).click();
    await page.waitForURL(/as=table/);
    await page.getByText(/Means over [12] pairs?\./).waitFor();
  });
});
