/** What is said before a sweep begins, and what it takes to begin it, in a real browser on the real model. */

import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { causalAddress, type Draft } from "../src/causal/draft";
import { exampleDraft } from "../src/causal/examples";
import { finished, idIn, recordOf, SISTER } from "./asking";
import { closePages, openBrowser, openPage, violations } from "./browsing";
import { Serving } from "./serving";

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

async function prepared(draft: Partial<Draft>) {
  const opened = await openPage(browser);
  await opened.page.goto(server.url + causalAddress(draft));
  return opened;
}

describe("before a senseless sweep", () => {
  it.each([
    ["equal prompts", { ...SISTER, corrupt: SISTER.clean }, /prompts are the same/],
    ["no gap", { ...SISTER, answer: " table" }, /hardly differ|favours “·table” more|no likely answer/],
    ["an answer the clean prompt does not favour", { ...SISTER, answer: " his", foil: " her" }, /favours “·his” more/],
    ["cells that cannot differ", { ...SISTER, positions: [0] }, /None of 10 cells can differ/],
  ] as const)("the button asks: %s", async (_, draft, said) => {
    const { page, faults } = await prepared(draft);
    await page.getByRole("list", { name: "What speaks against it" }).getByText(said).first().waitFor();
    await page.getByRole("button", { name: "Start sweep" }).click();
    const anyway = page.getByRole("button", { name: "Start anyway" });
    await anyway.waitFor();
    expect(new URL(page.url()).pathname, "nothing has begun").toBe("/causal");
    expect(await violations(page)).toEqual([]);
    await anyway.click();
    await page.waitForURL(/\/causal\/[0-9a-f]+/);
    expect(faults).toEqual([]);
  });

  it("a sound one starts at once, with Ctrl+Enter from any field", async () => {
    const { page } = await prepared(SISTER);
    await page.getByLabel(/^Layers/).fill("0:30:15");
    await page.keyboard.press("Control+Enter");
    await finished(page);
    const { summary } = await recordOf(server.url, idIn(page));
    expect(summary?.layers).toEqual([0, 15]);
  });

  it("new prompts offer answers of their own, and both are taken at once", async () => {
    const { page } = await prepared(exampleDraft("eiffel"));
    await page.getByText(/cells.*about/).waitFor();
    expect(await page.getByText("The prompts themselves say").count()).toBe(0);
    await page.getByLabel(/^Clean/).fill("The capital of South Korea is the city of");
    await page.getByLabel(/^Corrupt/).fill("The capital of Japan is the city of");
    await page.getByText("The prompts themselves say “·Seoul” and “·Tokyo”").waitFor();
    const folder = process.env.SONDE_SCREENSHOTS;
    if (folder !== undefined) await page.screenshot({ path: `${folder}/offer.png` });
    await page.getByRole("button", { name: "Ask about these" }).click();
    await page.waitForURL(/answer=\+Seoul&foil=\+Tokyo/);
    await page.getByText("The prompts themselves say").waitFor({ state: "detached" });
  });
});
