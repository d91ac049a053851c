/** The history in a real browser: found, named, starred, deleted, compared; on the real model. */

import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { finished, idIn, recordOf, SISTER, startSweep, tabTo } from "./asking";
import { closePages, openBrowser, openPage, violations } from "./browsing";
import { Serving } from "./serving";

const KING = { ...SISTER, clean: "My queen lost", corrupt: "My king lost" };
const PICTURES = process.env.SONDE_SCREENSHOTS;

let server: Serving;
let browser: Browser;
let sister: string;
let king: string;
let shares: string;

beforeAll(async () => {
  [server, browser] = await Promise.all([Serving.start(), openBrowser()]);
  const { page } = await openPage(browser);
  const made: string[] = [];
  for (const draft of [SISTER, KING, { ...SISTER, metric: "recovered" as const }]) {
    made.push(await startSweep(page, server.url, draft));
    await finished(page);
  }
  [sister = "", king = "", shares = ""] = made;
});
afterEach(() => closePages(browser));
afterAll(async () => {
  await browser.close();
  await server.kill();
});

const rows = (page: Page) => page.locator(".history tbody > tr:not(.opened-row)");
const rowOf = (page: Page, id: string) => rows(page).filter({ has: page.locator(`.prose a[href^="/causal/${id}"]`) });

async function look(page: Page, name: string): Promise<void> {
  if (PICTURES !== undefined) await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
}

describe("the history", () => {
  it("shows both prompts with what differs marked, and finds a sweep by its name, its note and its star", async () => {
    const { page, faults } = await openPage(browser);
    await page.goto(`${server.url}/causal/${king}`);
    await finished(page);
    const row = rowOf(page, king);
    await row.waitFor();
    expect(await row.locator("mark").allInnerTexts()).toEqual(["queen", "king"]);
    expect(await row.locator("dd").allInnerTexts()).toEqual(["My queen lost", "My king lost"]);

    await row.getByRole("button", { name: /^Name, note or delete/ }).click();
    const form = page.getByRole("form", { name: "What is said of this sweep" });
    await form.getByLabel("Name").fill("royal");
    await form.getByLabel("Note").fill("moves at the last layer");
    await form.getByRole("button", { name: "Keep it" }).click();
    await form.getByText("Kept with the sweep.").waitFor();
    await row.getByRole("link", { name: "royal" }).waitFor();
    await row.getByRole("button", { name: "Star royal" }).click();
    await row.locator('.star[aria-pressed="true"]').waitFor();
    expect(await recordOf(server.url, king)).toMatchObject({ name: "royal", note: "moves at the last layer", starred: true });
    await look(page, "history");

    await page.getByRole("searchbox", { name: /^Search/ }).fill("LAST moves");
    await expect.poll(() => rows(page).count()).toBe(1);
    await page.getByLabel("with a star").check();
    await page.reload();
    await page.getByRole("link", { name: "royal" }).waitFor();
    expect(await rows(page).count()).toBe(1);
    expect(await page.getByRole("searchbox").inputValue()).toBe("LAST moves");
    expect(await form.getByLabel("Note").inputValue(), "what is open is in the address too").toBe("moves at the last layer");
    await page.getByRole("searchbox").fill("nothing of the kind");
    await page.getByText("No sweep has that.").waitFor();
    expect(faults).toEqual([]);
  });

  it("deletes a sweep once that was asked and answered, and lets go of its address", async () => {
    const { page } = await openPage(browser);
    const id = await startSweep(page, server.url, { ...SISTER, alpha: 0.5 });
    await finished(page);
    await rowOf(page, id).getByRole("button", { name: /^Name, note or delete/ }).click();
    await page.getByRole("button", { name: "Delete…" }).click();
    await page.getByText("It does not come back.").waitFor();
    await page.keyboard.press("Enter"); // the focus is on what does no harm
    await page.getByRole("button", { name: "Delete…" }).waitFor();
    expect((await recordOf(server.url, id)).state).toBe("finished");
    await page.getByRole("button", { name: "Delete…" }).click();
    await page.getByRole("button", { name: "Delete it" }).click();
    await page.waitForURL((address) => address.pathname === "/causal");
    await rowOf(page, id).waitFor({ state: "detached" });
    expect((await fetch(`${server.url}/v1/patch_sweep/${id}`)).status).toBe(404);
  });

  it("puts two sweeps side by side on one scale, and subtracts them", async () => {
    const { page } = await openPage(browser);
    await page.goto(`${server.url}/causal/${sister}`);
    await finished(page);
    await rowOf(page, king).getByRole("link", { name: "compare" }).click();
    await page.getByRole("heading", { name: "Difference in log-probability" }).waitFor();
    await page.getByRole("link", { name: "Side by side" }).click();
    await page.waitForURL(/beside=1/);
    await page.reload();
    await page.getByRole("heading", { name: "Two sweeps side by side" }).waitFor();
    const sides = page.locator(".two-sweeps > section");
    await expect.poll(() => sides.count()).toBe(2);
    expect(await sides.locator(".panel").count()).toBe(4);
    await look(page, "side-by-side");
  });

  it("does not subtract numbers of different units, says so, and shows both", async () => {
    const { page } = await openPage(browser);
    await page.goto(`${server.url}/causal/${sister}?with=${shares}`);
    await page.getByText("numbers of different units are not subtracted").waitFor();
    expect(await page.locator(".two-sweeps > section").count()).toBe(2);
    expect(await page.getByRole("link", { name: "Difference", exact: true }).count()).toBe(0);
    expect(await page.getByRole("heading", { name: /^Difference/ }).count()).toBe(0);
  });

  it("is for keys, the dark and phones too", async () => {
    const { page, faults } = await openPage(browser, { dark: true, width: 390, height: 844 });
    await page.goto(`${server.url}/causal/${sister}?with=${king}&beside=1`);
    await page.getByRole("heading", { name: "Two sweeps side by side" }).waitFor();
    await rows(page).first().waitFor();
    await page.locator(".star").first().focus();
    await tabTo(page, ".history button.link-button");
    await page.keyboard.press("Enter");
    await page.getByRole("form", { name: "What is said of this sweep" }).waitFor();
    await page.getByRole("button", { name: "Delete…" }).click();
    expect(await violations(page)).toEqual([]);
    const tooWide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
    expect(tooWide, "the page scrolls sideways").toBe(false);
    await look(page, "history-phone");
    expect(idIn(page)).toBe(sister);
    expect(faults).toEqual([]);
  });
});
